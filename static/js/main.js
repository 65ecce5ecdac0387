// @ts-check
// Starts the modules, and passes events between the server, htmx and the page.
import { startAutoscroll } from "./autoscroll.js";
import { startComposer } from "./composer.js";
import { startCopyButtons } from "./copy-buttons.js";
import { getText } from "./dom.js";
import { startInlineEdit } from "./inline-edit.js";
import { startMemoryPanel } from "./memory-panel.js";
import { startMemorySheet } from "./memory-sheet.js";
import { startMenus } from "./menus.js";
import { startMessages } from "./messages.js";
import { startPageVisibility } from "./page-visibility.js";
import { startRememberSelection } from "./remember-selection.js";
import { startReplyStream } from "./reply-stream.js";
import { getErrorText } from "./requests.js";
import { startShortcuts } from "./shortcuts.js";
import { addFrameListener, addOpenListener, startSocket } from "./socket.js";
import { showToast, startToasts } from "./toasts.js";

/** @type {WeakSet<XMLHttpRequest>} Requests whose HX-Trigger events htmx has dispatched. */
const handled = new WeakSet();

/**
 * Dispatch an event that elements wait for with `hx-trigger="… from:body"`.
 * @param {string} name
 * @param {unknown} [detail]
 */
function notifyPage(name, detail) {
  document.body.dispatchEvent(new CustomEvent(name, { detail }));
}

function startRequestEvents() {
  htmx.on("htmx:responseError", ({ detail: { xhr } }) => showToast({ text: getErrorText(xhr) }));
  // htmx dispatches HX-Trigger events on the element that asked. Where that element has left the page, dispatch
  // them on the body.
  htmx.on("htmx:beforeOnLoad", ({ detail: { xhr } }) => { handled.add(xhr); });
  htmx.on("htmx:afterRequest", ({ detail: { xhr } }) => {
    const header = xhr.getResponseHeader("HX-Trigger");
    if (!header?.startsWith("{") || handled.has(xhr)) return;
    for (const [name, detail] of Object.entries(JSON.parse(header))) notifyPage(name, detail);
  });
  htmx.on("theme", ({ detail }) => { document.documentElement.dataset.theme = detail.value; });
  // Requests that the page makes by itself are made again when the socket reconnects; no error is shown for them.
  htmx.on("htmx:sendError", ({ detail: { requestConfig } }) => {
    if (requestConfig.triggeringEvent?.target !== document.body) showToast({ text: getText("unreachable") });
  });
}

function startSocketEvents() {
  addFrameListener(({ type }) => {
    if (type === "model") notifyPage("model-changed");
    if (type === "facts") notifyPage("memory-changed");
    if (type === "chat" || type === "messages") notifyPage("chat-changed");
    if (type === "conversations" || type === "messages") notifyPage("conversations-changed");
  });
  addOpenListener(() => {
    notifyPage("memory-changed");
    notifyPage("conversations-changed");
  });
}

startToasts();
startCopyButtons();
startRequestEvents();
startMessages();
startAutoscroll();
startComposer();
startMemoryPanel();
startInlineEdit();
startMenus();
startMemorySheet();
startRememberSelection();
startShortcuts();
startPageVisibility();
startReplyStream();
startSocketEvents();
startSocket();
