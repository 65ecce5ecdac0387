// @ts-check
// Toasts: short messages that disappear by themselves, and one toast for each deletion that can be undone.
import { cloneTemplate, find, findAll, findRequired } from "./dom.js";

const PLAIN_SECONDS = 5, READ_CHARACTERS_PER_SECOND = 25, FADE_MS = 160;
const UNDOABLE = ".toast[data-deletion]:not(.fading)";

/**
 * What is known of a shown toast: its whole duration in seconds, when it appeared (wall clock, ms), its timer.
 * @type {WeakMap<HTMLElement, {seconds: number, born: number, timer: number}>}
 */
const shown = new WeakMap();

/** Return the place for toasts. A modal dialog makes the rest of the page inert, so an open dialog comes first. */
function findRegion() {
  return find("dialog[open] [data-toasts]") ?? findRequired("main [data-toasts]");
}

/**
 * Tell the CSS animation of the remaining time how long it lasts and how much of it has passed, in seconds.
 * @param {HTMLElement} toast
 */
function setTimeBar(toast) {
  const state = shown.get(toast);
  if (!state) return;
  toast.style.setProperty("--seconds", String(state.seconds));
  toast.style.setProperty("--elapsed", String((Date.now() - state.born) / 1000));
}

/** Move all toasts to where they can be reached, after a dialog has opened or closed. */
export function moveToasts() {
  const region = findRegion();
  for (const toast of findAll(".toast")) {
    if (toast.parentElement === region) continue;
    setTimeBar(toast);
    region.append(toast);
  }
}

/** @param {HTMLElement} toast */
function removeToast(toast) {
  clearTimeout(shown.get(toast)?.timer);
  toast.classList.add("fading");
  setTimeout(() => toast.remove(), FADE_MS);
}

/** @param {HTMLElement} toast */
function startTimer(toast) {
  const { dataset } = toast;
  const reading = PLAIN_SECONDS + (toast.textContent?.length ?? 0) / READ_CHARACTERS_PER_SECOND;
  const seconds = Number(dataset.seconds ?? reading), elapsed = Number(dataset.elapsed ?? 0);
  const timer = window.setTimeout(() => removeToast(toast), (seconds - elapsed) * 1000);
  shown.set(toast, { seconds, born: Date.now() - elapsed * 1000, timer });
  setTimeBar(toast);
}

/**
 * Show a toast. A deletion that already has one gets no second; an equal plain text replaces the older toast.
 * @param {ToastDetail} detail
 */
export function showToast({ text, undo, id, seconds, all }) {
  const same = findAll(".toast:not(.fading)").find((other) =>
    id ? other.dataset.deletion === id : findRequired(".notice-text", other).textContent === text);
  if (!text || (same && id)) return;
  if (same && !same.dataset.deletion) removeToast(same);
  const toast = cloneTemplate("#toast");
  findRequired(".notice-text", toast).textContent = text;
  toast.classList.toggle("wide", Boolean(all));
  if (id) Object.assign(toast.dataset, { deletion: id, seconds });
  else findRequired(".time-left", toast).remove();
  if (undo) toast.setAttribute("hx-post", undo);
  else findRequired("button", toast).remove();
  findRegion().append(toast);
  htmx.process(toast);
  startTimer(toast);
}

/** Return false where there is nothing to undo. */
export function undoLastDeletion() {
  const last = findAll(UNDOABLE, document, HTMLFormElement).at(-1);
  last?.requestSubmit();
  return Boolean(last);
}

export function startToasts() {
  htmx.on("forgot", ({ detail }) => showToast(detail));
  htmx.on("toast", ({ detail }) => showToast(detail));
  htmx.on("htmx:beforeRequest", ({ target }) => { if (target.matches(".toast")) target.classList.add("fading"); });
  htmx.on("htmx:afterRequest", ({ target }) => { if (target.matches(".toast")) removeToast(target); });
  findAll(".toast").forEach(startTimer);
}
