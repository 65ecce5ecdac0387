// @ts-check
// The memory sheet: a modal dialog over the chat; htmx fills it with the memory page's panel.
import { find, findClosest, findRequired, urls } from "./dom.js";
import { moveToasts } from "./toasts.js";

const dialog = find("#sheet", document, HTMLDialogElement);
/** @type {Promise<void> | null} The request that fills the sheet; null before it and after a failure. */
let filling = null;

// Fill the sheet once, while the page is idle, so that it opens at once. Later htmx updates it, open or closed.
function fillSheet() {
  filling ??= htmx
    .ajax("GET", urls.memory, { target: "#sheet-body", swap: "innerHTML", source: "#sheet-body" })
    .catch(() => {})
    .then(() => {
      if (find("#filter")) moveToasts();
      else filling = null;
    });
  return filling;
}

/** @param {string} fact */
function showFact(fact) {
  return htmx.ajax("GET", `${urls.memory}?found=${fact}`, { target: "#memory-list", swap: "refill", source: "#filter" });
}

/**
 * Open the sheet, and show a fact in it.
 * @param {string} [fact] the fact's id
 */
async function openSheet(fact) {
  if (dialog && !dialog.open) dialog.showModal();
  moveToasts();
  if (dialog) await fillSheet();
  if (fact) showFact(fact);
}

export function toggleSheet() {
  if (!dialog) location.assign(urls.home);
  else if (dialog.open) dialog.close();
  else openSheet();
}

/** @param {MouseEvent} event */
function handleClick(event) {
  const { target } = event, tab = findClosest(target, "[role=tab]");
  // A search that is still delayed must ask for the tab that was chosen since.
  if (tab) findRequired("[name=tab]", document, HTMLInputElement).value = tab.id.slice("tab-".length);
  // Safari has no `closedby`, and sends a click outside to the dialog.
  const isOutside = target === dialog && !("closedBy" in HTMLDialogElement.prototype) && getSelection()?.isCollapsed;
  if (isOutside || findClosest(target, "[data-close-sheet]")) dialog?.close();
  const link = findClosest(target, "[data-sheet], [data-fact]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (!dialog && !(link.dataset.fact && find("#filter"))) return;
  event.preventDefault();
  openSheet(link.dataset.fact);
}

export function startMemorySheet() {
  if (dialog) (window.requestIdleCallback ?? setTimeout)(fillSheet);
  dialog?.addEventListener("close", () => {
    moveToasts();
    find("#batch-done")?.click();
  });
  document.addEventListener("click", handleClick);
  const fact = /^#fact-([\w-]+)$/.exec(location.hash)?.[1];
  if (!dialog && fact && find("#filter")) showFact(fact);
}
