// @ts-check
// Typed queries on the page, the page's data attributes, and its translated texts.

/** @type {Find} Return the first match that is an instance of `type` (HTMLElement unless given), or null. */
export const find = (selector, root = document, type) => asInstance(root.querySelector(selector), type);

/** @type {FindRequired} Return the first match; throw an error where the page lacks the element. */
export const findRequired = (selector, root, type) => {
  const found = find(selector, root, type);
  if (!found) throw new Error(`The page has no ${selector}`);
  return found;
};

/** @type {FindAll} Return all matches that are instances of `type`, in document order. */
export const findAll = (selector, root = document, type) =>
  [...root.querySelectorAll(selector)].flatMap((found) => asInstance(found, type) ?? []);

/** @type {FindClosest} Return the nearest match at or above a node, such as an event's target; or null. */
export const findClosest = (node, selector, type) =>
  asInstance(node instanceof Element ? node.closest(selector) : null, type);

/** @type {AsInstance} Return the element if it is an instance of `type`, else null. */
function asInstance(element, type = /** @type {any} */ (HTMLElement)) {
  return element instanceof type ? element : null;
}

/**
 * @param {EventTarget | null} node
 * @param {string} selector
 * @returns {node is HTMLElement}
 */
export function isMatch(node, selector) {
  return node instanceof HTMLElement && node.matches(selector);
}

/** @param {EventTarget | null} node */
export function isTextField(node) {
  const fields = "textarea, select, [contenteditable], input:not([type=checkbox], [type=button], [type=submit])";
  return findClosest(node, fields) !== null;
}

/** @param {string} html from the server, which has sanitised it */
export function parseElements(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return [...holder.content.children].filter((child) => child instanceof HTMLElement);
}

/** @param {string} selector of a <template> that contains one element */
export function cloneTemplate(selector) {
  const { content } = findRequired(selector, document, HTMLTemplateElement);
  return /** @type {HTMLElement} */ (content.firstElementChild?.cloneNode(true));
}

const { socket = "", poll = "", memory = "", home = "", conversation = "" } = document.body.dataset;
export const urls = { socket, poll, memory, home };
/** The id of the conversation that the page shows; null on other pages. */
export const conversationId = conversation || null;

/**
 * Return one of the page's translated texts, see templates/_script_texts.html.
 * @param {string} name
 */
export function getText(name) {
  const texts = find("#texts", document, HTMLTemplateElement)?.content;
  return texts?.querySelector(`[data-text="${name}"]`)?.textContent ?? "";
}

/**
 * Cut a text to this many characters, the ellipsis included.
 * @param {string} text
 * @param {number} length
 */
export function shortenText(text, length) {
  return text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;
}

/**
 * Have screen readers speak a text. The region is emptied first, so that an equal text is spoken again.
 * @param {string} text
 */
export function announceText(text) {
  const region = findRequired("#announce");
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}
