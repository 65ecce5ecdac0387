// Frames of a reply in progress, applied in order; a gap asks for a snapshot instead of guessing.
import { $, $$, conversation } from "./dom.js";
import { lift, place } from "./caret.js";
import { decorate } from "./copy.js";
import { grown } from "./follow.js";
import { article, catchUp, finish, onArrival, refetch, streaming, tellOf } from "./messages.js";
import { on, send } from "./socket.js";

const seen = new Map();

const resync = (id) => { seen.set(id, null); send({ type: "resync", reply: id }); };

// Text grows at its end: what comes before is left alone, and a selection in the growing words does not end.
function grow(old, now) {
  while (old.childNodes.length > now.childNodes.length) old.lastChild.remove();
  [...now.childNodes].forEach((node, i) => {
    const current = old.childNodes[i];
    if (!current) old.append(node);
    else if (current.isEqualNode(node)) { /* nothing to do */ }
    else if (current.data && node.data?.startsWith(current.data)) current.appendData(node.data.slice(current.length));
    else if (current.cloneNode().isEqualNode(node.cloneNode())) grow(current, node);
    else current.replaceWith(node);
  });
}

function write(id, from, html) {
  const blocks = $("[data-blocks]", article(id));
  lift();
  $$(":scope > .block", blocks).slice(from + html.length).forEach((block) => block.remove());
  html.forEach((text, i) => {
    const block = blocks.children[from + i];
    const fresh = Object.assign(document.createElement("div"), { className: "block", innerHTML: text });
    if (block) grow(block, fresh);
    else blocks.append(fresh);
  });
  const last = blocks.lastElementChild;
  for (const block of [...blocks.children].slice(Math.max(0, from - 1), -1)) decorate(block);
  if (last) place(last);
  grown();
}

function snapshot({ reply, seq, blocks }) {
  if (article(reply)?.dataset.state !== "streaming") return;
  write(reply, 0, blocks);
  seen.set(reply, seq);
}

function blocks({ reply, seq, from, html }) {
  if (article(reply)?.dataset.state !== "streaming") return;
  const last = seen.get(reply);
  if (last === null || seq <= last) return;
  if (last === undefined || seq !== last + 1) return resync(reply);
  write(reply, from, html);
  seen.set(reply, seq);
}

const handlers = {
  snapshot, blocks,
  done: ({ reply }) => { seen.delete(reply); finish(reply); },
  messages: (frame) => frame.conversation === conversation && catchUp(),
  message: ({ id }) => refetch(id),
  facts: ({ messages = [] }) => messages.forEach(tellOf),
};

function hello(again) {
  const reply = streaming()?.dataset.id ?? null;
  send({ type: "hello", reply, seq: seen.get(reply) ?? 0, model: $("#model")?.dataset.state });
  if (again && reply) finish(reply);
  catchUp();
}

export function start() {
  on("frame", (frame) => handlers[frame.type]?.(frame));
  on("open", hello);
  onArrival((fresh) => { if (fresh.dataset.state === "streaming") resync(fresh.dataset.id); });
}
