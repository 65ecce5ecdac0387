// Starts the parts in order; each module is one concern.
import { sentenceOf } from "./dom.js";
import { toast } from "./toasts.js";
import { word } from "./words.js";
import * as composer from "./composer.js";
import * as follow from "./follow.js";
import * as highlight from "./highlight.js";
import * as keys from "./keys.js";
import * as leave from "./leave.js";
import * as line from "./line.js";
import * as menu from "./menu.js";
import * as messages from "./messages.js";
import * as panel from "./panel.js";
import * as sheet from "./sheet.js";
import * as socket from "./socket.js";
import * as stream from "./stream.js";

const tell = (name, detail) => document.body.dispatchEvent(new CustomEvent(name, { detail }));

htmx.on("htmx:responseError", ({ detail: { xhr } }) => toast({ text: sentenceOf(xhr) }));
// htmx tells HX-Trigger events to the element that asked; when that has left the page, nobody would hear them.
htmx.on("htmx:beforeOnLoad", ({ detail: { xhr } }) => { xhr.heard = true; });
htmx.on("htmx:afterRequest", ({ detail: { xhr } }) => {
  const header = xhr.getResponseHeader("HX-Trigger");
  if (!header?.startsWith("{") || xhr.heard) return;
  for (const [name, detail] of Object.entries(JSON.parse(header))) tell(name, detail);
});
htmx.on("theme", ({ detail }) => { document.documentElement.dataset.theme = detail.value; });
// What the page asks by itself is asked again when the line is back.
htmx.on("htmx:sendError", ({ detail: { requestConfig } }) => requestConfig.triggeringEvent?.target !== document.body && toast({ text: word("unreachable") }));

const look = () => document.visibilityState === "visible" && tell("memory-changed");
document.addEventListener("visibilitychange", look);
addEventListener("focus", look);

for (const part of [messages, follow, composer, panel, line, menu, sheet, highlight, keys, leave, stream]) part.start();
socket.on("frame", (frame) => {
  if (frame.type === "model") tell("model-changed");
  if (frame.type === "facts") tell("memory-changed");
  if (["chat", "messages"].includes(frame.type)) tell("chat-changed");
  if (["rooms", "messages"].includes(frame.type)) tell("rooms-changed");
});
socket.on("open", () => ["memory-changed", "rooms-changed"].forEach((name) => tell(name)));
socket.connect();
