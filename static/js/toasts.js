// Toasts: a line that goes by itself, and one line a deletion that can still be taken back.
import { $, $$, post, urls } from "./dom.js";
import { word } from "./words.js";

const PLAIN_SECONDS = 5;

// A modal dialog makes the rest of the page inert, so toasts live where they can be reached.
function region() {
  return $("dialog[open] [data-toasts]") ?? $(".foot [data-toasts], .own [data-toasts], body > [data-toasts]") ?? fallback();
}

function fallback() {
  const made = document.createElement("div");
  made.className = "toasts loose";
  Object.assign(made.dataset, { toasts: "" });
  made.setAttribute("role", "status");
  document.body.append(made);
  return made;
}

export function rehome() {
  const home = region();
  for (const toast of $$(".toast")) if (toast.parentElement !== home) { setBar(toast); home.append(toast); }
}

function leave(toast) {
  clearTimeout(toast.timer);
  toast.classList.add("going");
  setTimeout(() => toast.remove(), 160);
}

function setBar(toast) {
  toast.style.setProperty("--seconds", toast.seconds);
  toast.style.setProperty("--gone", (Date.now() - toast.born) / 1000);
}

function start(toast, seconds, counted, gone = 0) {
  Object.assign(toast, { born: Date.now() - gone * 1000, seconds });
  if (counted) {
    toast.append(Object.assign(document.createElement("span"), { className: "time-left" }));
    setBar(toast);
  }
  toast.timer = setTimeout(() => leave(toast), (seconds - gone) * 1000);
}

function bubble(text) {
  const made = Object.assign(document.createElement("div"), { className: "toast" });
  made.append(Object.assign(document.createElement("span"), { className: "say", textContent: text }));
  region().append(made);
  return made;
}

export function toast(text, undo) {
  if (!text) return;
  const same = $$(".toast:not(.going, [data-deletion])").find((other) => $(".say", other)?.textContent === text);
  if (same) leave(same);
  const made = bubble(text);
  if (undo) undoable(made).onclick = () => { post(undo, made); leave(made); };
  start(made, PLAIN_SECONDS + text.length / 25, false);
}

function undoable(toast) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: word("undo") });
  toast.append(button);
  return button;
}

function forgot({ id, text, seconds, all }, origin) {
  if ($(`.toast[data-deletion="${id}"]`)) return;
  const made = bubble(text);
  made.classList.toggle("wide", all);
  made.dataset.deletion = id;
  made.origin = origin;
  undoable(made);
  start(made, seconds, true);
}

async function takeBack(toast) {
  const { deletion } = toast.dataset;
  clearTimeout(toast.timer);
  toast.classList.add("going");
  await post(urls.undo(deletion), toast);
  leave(toast);
  document.dispatchEvent(new CustomEvent("undone", { detail: { id: deletion, origin: toast.origin } }));
}

export function undoLast() {
  const last = $$(".toast[data-deletion]:not(.going)").at(-1);
  if (last) takeBack(last);
  return Boolean(last);
}

document.body.addEventListener("forgot", (event) => forgot(event.detail, event.target.closest?.("article[data-id]")?.dataset.id));
document.body.addEventListener("toast", ({ detail }) => toast(detail.text, detail.undo));
document.addEventListener("click", (event) => {
  const pressed = event.target.closest(".toast[data-deletion] button");
  if (!pressed) return;
  event.preventDefault();
  takeBack(pressed.closest(".toast"));
});
for (const notice of $$("[data-notice]")) start(notice, PLAIN_SECONDS + 3, false);
for (const waiting of $$(".toast[data-deletion]")) start(waiting, Number(waiting.dataset.seconds), true, Number(waiting.dataset.gone));
