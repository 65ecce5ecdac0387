// @ts-check
// A text that is edited in its place: Enter saves, Esc cancels, and leaving the field saves a changed text.
// `data-inline-edit` holds the id of the element that gets the focus back.
import { find, findClosest, findRequired, isMatch } from "./dom.js";

const FORM = "form[data-inline-edit]";
/** @type {WeakMap<Element, string>} What a form contained when it was opened, by form and by field. */
const openedWith = new WeakMap();
/** @type {string | null} The id of the element that gets the focus once it is drawn. */
let focusedNext = null;

/** @param {EventTarget | null} node */
const findForm = (node) => findClosest(node, FORM, HTMLFormElement);

/** @param {HTMLFormElement} form */
function getContent(form) {
  return new URLSearchParams(/** @type {any} */ (new FormData(form))).toString();
}

/** @param {HTMLFormElement} form its text field is an input, or a textarea */
function findTextField(form) {
  return /** @type {HTMLInputElement} */ (findRequired("[name=text], [name=title]", form));
}

/**
 * @param {HTMLFormElement} form
 * @param {boolean} isSaved
 */
function finishEdit(form, isSaved) {
  const isChanged = openedWith.get(form) !== getContent(form);
  if (isSaved && isChanged && findTextField(form).value.trim()) form.requestSubmit();
  else findRequired("[data-cancel]", form).click();
}

/** @param {KeyboardEvent} event */
function handleKey(event) {
  const form = findForm(event.target);
  if (!form || !openedWith.has(form) || event.isComposing) return;
  const isSaved = event.key === "Enter" && event.target === findTextField(form);
  if (!isSaved && event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  finishEdit(form, isSaved);
}

/** @param {FocusEvent} event */
function handleFocusOut({ target }) {
  const form = findForm(target);
  if (!form || !openedWith.has(form) || !isMatch(target, "input")) return;
  // During this event no element has the focus; the next element gets it afterwards.
  setTimeout(() => {
    if (!form.isConnected || "finished" in form.dataset || form.contains(document.activeElement) || !document.hasFocus()) return;
    finishEdit(form, true);
    focusedNext = null;
  });
}

/** @param {HTMLFormElement} form */
function openForm(form) {
  const field = findTextField(form), content = getContent(form);
  openedWith.set(form, content).set(field, content);
  field.focus();
  field.setSelectionRange(field.name === "title" ? 0 : field.value.length, field.value.length);
}

// A form that is being saved or cancelled may be replaced.
/** @param {HTMLFormElement} form */
function leaveForm(form) {
  form.dataset.finished = "";
  focusedNext = form.dataset.inlineEdit ?? null;
}

export function startInlineEdit() {
  document.addEventListener("keydown", handleKey, true);
  document.addEventListener("focusout", handleFocusOut);
  document.addEventListener("submit", ({ target }) => { if (target instanceof HTMLFormElement && isMatch(target, FORM)) leaveForm(target); }, true);
  document.addEventListener("click", ({ target }) => {
    const form = isMatch(target, "[data-cancel]") ? findForm(target) : null;
    if (form) leaveForm(form);
  }, true);
  htmx.on("htmx:afterRequest", ({ target, detail }) => { if (target.matches(FORM) && !detail.successful) delete target.dataset.finished; });
  htmx.on("htmx:afterSettle", ({ target }) => {
    const form = find(FORM, target, HTMLFormElement);
    if (form && !openedWith.has(findTextField(form))) return openForm(form);
    const next = document.getElementById(focusedNext ?? "");
    if (!next || document.activeElement !== document.body) return;
    next.focus();
    focusedNext = null;
  });
}
