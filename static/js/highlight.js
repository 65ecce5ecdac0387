// Words selected in a message are remembered: by the button beside them, by Alt+M, by touch.
import { $ } from "./dom.js";

const form = $("#highlight"), EDGE = 8;
let soon;

const article = (node) => (node.closest ? node : node.parentElement).closest("article[data-id]:not([data-state=streaming])");

function show() {
  const selection = getSelection(), text = String(selection).trim();
  const range = text && selection.getRangeAt(0), from = text && article(range.startContainer);
  // A triple click ends before the first letter of what follows.
  form.hidden = !from || (range.endOffset && article(range.endContainer) !== from) || !$(".prose", from)?.contains(range.startContainer);
  if (form.hidden) return;
  Object.assign(form.elements.message, { value: from.dataset.id });
  Object.assign(form.elements.text, { value: text });
  const { top, bottom, left, right } = range.getBoundingClientRect(), { width, height } = form.getBoundingClientRect();
  // A phone's own menu stands above.
  const above = top - height - EDGE, below = Math.min(bottom + EDGE, innerHeight - height - EDGE);
  form.style.setProperty("--x", `${Math.max(EDGE, Math.min((left + right - width) / 2, innerWidth - width - EDGE))}px`);
  form.style.setProperty("--y", `${above > 64 && matchMedia("(pointer: fine)").matches ? above : below}px`);
}

export function start() {
  if (!form) return;
  document.addEventListener("selectionchange", () => { clearTimeout(soon); soon = setTimeout(show, 200); });
  $("[data-talk]").addEventListener("scroll", () => form.hidden || show(), { passive: true });
  form.addEventListener("mousedown", (event) => event.preventDefault());
  form.addEventListener("htmx:afterRequest", () => { getSelection().removeAllRanges(); form.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.code !== "KeyM" || event.ctrlKey) return;
    show();
    if (form.hidden) return;
    event.preventDefault();
    form.requestSubmit();
  });
}
