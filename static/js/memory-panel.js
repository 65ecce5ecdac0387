// @ts-check
// The list of memories: tabs by arrow keys, choosing several cards, and the focus when a card has gone.
import { find, findAll, findClosest, findRequired, getText, isMatch, isTextField } from "./dom.js";

/**
 * The ids of the cards before the list is drawn again; null where new cards are not to be marked.
 * @type {Set<string> | null}
 */
let cardsBefore = null;
/** @type {EventTarget | null} The element of the first click of a double click. */
let firstClicked = null;
/** @type {string | null} The id of the checkbox that was clicked last; Shift chooses from there. */
let lastBoxId = null;

/**
 * Only the selected tab is a tab stop; arrow keys move between the tabs.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} current
 */
function handleTabKey(event, current) {
  const tabs = findAll("[role=tab]"), at = tabs.indexOf(current);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs.at(to % tabs.length);
  tab?.focus();
  tab?.click();
}

const findBoxes = () => findAll("[name=fact]", document, HTMLInputElement);

function isManaging() {
  return Boolean(find("#batch")?.checkVisibility()) && !find("#shortcuts[open], :popover-open");
}

function showCount() {
  const count = findBoxes().filter((box) => box.checked).length;
  if (count || lastBoxId) findRequired("#selected-count").textContent = getText("selected").replace("{n}", String(count));
}

/**
 * With Shift, give all boxes since the last one the same state.
 * @param {HTMLInputElement} box
 * @param {boolean} isShift
 */
function handleTick(box, isShift) {
  const all = findBoxes(), at = all.indexOf(box), from = all.findIndex(({ id }) => id === lastBoxId);
  if (isShift && from >= 0) for (const other of all.slice(Math.min(at, from), Math.max(at, from) + 1)) other.checked = box.checked;
  lastBoxId = box.id;
  showCount();
}

// While several cards are chosen, Ctrl+A chooses all and Esc ends it.
/** @param {KeyboardEvent} event */
function handleKey(event) {
  if (isMatch(event.target, "[role=tab]")) return handleTabKey(event, event.target);
  const isAll = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a" && !isTextField(event.target);
  if (!(isAll || event.key === "Escape") || !isManaging()) return;
  event.preventDefault();
  event.stopPropagation();
  if (!isAll) return findRequired("#batch-done").click();
  for (const box of findBoxes()) box.checked = true;
  showCount();
}

/** @param {MouseEvent} event */
function handleClick(event) {
  const { target, detail: clicks, shiftKey } = event;
  if (clicks < 2) firstClicked = target;
  // The first click of a double click has opened the editor already.
  else if (isMatch(target, ".card a.text")) { event.preventDefault(); event.stopPropagation(); }
  if (target instanceof HTMLInputElement && target.name === "fact") handleTick(target, shiftKey);
}

// A double click opens the long form. In an open line it selects a word.
/** @param {MouseEvent} event */
function handleDoubleClick({ target }) {
  const card = findClosest(target, "article.card");
  if (!card || isMatch(firstClicked, ".line") || findClosest(target, "button, .icon-button, select, textarea")) return;
  htmx.ajax("GET", `${card.dataset.url}edit/?full=1`, { target: card, swap: "morph", source: card });
}

/** @param {HTMLElement | null} card that is being removed */
function focusNeighbour(card) {
  const texts = findAll("a.text"), at = texts.findIndex((text) => card?.contains(text));
  (texts[at + 1] ?? texts[at - 1] ?? findRequired("#remember-text")).focus({ preventScroll: true });
}

/** @param {PageEvent<SwapDetail>} event */
function handleBeforeSwap({ target, detail }) {
  const { requestConfig: { elt, parameters, triggeringEvent }, xhr } = detail;
  // The answer to an older search would replace the result of a newer one.
  if (elt.id === "filter" && parameters.q !== findRequired("#q", document, HTMLInputElement).value) {
    detail.shouldSwap = false;
    return;
  }
  if (xhr.status === 200 && elt.id.startsWith("forget-")) focusNeighbour(findClosest(elt, ".card"));
  // Another tab or search shows other cards, which are not new.
  const isUpdate = target.id === "memory-list" && ["memory-changed", "submit"].includes(triggeringEvent?.type ?? "");
  cardsBefore = isUpdate ? new Set(findAll("article.card", target).map((card) => card.id)) : null;
}

/** @param {PageEvent<HtmxDetail>} event */
function handleAfterSettle({ target, detail }) {
  find(":scope > :is(.fact-history, .unpin-offer)", target)?.scrollIntoView({ block: "nearest" });
  if (target.id !== "memory-list") return;
  find("#tabs [aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  for (const card of findAll("article.card", target)) if (cardsBefore && !cardsBefore.has(card.id)) card.classList.add("fresh");
  if (find("#batch")) showCount();
  else lastBoxId = null;
  // The button that was pressed has gone, with the card or with the switch to choosing several.
  if (document.activeElement === document.body && detail.requestConfig.elt.id !== "filter") {
    (findBoxes()[0] ?? find("#manage") ?? find("#remember-text"))?.focus();
  }
}

export function startMemoryPanel() {
  document.addEventListener("keydown", handleKey, true);
  document.addEventListener("click", handleClick, true);
  document.addEventListener("dblclick", handleDoubleClick);
  htmx.on("htmx:beforeSwap", handleBeforeSwap);
  htmx.on("htmx:afterSettle", handleAfterSettle);
}
