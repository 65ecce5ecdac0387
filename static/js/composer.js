// The message box: keeps a draft for each conversation, offers commands, sends, stops.
import { $, $$, conversation, post } from "./dom.js";
import { scrollPage, toEnd } from "./follow.js";
import { append, streaming } from "./messages.js";

const form = $("#compose"), text = $("#text"), menu = $("#commands");
const options = $$("#commands li"), key = `draft:${conversation ?? "new"}`;
let chosen;

// A browser without storage loses drafts, nothing else.
function stored(work) {
  try { return work(localStorage); } catch { return null; }
}

function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  text.style.setProperty("height", "auto");
  text.style.setProperty("height", `${text.scrollHeight}px`);
}

function keep() {
  stored((store) => text.value ? store.setItem(key, text.value) : store.removeItem(key));
  grow();
}

export function fill(value) {
  text.value = value;
  keep();
  text.focus();
  text.setSelectionRange(value.length, value.length);
}

export function stop() {
  const reply = streaming();
  if (reply) post(reply.dataset.stop, reply);
}

function point(option) {
  chosen?.setAttribute("aria-selected", false);
  chosen = option;
  menu.hidden = !option;
  option?.setAttribute("aria-selected", true);
  option?.scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", option?.id ?? "");
}

function offer() {
  const typed = /^\/\S*$/.exec(text.value.toLowerCase());
  for (const option of options) option.hidden = !typed || !option.dataset.command.startsWith(typed);
  point(options.find((option) => !option.hidden));
}

function choose(run) {
  const { command, takes } = chosen.dataset, waits = takes !== undefined;
  fill(command + (waits ? " " : ""));
  point();
  if (run && !waits) form.requestSubmit();
}

// The keys of the list of commands while it is open.
function offered({ key: name }) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[name];
  if (!chosen) return false;
  if (step) {
    const open = options.filter((option) => !option.hidden);
    point(open.at((open.indexOf(chosen) + step) % open.length));
  } else if (name === "Escape") point();
  else if (name === "Enter" || name === "Tab") choose(name === "Enter");
  else return false;
  return true;
}

function pressed(event) {
  const box = event.target, page = { PageUp: -1, PageDown: 1 }[event.key];
  if (!box.matches("[data-append] textarea") || event.isComposing || event.shiftKey) return;
  if (box === text && offered(event)) { /* done */ }
  else if (page && box.scrollHeight <= box.clientHeight) scrollPage(page);
  else if (event.key === "Enter") { if (box.value.trim()) box.form.requestSubmit(); }
  else if (event.key === "Escape" && box !== text) $("a", box.form).click();
  else return;
  event.preventDefault();
}

const commanded = {
  memories: () => $("#pill").click(),
  help: () => $("#help").click(),
  sessions() {
    const side = $("#side"), box = $("[type=search]", side) ?? $("a", side);
    if (!box.checkVisibility()) side.showPopover();
    box.focus();
  },
};

export function start() {
  if (!form) return;
  const draft = stored((store) => store.getItem(key));
  if (draft && !text.value) text.value = draft;
  text.setSelectionRange(text.value.length, text.value.length);
  if (!matchMedia("(pointer: fine)").matches) text.blur();
  grow();
  document.addEventListener("keydown", pressed);
  text.addEventListener("input", () => { keep(); offer(); });
  text.addEventListener("blur", () => point());
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  menu.addEventListener("pointermove", ({ target }) => point(target.closest("li") ?? chosen));
  menu.addEventListener("click", () => choose(true));
  htmx.on("htmx:beforeOnLoad", ({ detail: { elt, xhr, requestConfig } }) => {
    if (!elt.matches("[data-append]") || xhr.status >= 400) return;
    // What was written while it was on its way is kept.
    if (elt === form && text.value === requestConfig.parameters.text) fill("");
    append(xhr.responseText);
    toEnd();
  });
  htmx.on("command", ({ detail }) => commanded[detail.name]());
  $("#halt").addEventListener("click", () => { stop(); text.focus(); });
  for (const starter of $$("[data-starter]")) starter.addEventListener("click", () => fill(starter.dataset.starter));
}
