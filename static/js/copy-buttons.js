// @ts-check
// Buttons that copy: a message as it was written, a code block, a command, a path.
import { cloneTemplate, find, findAll, findClosest, findRequired, getText } from "./dom.js";
import { showToast } from "./toasts.js";

const FEEDBACK_MS = 1500;

/**
 * Put a text on the clipboard; the button shows a check mark for a moment.
 * @param {string} text
 * @param {HTMLElement} button
 */
async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    showToast({ text: getText("copy-failed") });
    return;
  }
  const sign = findRequired("use", button, SVGUseElement), href = sign.getAttribute("href") ?? "", { title } = button;
  const show = (/** @type {string} */ icon, /** @type {string} */ label) => {
    sign.setAttribute("href", icon);
    button.title = label;
  };
  show(href.replace(/#.*/, "#check"), getText("copied"));
  setTimeout(() => show(href, title), FEEDBACK_MS);
}

/** @param {HTMLElement} button */
function findCopiedText(button) {
  const { copy, copyCode } = button.dataset;
  if (copyCode !== undefined) {
    const block = findClosest(button, ".code-tools")?.parentElement;
    return find("pre", block ?? document)?.textContent?.replace(/\n$/, "");
  }
  if (copy === undefined) return button.previousElementSibling?.textContent;
  const message = findClosest(button, "article") ?? document;
  return find("[data-raw]", message, HTMLTemplateElement)?.content.textContent;
}

/**
 * @param {HTMLElement} code
 * @param {HTMLElement} home
 */
function findLanguage(code, home) {
  const classes = `${home.className} ${find("code", code)?.className ?? ""}`;
  return /language-([\w+#.-]+)/.exec(classes)?.[1] ?? home.dataset.language;
}

/**
 * Add the copy button and the language to each code block that lacks them, and let the keyboard reach what
 * scrolls sideways.
 * @param {HTMLElement} root
 */
export function decorateCode(root) {
  for (const box of findAll("pre, .table", root)) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  for (const code of findAll("pre", root)) {
    const home = findClosest(code, ".highlight") ?? code.parentElement;
    if (!home || find(":scope > .code-tools", home)) continue;
    const tools = cloneTemplate("#code-tools"), language = findLanguage(code, home);
    if (language) tools.prepend(language);
    home.append(tools);
  }
}

export function startCopyButtons() {
  document.addEventListener("click", ({ target }) => {
    const button = findClosest(target, "[data-copy], [data-copy-code], [data-copy-from]");
    if (button) copyText(findCopiedText(button) ?? "", button);
  });
}
