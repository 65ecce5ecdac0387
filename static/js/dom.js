// Small helpers around the page and htmx.
import { word } from "./words.js";

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

const data = document.body.dataset;
export const urls = { socket: data.socket, memory: data.memory, home: data.new };
export const conversation = data.conversation || null;

// Elements of a fragment, in order; the server has sanitised it.
export function parse(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return [...holder.content.children];
}

// Status 0 while the line is down: whoever asks is asked again when it is back.
export async function get(url) {
  const response = await fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).catch(() => null);
  if (!response) return { status: 0, ok: false, text: "" };
  const login = response.headers.get("HX-Redirect");
  if (login) location.assign(login);
  return { status: response.status, ok: response.ok, text: response.ok ? await response.text() : "" };
}

// Each request needs a source of its own: htmx lets a second one of the same element wait and drops a third.
export const post = (url, source) => htmx.ajax("POST", url, { source, swap: "none" });

export function announce(text) {
  const region = $("#announce");
  region.textContent = "";
  requestAnimationFrame(() => { region.textContent = text; });
}

// The sentence of a failed request; HTML pages of errors are not for toasts, and what the server
// sends as an event is shown already.
export function sentenceOf(xhr) {
  if (xhr.getResponseHeader("HX-Trigger")?.includes('"toast"')) return "";
  const type = xhr.getResponseHeader("Content-Type") ?? "";
  return type.includes("html") && /<\w/.test(xhr.responseText) ? word("trouble") : xhr.responseText.trim() || word("trouble");
}

export const typing = (element) =>
  Boolean(element?.closest("textarea, select, [contenteditable], input:not([type=checkbox], [type=button], [type=submit])"));
