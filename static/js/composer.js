// @ts-check
// The message box: keeps a draft for each conversation, offers commands, sends messages, stops replies.
import { scrollPage, scrollToEnd } from "./autoscroll.js";
import { find, findAll, findClosest, findRequired, isMatch } from "./dom.js";
import { appendMessages, findStreamingReply } from "./messages.js";
import { postFrom } from "./requests.js";

const form = find("#compose", document, HTMLFormElement);
/** Where the draft is kept: for each account and each conversation or app; "" for nowhere. */
const draftKey = form?.dataset.draft ?? "";
const options = findAll("#commands li");
/** @type {HTMLElement | undefined} The selected entry of the open list of commands. */
let selected;

const findBox = () => findRequired("#text", document, HTMLTextAreaElement);

/**
 * Use the browser's storage; where it is blocked, drafts are lost and nothing else.
 * @param {(store: Storage) => string | null | void} action
 */
function useStorage(action) {
  try { return action(localStorage); } catch { return null; }
}

/**
 * Fit the height to the text in browsers without `field-sizing`.
 * @param {HTMLTextAreaElement} box
 */
function fitHeight(box) {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.setProperty("height", "auto");
  box.style.setProperty("height", `${box.scrollHeight}px`);
}

/** @param {HTMLTextAreaElement} box */
function saveDraft(box) {
  if (draftKey) useStorage((store) => (box.value ? store.setItem(draftKey, box.value) : store.removeItem(draftKey)));
  fitHeight(box);
}

/** @param {string} value */
function fillBox(value) {
  const box = findBox();
  box.value = value;
  saveDraft(box);
  box.focus();
  box.setSelectionRange(value.length, value.length);
}

export function stopReply() {
  const reply = findStreamingReply();
  if (reply?.dataset.stop) postFrom(reply.dataset.stop, reply);
}

/**
 * Select an entry of the list of commands; without an entry, close the list.
 * @param {HTMLElement} [option]
 */
function selectOption(option) {
  selected?.setAttribute("aria-selected", "false");
  selected = option;
  findRequired("#commands").hidden = !option;
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  findBox().setAttribute("aria-activedescendant", option?.id ?? "");
}

function offerCommands() {
  const [typed] = /^\/\S*$/.exec(findBox().value.toLowerCase()) ?? [];
  for (const option of options) option.hidden = !typed || !option.dataset.command?.startsWith(typed);
  selectOption(options.find((option) => !option.hidden));
}

/**
 * Type the selected command into the box, and send it where it takes no argument.
 * @param {boolean} isSent
 */
function takeCommand(isSent) {
  const { command = "", takes } = selected?.dataset ?? {}, takesArgument = takes !== undefined;
  fillBox(command + (takesArgument ? " " : ""));
  selectOption();
  if (isSent && !takesArgument) form?.requestSubmit();
}

/**
 * Handle a key while the list of commands is open; return false for other keys.
 * @param {KeyboardEvent} event
 */
function handleListKey({ key }) {
  if (!selected) return false;
  if (key === "ArrowDown" || key === "ArrowUp") {
    const open = options.filter((option) => !option.hidden);
    selectOption(open.at((open.indexOf(selected) + (key === "ArrowDown" ? 1 : -1)) % open.length));
  } else if (key === "Escape") selectOption();
  else if (key === "Enter" || key === "Tab") takeCommand(key === "Enter");
  else return false;
  return true;
}

// Keys of the message box, and of the box in which a sent message is edited.
/** @param {KeyboardEvent} event */
function handleKey(event) {
  const box = event.target;
  if (!(box instanceof HTMLTextAreaElement && isMatch(box, "[data-append] textarea"))) return;
  if (event.isComposing || event.shiftKey) return;
  const isMessageBox = box.id === "text", page = { PageUp: -1, PageDown: 1 }[event.key];
  if (isMessageBox && handleListKey(event)) { /* done */ }
  else if (page && box.scrollHeight <= box.clientHeight) scrollPage(page);
  else if (event.key === "Enter") { if (box.value.trim()) box.form?.requestSubmit(); }
  else if (event.key === "Escape" && !isMessageBox && box.form) find("a", box.form)?.click();
  else return;
  event.preventDefault();
}

/** @param {string} name of a command that acts on the page, see chat/commands.py */
function runCommand(name) {
  if (name === "memories") findRequired("#pill").click();
  else if (name === "help") findRequired("#help").click();
  else if (name === "sessions") {
    const side = findRequired("#side"), target = find("[type=search]", side) ?? findRequired("a", side);
    if (!target.checkVisibility()) side.showPopover();
    target.focus();
  }
}

function addCommandListListeners() {
  const menu = findRequired("#commands");
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  menu.addEventListener("pointermove", ({ target }) => selectOption(findClosest(target, "li") ?? selected));
  menu.addEventListener("click", () => takeCommand(true));
}

export function startComposer() {
  if (!form) return;
  // An earlier version kept it for all accounts.
  useStorage((store) => store.removeItem("draft:new"));
  const box = findBox(), draft = draftKey ? useStorage((store) => store.getItem(draftKey)) : null;
  if (draft && !box.value) box.value = draft;
  box.setSelectionRange(box.value.length, box.value.length);
  // On touch screens a focused box would open the keyboard.
  if (!matchMedia("(pointer: fine)").matches) box.blur();
  fitHeight(box);
  document.addEventListener("keydown", handleKey);
  box.addEventListener("input", () => { saveDraft(box); offerCommands(); });
  box.addEventListener("blur", () => selectOption());
  addCommandListListeners();
  htmx.on("htmx:beforeOnLoad", ({ detail: { elt, xhr, requestConfig } }) => {
    if (!isMatch(elt, "[data-append]") || xhr.status >= 400) return;
    // Text that was typed while the message was being sent stays in the box.
    if (elt === form && box.value === requestConfig.parameters.text) fillBox("");
    // The next message is another one, also with the same text.
    const key = find("[name=key]", elt, HTMLInputElement);
    if (key) key.value = `${Date.now()}-${Math.random()}`.replace(".", "-");
    appendMessages(xhr.responseText);
    scrollToEnd();
  });
  htmx.on("command", ({ detail }) => runCommand(detail.name));
  findRequired("#stop").addEventListener("click", () => { stopReply(); box.focus(); });
  for (const starter of findAll("[data-starter]")) starter.addEventListener("click", () => fillBox(starter.dataset.starter ?? ""));
}
