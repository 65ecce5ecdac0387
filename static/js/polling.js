// @ts-check
// Where no WebSocket opens, asks the server every second for the frames that a socket would send.
import { conversationId, find, urls } from "./dom.js";
import { fetchHtml } from "./requests.js";

const POLL_MS = 1000;
/** A hidden page asks so often, for the server must know that a temporary chat is still open. */
const HIDDEN_POLL_MS = 30_000;
/** So many answers in a row show that only sockets are missing: a server that restarts takes sockets again soon. */
const SURE = 3;
let timer = 0, answers = 0, askedAt = 0, stamp = "";

/** Whether the page lives on polling. */
export const isPolling = () => answers >= SURE;

export function stopPolling() {
  clearTimeout(timer);
  timer = answers = 0;
  stamp = "";
}

/**
 * @param {(frame: Frame) => void} handle
 * @param {() => void} onSure is called once it is certain that requests work and sockets do not
 * @param {() => void} onGone is called where the conversation is no longer there
 */
export function startPolling(handle, onSure, onGone) {
  if (timer) return;
  const poll = async () => {
    const asked = timer;
    if (!document.hidden || Date.now() - askedAt >= HIDDEN_POLL_MS) {
      askedAt = Date.now();
      const { status, ok, frames } = await fetchFrames();
      if (timer !== asked) return;
      if (status === 404) return onGone();
      answers = ok ? answers + 1 : 0;
      if (answers === SURE) onSure();
      frames.forEach(handle);
    }
    timer = window.setTimeout(poll, POLL_MS);
  };
  timer = window.setTimeout(poll);
}

/** @returns {Promise<{status: number, ok: boolean, frames: Frame[]}>} */
async function fetchFrames() {
  const given = {
    conversation: conversationId ?? "", stamp,
    reply: find('.message[data-state="streaming"]')?.dataset.id ?? "", model: find("#model")?.dataset.state ?? "",
  };
  const { status, ok, text } = await fetchHtml(`${urls.poll}?${new URLSearchParams(given)}`);
  const answer = ok ? JSON.parse(text) : { frames: [] };
  if (ok) stamp = answer.stamp;
  return { status, ok, frames: answer.frames };
}
