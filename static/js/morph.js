// Draws a part of the page anew: what has not changed stays, with its focus, its selection and its place.
import { $ } from "./dom.js";

// What is open or chosen stays too. A line that is being edited makes way for nothing but its own answer.
const OPEN = ".pop, [name=fact]";
const EDITED = ":is(.card, .room, #title):has(form[data-line]:not([data-left]))";

// What a class has set in motion comes to its end.
const MOVING = ".fresh, .saved, .found";
const moves = (element) => element.matches(MOVING) && element.getAnimations({ subtree: true }).length > 0;

export function morph(target, content, morphStyle) {
  return Idiomorph.morph(target, content, {
    morphStyle,
    callbacks: {
      beforeNodeMorphed(old, now) {
        // Looked for among hundreds of brothers, each word of a long piece of code would take its time.
        if (old.isEqualNode(now)) return false;
        return !old.matches?.(OPEN) && !(old.matches?.(EDITED) && !$("form[data-line]", now));
      },
      beforeNodeRemoved: (old) => !old.matches?.(".code-tools"),
      beforeAttributeUpdated: (name, old) => name !== "class" || old === target || !moves(old),
    },
  });
}

const STYLES = { morph: "outerHTML", refill: "innerHTML" };
htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap: (style, target, { children }) => style in STYLES && morph(target, children, STYLES[style]),
});
