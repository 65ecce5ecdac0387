// @ts-check
// Keyboard shortcuts that work on every page; templates/_shortcuts.html lists them for "?".
import { stopReply } from "./composer.js";
import { find, findAll, findRequired, isTextField, urls } from "./dom.js";
import { toggleSheet } from "./memory-sheet.js";
import { findStreamingReply } from "./messages.js";
import { undoLastDeletion } from "./toasts.js";

function isApple() {
  const { userAgentData, platform } = /** @type {Navigator & {userAgentData?: {platform: string}}} */ (navigator);
  return /mac|iphone|ipad/i.test(userAgentData?.platform ?? platform);
}

function toggleHelp() {
  const help = findRequired("#shortcuts", document, HTMLDialogElement);
  if (help.open) help.close();
  else if (!find("dialog[open]")) help.showModal();
}

/** @param {KeyboardEvent} event its result is false for keys that are no shortcut */
function runShortcut(event) {
  const isMod = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
  if (isMod && event.shiftKey && key === "m") toggleSheet();
  else if (isMod && event.shiftKey && key === "o") location.assign(urls.home);
  else if (isMod && !event.shiftKey && key === "z" && !isTextField(event.target)) return undoLastDeletion();
  else if (event.key === "?" && !isMod && !isTextField(event.target)) toggleHelp();
  else if (event.key === "Escape" && !event.defaultPrevented && !find("dialog[open], :popover-open") && findStreamingReply()) stopReply();
  else return false;
  return true;
}

export function startShortcuts() {
  document.addEventListener("keydown", (event) => { if (runShortcut(event)) event.preventDefault(); });
  if (isApple()) for (const key of findAll("[data-mod]")) key.textContent = "⌘";
}
