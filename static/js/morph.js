// @ts-check
// Replaces a part of the page and keeps what has not changed, with its focus, selection and scroll position.
import { find, isMatch } from "./dom.js";

// Open popovers and ticked boxes stay as they are. A form that is being edited is replaced only by a form.
const KEPT = ".pop, [name=fact]";
const EDITED = ":is(.card, .conversation-row, #title):has(form[data-inline-edit]:not([data-finished]))";
// Classes that start an animation; they stay until it has ended.
const ANIMATED = ".fresh, .saved, .found";

/** @param {Node} node */
function isAnimated(node) {
  return isMatch(node, ANIMATED) && node.getAnimations({ subtree: true }).length > 0;
}

/**
 * @param {HTMLElement} target
 * @param {string | HTMLCollection} content
 * @param {"outerHTML" | "innerHTML"} morphStyle
 */
export function morphElement(target, content, morphStyle) {
  return Idiomorph.morph(target, content, {
    morphStyle,
    callbacks: {
      beforeNodeMorphed(old, now) {
        // Equal subtrees are skipped: matching each span of a long code block with its siblings is slow.
        if (old.isEqualNode(now)) return false;
        if (isMatch(old, KEPT)) return false;
        return !isMatch(old, EDITED) || (now instanceof Element && find("form[data-inline-edit]", now) !== null);
      },
      beforeNodeRemoved: (old) => !isMatch(old, ".code-tools"),
      beforeAttributeUpdated: (name, old) => name !== "class" || old === target || !isAnimated(old),
    },
  });
}

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap(style, target, { children }) {
    if (style === "morph") return morphElement(target, children, "outerHTML");
    return style === "refill" && morphElement(target, children, "innerHTML");
  },
});
