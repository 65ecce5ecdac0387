// Shortcuts that hold everywhere; the list under "?" names them.
import { $, $$, typing, urls } from "./dom.js";
import { stop } from "./composer.js";
import { streaming } from "./messages.js";
import { toggle } from "./sheet.js";
import { undoLast } from "./toasts.js";

const mac = /mac|iphone|ipad/i.test(navigator.userAgentData?.platform ?? navigator.platform);

function help() {
  const box = $("#shortcuts");
  if (box.open) box.close();
  else if (!$("dialog[open]")) box.showModal();
}

function pressed(event) {
  const mod = event.ctrlKey || event.metaKey, name = event.key.toLowerCase();
  if (mod && event.shiftKey && name === "m") { event.preventDefault(); toggle(); }
  else if (mod && event.shiftKey && name === "o") { event.preventDefault(); location.assign(urls.home); }
  else if (mod && !event.shiftKey && name === "z" && !typing(event.target) && undoLast()) event.preventDefault();
  else if (event.key === "?" && !mod && !typing(event.target)) { event.preventDefault(); help(); }
  else if (event.key === "Escape" && !event.defaultPrevented && !$("dialog[open], :popover-open") && streaming()) { event.preventDefault(); stop(); }
}

export function start() {
  document.addEventListener("keydown", pressed);
  if (mac) for (const key of $$("[data-mod]")) key.textContent = "⌘";
}
