// Toasts: a line that goes by itself, and one line a deletion that can still be taken back.
import { $, $$ } from "./dom.js";

const PLAIN_SECONDS = 5, READ_IN_A_SECOND = 25;
const UNDOABLE = ".toast[data-deletion]:not(.going)";

// A modal dialog makes the rest of the page inert, so toasts live where they can be reached.
const region = () => $("dialog[open] [data-toasts]") ?? $("main [data-toasts]");

function setBar(toast) {
  toast.style.setProperty("--seconds", toast.seconds);
  toast.style.setProperty("--gone", (Date.now() - toast.born) / 1000);
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

function start(toast) {
  const { seconds = PLAIN_SECONDS + toast.textContent.length / READ_IN_A_SECOND, gone = 0 } = toast.dataset;
  Object.assign(toast, { seconds, born: Date.now() - gone * 1000 });
  setBar(toast);
  toast.timer = setTimeout(() => leave(toast), (seconds - gone) * 1000);
}

export function toast({ text, undo, id, seconds, all }) {
  const same = $$(".toast:not(.going)").find((other) => id ? other.dataset.deletion === id : $(".say", other).textContent === text);
  if (!text || (same && id)) return;
  if (same && !same.dataset.deletion) leave(same);
  const made = $("#toast").content.firstElementChild.cloneNode(true);
  $(".say", made).textContent = text;
  made.classList.toggle("wide", Boolean(all));
  if (id) Object.assign(made.dataset, { deletion: id, seconds });
  else $(".time-left", made).remove();
  if (undo) made.setAttribute("hx-post", undo);
  else $("button", made).remove();
  region().append(made);
  htmx.process(made);
  start(made);
}

export function undoLast() {
  const last = $$(UNDOABLE).at(-1);
  last?.requestSubmit();
  return last;
}

for (const name of ["forgot", "toast"]) htmx.on(name, ({ detail }) => toast(detail));
htmx.on("htmx:beforeRequest", ({ target }) => target.matches(".toast") && target.classList.add("going"));
htmx.on("htmx:afterRequest", ({ target }) => target.matches(".toast") && leave(target));
$$(".toast").forEach(start);
