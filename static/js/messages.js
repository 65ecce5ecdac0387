// @ts-check
// The conversation's messages: append new ones, replace changed ones, never show one twice.
import { followNewText } from "./autoscroll.js";
import { decorateCode } from "./copy-buttons.js";
import { announceText, find, findAll, findClosest, findRequired, getText, isMatch, parseElements, shortenText } from "./dom.js";
import { morphElement } from "./morph.js";
import { fetchHtml } from "./requests.js";

const ANNOUNCED_CHARACTERS = 400, FULL_PERCENT = 80;
const list = find("#messages");
/** @type {((message: HTMLElement) => void)[]} */
const listeners = [];
/**
 * Messages that are being fetched, by id. A fetch is outdated when the message may have changed after it began.
 * @type {Map<string, {isOutdated: boolean, result?: Promise<HTMLElement | undefined>}>}
 */
const fetches = new Map();

/** @param {(message: HTMLElement) => void} handler gets each message that is added or replaced */
export function addMessageListener(handler) {
  listeners.push(handler);
}

const findMessages = () => findAll("article", list ?? document);

/** @param {string} id */
export function findMessage(id) {
  return document.getElementById(`m-${id}`);
}

export function findStreamingReply() {
  return findMessages().findLast(({ dataset }) => dataset.state === "streaming");
}

/** @param {HTMLElement} message */
const getSeq = (message) => Number(message.dataset.seq);

/** @param {HTMLElement} message */
function setUpMessage(message) {
  htmx.process(message);
  decorateCode(message);
  updateContextMeter(message);
  for (const listener of listeners) listener(message);
}

/**
 * Add messages at their places. A message that is shown already is fetched again instead.
 * @param {string} html
 */
export function appendMessages(html) {
  const messages = parseElements(html);
  for (const message of messages) {
    const { id = "", after } = message.dataset, seq = getSeq(message);
    // The end of the conversation is not loaded: appending would leave a gap.
    if (find("#later")) return location.assign(location.pathname);
    if (findMessage(id)) { refetchMessage(id); continue; }
    // Messages between this one and its predecessor belong to a branch that was replaced.
    for (const other of findMessages()) if (getSeq(other) > Number(after) && getSeq(other) < seq) other.remove();
    const previous = findMessages().findLast((other) => getSeq(other) < seq);
    if (previous) previous.after(message);
    else list?.prepend(message);
    setUpMessage(message);
  }
  if (messages.length) followNewText();
}

/**
 * Replace a message by the server's current version; a message that is being edited stays as it is.
 * @param {string} id
 * @returns {Promise<HTMLElement | undefined>} the replaced message
 */
export function refetchMessage(id) {
  const running = fetches.get(id), fetching = running ?? { isOutdated: false };
  if (running) running.isOutdated = true;
  else {
    fetches.set(id, fetching);
    fetching.result = replaceMessage(id, fetching).finally(() => fetches.delete(id));
  }
  return fetching.result ?? Promise.resolve(undefined);
}

/**
 * @param {string} id
 * @param {{isOutdated: boolean}} fetching
 * @returns {Promise<HTMLElement | undefined>}
 */
async function replaceMessage(id, fetching) {
  const old = findMessage(id);
  if (!old || find(".message-edit", old)) return;
  fetching.isOutdated = false;
  const answer = await fetchHtml(old.dataset.url ?? "");
  if (fetching.isOutdated) return replaceMessage(id, fetching);
  if (answer.status === 404) { old.remove(); return; }
  const current = findMessage(id);
  if (!answer.ok || !current || find(".message-edit", current)) return;
  const hadFocus = current.contains(document.activeElement);
  morphElement(current, answer.text, "outerHTML");
  setUpMessage(current);
  if (hadFocus && document.activeElement === document.body) findRequired("#text").focus();
  return current;
}

/** @param {string} id of a reply that has ended */
export async function finishReply(id) {
  const reply = await refetchMessage(id);
  if (!reply || reply.dataset.state === "streaming") return;
  const outcome = getText(reply.dataset.state === "complete" ? "finished" : "stopped");
  const text = findRequired("[data-blocks]", reply).textContent ?? "";
  announceText(`${outcome} ${shortenText(text.replace(/\s+/g, " ").trim(), ANNOUNCED_CHARACTERS)}`);
}

// A reply lists the facts that were learned from the message before it.
/** @param {string} id of that message */
export function refetchReplyTo(id) {
  const reply = findMessage(id)?.nextElementSibling;
  if (reply instanceof HTMLElement && reply.dataset.id) refetchMessage(reply.dataset.id);
}

/** Fetch what was added while no socket was open, and the last reply again. */
export async function fetchMissedMessages() {
  if (!list || find("#later")) return;
  const lastReply = findMessages().findLast(({ dataset }) => dataset.role === "assistant" && dataset.state !== "streaming");
  const lastSeq = findMessages().at(-1)?.dataset.seq ?? 0;
  const answer = await fetchHtml((list.dataset.after ?? "").replace(/\d+\/$/, `${lastSeq}/`));
  appendMessages(answer.text);
  if (lastReply?.dataset.id) refetchMessage(lastReply.dataset.id);
}

/** @param {HTMLElement} message has the share of the context window in percent */
function updateContextMeter({ dataset: { share }, nextElementSibling }) {
  const meter = find("#meter");
  if (!meter || share === undefined || nextElementSibling) return;
  meter.title = meter.title.replace(meter.getAttribute("aria-valuenow") ?? "", share);
  meter.setAttribute("aria-valuenow", share);
  findRequired("rect", meter, SVGRectElement).setAttribute("width", share);
  meter.toggleAttribute("data-full", Number(share) >= FULL_PERCENT);
}

export function startMessages() {
  if (!list) return;
  decorateCode(list);
  // A request of a message, such as the one that flags it, changes the message.
  htmx.on("htmx:beforeOnLoad", ({ detail: { elt } }) => {
    const fetching = fetches.get(findClosest(elt, "article[data-id]")?.dataset.id ?? "");
    if (fetching) fetching.isOutdated = true;
  });
  htmx.on("htmx:afterSettle", ({ detail: { elt, target } }) => {
    const message = elt.closest("article[data-id]");
    if (!(message instanceof HTMLElement) || message.parentElement !== list) return;
    setUpMessage(message);
    const box = find(".message-edit textarea", message, HTMLTextAreaElement);
    if (box) box.setSelectionRange(box.value.length, box.value.length);
    else if (isMatch(target, "article") && document.activeElement === document.body) find(".message-actions a", message)?.focus();
  });
}
