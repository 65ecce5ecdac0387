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

// Typing "/" offers the commands; the server knows them too.
const menu = $("#commands"), options = menu && $$("li", menu);
let chosen = null;

function point(option) {
  chosen?.setAttribute("aria-selected", false);
  chosen = option ?? null;
  menu.hidden = !option;
  option?.setAttribute("aria-selected", true);
  option?.scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", option?.id ?? "");
}

function offer() {
  const found = options.filter((option) => !(option.hidden = !/^\/\S*$/.test(text.value) || !option.dataset.command.startsWith(text.value.toLowerCase())));
  point(found[0]);
}

function choose(option, run) {
  const { command, takes } = option.dataset;
  fill(command + (takes === undefined ? "" : " "));
  point();
  if (run && takes === undefined) form.requestSubmit();
}

function offered(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!chosen || event.isComposing || event.shiftKey) return;
  if (step) {
    const open = options.filter((option) => !option.hidden);
    point(open.at((open.indexOf(chosen) + step) % open.length));
  } else if (event.key === "Escape") point();
  else if (["Enter", "Tab"].includes(event.key)) choose(chosen, event.key === "Enter");
  else return;
  event.preventDefault();
}

const done = {
  memories: () => $("#pill").click(),
  help: () => $("[data-shortcuts]").click(),
  sessions: () => {
    const side = $("#side"), box = $("[type=search]", side) ?? $("a", side);
    if (!box.checkVisibility()) side.showPopover();
    box.focus();
  },
};

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
  if (event.defaultPrevented || !box.matches?.("[data-append] textarea")) return;
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
  text.addEventListener("input", () => { keep(); offer(); });
  text.addEventListener("keydown", offered);
  text.addEventListener("blur", () => point());
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  menu.addEventListener("click", (event) => choose(event.target.closest("li"), true));
  document.body.addEventListener("command", ({ detail: { name } }) => done[name]());
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
