// @ts-check
// Shows a reply while it is written: applies the socket's frames in order, and asks for a snapshot after a gap.
import { followNewText } from "./autoscroll.js";
import { decorateCode } from "./copy-buttons.js";
import { conversationId, find, findAll, findRequired, getText } from "./dom.js";
import {
  addMessageListener, fetchMissedMessages, findMessage, findStreamingReply, finishReply, refetchMessage, refetchReplyTo,
} from "./messages.js";
import { addFrameListener, addOpenListener, sendFrame } from "./socket.js";

// Elements that the caret goes into, to stand behind the last letter.
const CONTAINERS = "p, ul, ol, li, blockquote, pre, code, div, h1, h2, h3, h4, h5, h6, table, tbody, tr, td";
const caret = document.createElement("span");
caret.className = "caret";

/** @type {Map<string, number | null>} The last frame's number by reply; null while a snapshot is on its way. */
const lastSeq = new Map();

/** @type {WeakMap<Element, string>} The HTML of each block as the server sent it. */
const sentHtml = new WeakMap();

function removeCaret() {
  const parent = caret.parentNode;
  caret.remove();
  parent?.normalize();
}

/** @param {Element} element */
function hasTextBehind(element) {
  const next = element.nextSibling;
  return next instanceof CharacterData && next.data.trim() !== "";
}

/** @param {Element} block */
function placeCaret(block) {
  let end = block;
  for (let next = end.lastElementChild; next?.matches(CONTAINERS) && !hasTextBehind(next); next = end.lastElementChild) end = next;
  const text = end.lastChild;
  // Pygments ends code with a line break; a caret behind the line break would open an empty line.
  if (text instanceof Text && text.data.endsWith("\n")) text.splitText(text.length - 1).before(caret);
  else end.append(caret);
}

/**
 * Make an element equal to its newer version. Text is appended to its node, so that a selection in it stays.
 * @param {Element} old
 * @param {Element} now
 */
function updateBlock(old, now) {
  while (old.childNodes.length > now.childNodes.length) old.lastChild?.remove();
  [...now.childNodes].forEach((node, i) => {
    const current = old.childNodes[i];
    if (!current) old.append(node);
    else if (!current.isEqualNode(node)) updateNode(current, node);
  });
}

/**
 * @param {ChildNode} current
 * @param {ChildNode} node
 */
function updateNode(current, node) {
  if (current instanceof CharacterData && node instanceof CharacterData && current.data && node.data.startsWith(current.data)) {
    current.appendData(node.data.slice(current.length));
  } else if (current instanceof Element && node instanceof Element && current.cloneNode().isEqualNode(node.cloneNode())) {
    updateBlock(current, node);
  } else current.replaceWith(node);
}

/**
 * Replace the blocks of a reply from number `from` on. `keep` characters of the first one stay as they are.
 * @param {HTMLElement} reply
 * @param {number} from
 * @param {string[]} html
 * @param {number} [keep]
 */
function writeBlocks(reply, from, html, keep = 0) {
  const blocks = findRequired("[data-blocks]", reply);
  removeCaret();
  for (const block of findAll(":scope > .block", blocks).slice(from + html.length)) block.remove();
  html.forEach((text, i) => {
    const block = blocks.children[from + i];
    const whole = i === 0 && keep ? (sentHtml.get(block) ?? "").slice(0, keep) + text : text;
    const fresh = Object.assign(document.createElement("div"), { className: "block", innerHTML: whole });
    if (block) updateBlock(block, fresh);
    else blocks.append(fresh);
    sentHtml.set(block ?? fresh, whole);
  });
  // The last block still changes; the ones before it are complete.
  for (const block of findAll(":scope > *", blocks).slice(Math.max(0, from - 1), -1)) decorateCode(block);
  if (blocks.lastElementChild) placeCaret(blocks.lastElementChild);
  followNewText();
}

/** @param {string} id */
function requestSnapshot(id) {
  lastSeq.set(id, null);
  sendFrame({ type: "resync", reply: id });
}

/** @param {string} id */
function findIfStreaming(id) {
  const reply = findMessage(id);
  return reply?.dataset.state === "streaming" ? reply : null;
}

/** @param {{reply: string, before?: number}} frame with how many replies are served first, -1: it reasons */
function showPlace({ reply: id, before = 0 }) {
  const reply = findIfStreaming(id), place = reply && find("[data-place]", reply);
  const key = before > 0 ? "place" : ["reading", "reasoning"][-before];
  if (place) place.textContent = getText(key).replace("{n}", `${before}`);
}

/** @param {Extract<Frame, {type: "snapshot"}>} frame */
function applySnapshot({ reply: id, seq, blocks }) {
  const reply = findIfStreaming(id);
  if (!reply) return;
  writeBlocks(reply, 0, blocks);
  lastSeq.set(id, seq);
}

/** @param {Extract<Frame, {type: "blocks"}>} frame */
function applyBlocks({ reply: id, seq, from, keep, html }) {
  const reply = findIfStreaming(id), last = lastSeq.get(id);
  if (!reply || last === null || (last !== undefined && seq <= last)) return;
  if (last === undefined || seq !== last + 1) return requestSnapshot(id);
  const changed = findRequired("[data-blocks]", reply).children[from];
  // The page was drawn anew since: only a snapshot has the beginning of this block.
  if (keep && (sentHtml.get(changed)?.length ?? 0) < keep) return requestSnapshot(id);
  writeBlocks(reply, from, html, keep);
  lastSeq.set(id, seq);
}

/** @param {Frame} frame */
function applyFrame(frame) {
  if (frame.type === "snapshot" || frame.type === "place") showPlace(frame);
  if (frame.type === "snapshot") applySnapshot(frame);
  else if (frame.type === "blocks") applyBlocks(frame);
  else if (frame.type === "done") {
    lastSeq.delete(frame.reply);
    finishReply(frame.reply);
  } else if (frame.type === "messages") {
    if (frame.conversation === conversationId) fetchMissedMessages();
  } else if (frame.type === "message") refetchMessage(frame.id);
  else if (frame.type === "facts") frame.messages?.forEach(refetchReplyTo);
}

/**
 * Tell the server what this page has. After a lost connection the reply may have ended unnoticed.
 * @param {boolean} isReconnected
 */
function greetServer(isReconnected) {
  const reply = findStreamingReply()?.dataset.id ?? null;
  const seq = (reply && lastSeq.get(reply)) ?? 0;
  sendFrame({ type: "hello", reply, seq, model: find("#model")?.dataset.state });
  if (isReconnected && reply) finishReply(reply);
  fetchMissedMessages();
}

export function startReplyStream() {
  addFrameListener(applyFrame);
  addOpenListener(greetServer);
  addMessageListener(({ dataset }) => { if (dataset.state === "streaming" && dataset.id) requestSnapshot(dataset.id); });
}
