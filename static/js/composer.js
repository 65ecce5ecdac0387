// The message box: grows, keeps a draft for each conversation, sends, stops.
import { $, $$, conversation, post, sentenceOf } from "./dom.js";
import { scrollPage, toEnd } from "./follow.js";
import { append, onArrival, streaming } from "./messages.js";
import { toast } from "./toasts.js";

const form = $("#compose"), text = $("#text"), halt = $("#halt"), submit = $("#send");
const key = `draft:${conversation ?? "new"}`;
let sent = null;

function keep() {
  try {
    if (text.value) localStorage.setItem(key, text.value);
    else localStorage.removeItem(key);
  } catch { /* a browser without storage loses drafts, nothing else */ }
  grow();
}

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  text.style.setProperty("height", "auto");
  text.style.setProperty("height", `${text.scrollHeight}px`);
}

export function fill(value) {
  text.value = value;
  keep();
  text.focus();
  text.setSelectionRange(value.length, value.length);
}

export async function stop() {
  const reply = streaming();
  if (!reply || reply.dataset.stopping) return Boolean(reply);
  reply.dataset.stopping = "1";
  await post(reply.dataset.stop, reply);
  return true;
}

function show() {
  const busy = Boolean(streaming());
  if (busy === !halt.hidden) return;
  const focused = document.activeElement === halt || document.activeElement === submit;
  halt.hidden = !busy;
  submit.hidden = busy;
  if (focused) text.focus();
}

function answered(event) {
  const { xhr } = event.detail;
  if (!event.detail.requestConfig.elt.matches("[data-append]") || xhr.status === 0) return;
  event.detail.shouldSwap = false;
  event.detail.isError = false;
  if (xhr.status >= 400) return toast(sentenceOf(xhr));
  if (event.detail.requestConfig.elt === form && text.value === sent) { text.value = ""; keep(); }
  if (xhr.getResponseHeader("HX-Redirect")) return;
  append(xhr.responseText);
  toEnd();
}

function pressed(event) {
  const box = event.target, { key: name } = event;
  if (!box.matches?.("[data-append] textarea")) return;
  if (name === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (box.value.trim()) box.form.requestSubmit($("button:not([type], [hidden])", box.form));
  } else if (name === "Escape" && box !== text) {
    event.preventDefault();
    $("a", box.form).click();
  }
}

export function start() {
  document.addEventListener("keydown", pressed);
  if (!form) return;
  let draft = null;
  try { draft = localStorage.getItem(key); } catch { /* see keep() */ }
  if (draft && !text.value) text.value = draft;
  if (text.value) text.setSelectionRange(text.value.length, text.value.length);
  if (!matchMedia("(pointer: fine)").matches) text.blur();
  grow();
  show();
  text.addEventListener("input", keep);
  text.addEventListener("keydown", (event) => {
    const page = { PageUp: -1, PageDown: 1 }[event.key];
    if (page && text.scrollHeight <= text.clientHeight) {
      event.preventDefault();
      scrollPage(page);
    }
  });
  form.addEventListener("submit", (event) => {
    if (!text.value.trim()) { event.preventDefault(); event.stopImmediatePropagation(); text.focus(); }
    sent = text.value;
  }, true);
  document.body.addEventListener("htmx:beforeSwap", answered);
  document.body.addEventListener("htmx:beforeOnLoad", (event) => {
    // A redirect leaves before anything is swapped: the draft has become a message by then.
    if (event.detail.requestConfig?.elt === form && event.detail.xhr.getResponseHeader("HX-Redirect") && text.value === sent) { text.value = ""; keep(); }
  });
  halt.addEventListener("click", () => { stop(); text.focus(); });
  onArrival(show);
  new MutationObserver(show).observe($("#messages") ?? form, { childList: true });
  for (const starter of $$("[data-starter]")) starter.addEventListener("click", () => fill(starter.dataset.starter));
}
