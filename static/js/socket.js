// @ts-check
// The page's WebSocket: sends pings, and reconnects after a growing delay with a random part.
import { conversationId, findRequired, getText, urls } from "./dom.js";
import { isPolling, startPolling, stopPolling } from "./polling.js";

const PING_MS = 20_000, SILENT_MS = 45_000, LONGEST_DELAY_MS = 15_000, FIRST_DELAY_MS = 400;
/** A first reconnection this fast is not shown. */
const HIDDEN_MS = 900;
const POLLING_SHOWN_MS = 12_000;
/** After so many failed attempts the page tries without a socket. */
const POLL_AFTER = 3;
/** The close codes of a deleted conversation, of an ended login, and of too many open pages. */
const NOT_FOUND = 4404, LOGGED_OUT = 4401, TOO_MANY = 4429;

/** @type {WebSocket | null} */
let socket = null;
/** Failed attempts since the last connection, and when the last frame arrived (wall clock, ms). */
let attempts = 0, lastFrameAt = 0;
let retryTimer = 0, noticeTimer = 0;
/** @type {((frame: Frame) => void)[]} */
const frameListeners = [];
/** @type {((isReconnected: boolean) => void)[]} */
const openListeners = [];

/** @param {(frame: Frame) => void} handler */
export function addFrameListener(handler) {
  frameListeners.push(handler);
}

/** @param {(isReconnected: boolean) => void} handler is called each time the socket has opened */
export function addOpenListener(handler) {
  openListeners.push(handler);
}

/**
 * Send a frame if the socket is open; otherwise drop it.
 * @param {Record<string, unknown>} frame
 */
export function sendFrame(frame) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function getAddress() {
  const url = new URL(urls.socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (conversationId) url.searchParams.set("conversation", conversationId);
  url.searchParams.set("zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  return url;
}

function connectSocket() {
  clearTimeout(retryTimer);
  if (socket && socket.readyState <= WebSocket.OPEN) return;
  const opened = new WebSocket(getAddress());
  socket = opened;
  opened.onopen = () => {
    const isReconnected = attempts > 0;
    attempts = 0;
    lastFrameAt = Date.now();
    stopPolling();
    showConnection(true);
    for (const listener of openListeners) listener(isReconnected);
  };
  opened.onmessage = ({ data }) => {
    lastFrameAt = Date.now();
    handleFrame(JSON.parse(data));
  };
  opened.onclose = ({ code }) => {
    if (code === NOT_FOUND) location.assign(urls.home);
    // The server leads to the login and back to this page. Right after loading it, that would not help.
    else if (code === LOGGED_OUT && performance.now() > 3000) location.reload();
    else if (socket === opened) retryLater(code === TOO_MANY);
  };
}

/** @param {Frame} frame */
function handleFrame(frame) {
  for (const listener of frameListeners) listener(frame);
}

/** Say it for a while only: the notice lies over the messages. */
function handlePolling() {
  const notice = findRequired("#reconnecting");
  clearTimeout(noticeTimer);
  notice.textContent = getText("polling");
  notice.hidden = false;
  noticeTimer = window.setTimeout(() => { notice.hidden = true; }, POLLING_SHOWN_MS);
  for (const listener of openListeners) listener(true);
}

/** @param {boolean} [isCrowded] too many pages are open; this one was connected for a moment */
function retryLater(isCrowded = false) {
  socket = null;
  attempts = isCrowded ? 9 : attempts + 1;
  if (!isCrowded && attempts >= POLL_AFTER) startPolling(handleFrame, handlePolling, () => location.assign(urls.home));
  if (isCrowded || !isPolling()) showConnection(false, isCrowded ? "crowded" : "reconnecting");
  const longest = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempts);
  retryTimer = window.setTimeout(connectSocket, longest / 2 + (Math.random() * longest) / 2);
}

/** @param {WebSocket} closed does not cause a reconnection */
function closeSocket(closed) {
  closed.onclose = null;
  closed.close();
}

/**
 * @param {boolean} isConnected
 * @param {string} [text] the name of the notice
 */
function showConnection(isConnected, text = "reconnecting") {
  const notice = findRequired("#reconnecting");
  clearTimeout(noticeTimer);
  notice.textContent = getText(text);
  if (isConnected) notice.hidden = true;
  else noticeTimer = window.setTimeout(() => { notice.hidden = false; }, attempts > 1 ? 0 : HIDDEN_MS);
}

function reconnectVisiblePage() {
  if (!socket && document.visibilityState === "visible") connectSocket();
}

function pingOrReconnect() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (Date.now() - lastFrameAt > SILENT_MS) {
    closeSocket(socket);
    retryLater();
  } else sendFrame({ type: "ping" });
}

export function startSocket() {
  setInterval(pingOrReconnect, PING_MS);
  addEventListener("online", reconnectVisiblePage);
  document.addEventListener("visibilitychange", reconnectVisiblePage);
  addEventListener("pageshow", (event) => { if (event.persisted) reconnectVisiblePage(); });
  addEventListener("pagehide", () => {
    clearTimeout(retryTimer);
    stopPolling();
    if (socket) closeSocket(socket);
    socket = null;
  });
  connectSocket();
}
