// @ts-check
// Remembers text that is selected in a message: by the button beside the selection, or by Alt+M.
import { find, findClosest, findRequired } from "./dom.js";

/** The least distance from the window's edge and from the selection, in pixels. */
const EDGE = 8;
/** Above this height a button above the selection is not covered by the header. */
const HEADER = 64;
const SELECTION_DELAY_MS = 200;

/** @param {Node} node */
function findArticle(node) {
  return findClosest(node instanceof Element ? node : node.parentElement, "article[data-id]:not([data-state=streaming])");
}

/** Return the selected text with its range and message; null where it is not part of one finished message. */
function readSelection() {
  const selection = getSelection(), text = String(selection ?? "").trim();
  if (!selection || !text) return null;
  const range = selection.getRangeAt(0), message = findArticle(range.startContainer);
  if (!message || !find(".prose", message)?.contains(range.startContainer)) return null;
  // A triple click ends before the first letter of the next element.
  if (range.endOffset && findArticle(range.endContainer) !== message) return null;
  return { text, range, message };
}

/**
 * Place the button. Phones show a menu of their own above the selection, so it goes below there.
 * @param {HTMLFormElement} form
 * @param {Range} range
 */
function placeForm(form, range) {
  const { top, bottom, left, right } = range.getBoundingClientRect(), { width, height } = form.getBoundingClientRect();
  const above = top - height - EDGE, below = Math.min(bottom + EDGE, innerHeight - height - EDGE);
  const x = Math.max(EDGE, Math.min((left + right - width) / 2, innerWidth - width - EDGE));
  const y = above > HEADER && matchMedia("(pointer: fine)").matches ? above : below;
  form.style.setProperty("--x", `${x}px`);
  form.style.setProperty("--y", `${y}px`);
}

/** @param {HTMLFormElement} form */
function updateForm(form) {
  const selected = readSelection();
  form.hidden = !selected;
  if (!selected) return;
  findRequired("[name=message]", form, HTMLInputElement).value = selected.message.dataset.id ?? "";
  findRequired("[name=text]", form, HTMLInputElement).value = selected.text;
  placeForm(form, selected.range);
}

export function startRememberSelection() {
  const form = find("#remember-selection", document, HTMLFormElement);
  if (!form) return;
  let timer = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = window.setTimeout(updateForm, SELECTION_DELAY_MS, form);
  });
  findRequired("[data-scroll-area]").addEventListener("scroll", () => { if (!form.hidden) updateForm(form); }, { passive: true });
  form.addEventListener("mousedown", (event) => event.preventDefault());
  form.addEventListener("htmx:afterRequest", () => { getSelection()?.removeAllRanges(); form.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.code !== "KeyM" || event.ctrlKey) return;
    updateForm(form);
    if (form.hidden) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
