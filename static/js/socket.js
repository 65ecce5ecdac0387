// One socket a page: says hello, keeps itself alive, comes back with jittered backoff.
import { $, conversation, urls } from "./dom.js";

const PING = 20_000, SILENT = 45_000, SLOWEST = 15_000;
let socket, tries = 0, heard = 0, timer, away;
const waiting = { frame: [], open: [] };

export const on = (kind, handler) => waiting[kind].push(handler);
export const send = (frame) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(frame));

function address() {
  const url = new URL(urls.socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (conversation) url.searchParams.set("conversation", conversation);
  return url;
}

export function connect() {
  clearTimeout(timer);
  if (socket && socket.readyState <= WebSocket.OPEN) return;
  const mine = new WebSocket(address());
  socket = mine;
  mine.onopen = () => {
    const again = tries > 0;
    tries = 0;
    heard = Date.now();
    show(false);
    waiting.open.forEach((handler) => handler(again));
  };
  mine.onmessage = ({ data }) => {
    heard = Date.now();
    const frame = JSON.parse(data);
    waiting.frame.forEach((handler) => handler(frame));
  };
  mine.onclose = ({ code }) => {
    // The conversation has been deleted, here or elsewhere.
    if (code === 4404) location.assign(urls.home);
    else if (socket === mine) retry();
  };
}

function retry() {
  socket = null;
  tries += 1;
  show(true);
  const longest = Math.min(SLOWEST, 400 * 2 ** tries);
  timer = setTimeout(connect, longest / 2 + Math.random() * longest / 2);
}

// A hiccup of a second is nobody's business.
function show(gone) {
  clearTimeout(away);
  if (!gone) $("#away").hidden = true;
  else away = setTimeout(() => { $("#away").hidden = false; }, tries > 1 ? 0 : 900);
}

function hurry() {
  if (!socket && document.visibilityState === "visible") connect();
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (Date.now() - heard > SILENT) {
    const dead = socket;
    dead.onclose = null;
    dead.close();
    retry();
  } else send({ type: "ping" });
}, PING);
addEventListener("online", hurry);
document.addEventListener("visibilitychange", hurry);
addEventListener("pageshow", (event) => { if (event.persisted) hurry(); });
addEventListener("pagehide", () => {
  clearTimeout(timer);
  if (!socket) return;
  socket.onclose = null;
  socket.close();
  socket = null;
});
