// A line that is edited in its place: Enter saves, Esc gives up, and leaving it saves what was changed.
import { $ } from "./dom.js";

const FORM = "form[data-line]";
let back;

const written = (form) => new URLSearchParams(new FormData(form)).toString();
const fieldOf = (form) => $("[name=text], [name=title]", form);

function finish(form, saves) {
  if (saves && form.opened !== written(form) && fieldOf(form).value.trim()) form.requestSubmit();
  else $("[data-cancel]", form).click();
}

function key(event) {
  const form = event.target.closest(FORM);
  if (!form?.opened || event.isComposing) return;
  const saves = event.key === "Enter" && event.target === fieldOf(form);
  if (!saves && event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  finish(form, saves);
}

function left({ target }) {
  const form = target.closest?.(FORM);
  if (!form?.opened || !target.matches("input")) return;
  setTimeout(() => {
    if (!form.isConnected || "left" in form.dataset || form.contains(document.activeElement) || !document.hasFocus()) return;
    finish(form, true);
    back = null;
  });
}

function enter(form, field) {
  form.opened = field.opened = written(form);
  field.focus();
  field.setSelectionRange(field.name === "title" ? 0 : field.value.length, field.value.length);
}

// Where the line stood, something else takes its place; that gets the focus.
function leave(form) {
  form.dataset.left = "";
  back = form.dataset.line;
}

export function start() {
  document.addEventListener("keydown", key, true);
  document.addEventListener("focusout", left);
  document.addEventListener("submit", ({ target }) => target.matches(FORM) && leave(target), true);
  document.addEventListener("click", ({ target }) => target.matches("[data-cancel]") && leave(target.closest(FORM)), true);
  htmx.on("htmx:afterRequest", ({ target, detail }) => { if (target.matches(FORM) && !detail.successful) delete target.dataset.left; });
  htmx.on("htmx:afterSettle", ({ target }) => {
    const form = $(FORM, target), field = form && fieldOf(form), home = document.getElementById(back);
    if (field && !field.opened) return enter(form, field);
    if (!home || document.activeElement !== document.body) return;
    home.focus();
    back = null;
  });
}
