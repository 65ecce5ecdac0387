// Cards: editing in place, tabs by arrow keys, refreshing without losing place or focus.
import { $, $$, get, parse, typing, urls } from "./dom.js";
import { word } from "./words.js";

const QUICK_SECOND_CLICK = 500;
let stale = false, known = null, growing = null, shown = "", touched = false;

const editing = () => $(".card.editing");
const ids = () => new Set($$("[data-fact-card]").map((card) => card.dataset.factCard));

// What waits for an answer must still be there when it comes: htmx puts no piece elsewhere for what has left.
const asking = () => $("#panel .htmx-request:not(#filter, #q)");

export async function refresh(change = {}) {
  const filter = $("#filter");
  if (!filter) return;
  if (editing()) { stale = true; return; }
  stale = false;
  for (const [name, value] of Object.entries(change)) filter.elements[name].value = value;
  touched = false;
  await htmx.ajax("GET", urls.memory, { target: "#memory-list", swap: "innerHTML", source: filter });
}

let soon;
// Not under a request of a card: its answer would find the card gone.
export const refreshSoon = () => {
  clearTimeout(soon);
  soon = setTimeout(() => (asking() ? refreshSoon() : refresh()), 80);
};

export function settle() {
  roving();
  if (!$("#filter") || $("#q").value || $("[name=tab]").value !== "all") return;
  const now = ids();
  if (known) for (const id of now) if (!known.has(id)) document.getElementById(`fact-${id}`).classList.add("fresh");
  known = now;
}

// One tab stop for the tabs; the arrows move inside.
function roving() {
  for (const tab of $$("[role=tab]")) tab.tabIndex = tab.getAttribute("aria-selected") === "true" ? 0 : -1;
  const chosen = $("[role=tab][aria-selected=true]");
  if (chosen) $("#memory-list")?.setAttribute("aria-labelledby", chosen.id);
}

function arrow(event) {
  const tabs = $$("[role=tab]"), at = tabs.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs.at(to % tabs.length);
  tab.focus();
  tab.click();
}

// Manage: what is chosen stays so while the list is drawn anew; Shift takes all from the last one on.
let chosen = new Set(), last;
const boxes = () => $$("[name=fact]");
const managing = () => $("#batch")?.checkVisibility() && !$("#shortcuts[open], :popover-open");

function count() {
  chosen = new Set(boxes().filter((box) => box.checked).map((box) => box.id));
  $("#picked").textContent = word("picked").replace("{n}", chosen.size);
}

function pick({ target, shiftKey }) {
  if (target.name !== "fact") return;
  const all = boxes(), at = all.indexOf(target), from = all.findIndex((box) => box.id === last);
  if (shiftKey && from >= 0) for (const box of all.slice(Math.min(at, from), Math.max(at, from) + 1)) box.checked = target.checked;
  last = target.id;
  count();
}

function chooseAgain() {
  if (!$("#batch")) return chosen.clear();
  for (const box of boxes()) box.checked = chosen.has(box.id);
  if (chosen.size) count();
}

function enter(card) {
  const field = $(".line, .full", card);
  card.openedAt = Date.now();
  field.dataset.before = field.value;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}

async function cancel(card, refocus) {
  card.dataset.closing = "1";
  await htmx.ajax("GET", card.dataset.url, { target: card, swap: "outerHTML", source: card });
  if (refocus) $(`#text-${card.dataset.factCard}`)?.focus();
  if (stale) refreshSoon();
}

function save(card) {
  const field = $(".line, .full", card), category = $("select", card);
  const changed = field.value.trim() !== field.dataset.before.trim() || (category && category.value !== card.dataset.category);
  if (!changed) return cancel(card, true);
  card.dataset.closing = "1";
  $("form", card).requestSubmit();
}

function key(event) {
  if (event.target.matches("[role=tab]")) return arrow(event);
  if (managing() && (event.key === "Escape" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a" && !typing(event.target)))) {
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") return $("#done").click();
    for (const box of boxes()) box.checked = true;
    return count();
  }
  const card = event.target.closest(".card.editing");
  if (!card || event.isComposing) return;
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    cancel(card, true);
  } else if (event.key === "Enter" && event.target.matches(".line, .full")) {
    event.preventDefault();
    save(card);
  }
}

function left(event) {
  const form = event.target.closest?.(".card.editing form[data-mode=line]");
  if (!form) return;
  setTimeout(() => {
    const card = form.closest(".card");
    if (!form.isConnected || card.dataset.closing || form.contains(document.activeElement) || !document.hasFocus()) return;
    const field = $(".line", card);
    if (field.value.trim() && field.value.trim() !== field.dataset.before.trim()) { card.dataset.closing = "1"; form.requestSubmit(); }
    else cancel(card, false);
  });
}

function twice(event) {
  const card = event.target.closest(".card");
  if (!card || event.target.closest("button, .tap, select, form[data-mode=full]")) return;
  if (card.matches(".editing") && Date.now() - (card.openedAt ?? 0) > QUICK_SECOND_CLICK) return;
  // The first click has asked for the line already: the full form comes after it.
  if ($(".htmx-request", card)) growing = card.dataset.factCard;
  else grow(card);
}

function grow(card) {
  growing = null;
  card.dataset.closing = "1";
  htmx.ajax("GET", `${card.dataset.url}edit/?full=1`, { target: card, swap: "outerHTML", source: card });
}

// After a card has gone, focus goes to the one that took its place.
function neighbour(event) {
  const pressed = event.detail.elt;
  if (!pressed?.id?.startsWith("forget-")) return;
  const texts = $$(".card .text"), at = texts.indexOf($(".text", pressed.closest(".card")));
  const next = texts[at + 1] ?? texts[at - 1];
  (next ?? $("#remember-text"))?.focus({ preventScroll: true });
}

function swapped(event) {
  const { target } = event.detail;
  const card = event.detail.elt?.closest?.(".card") ?? event.target.closest?.(".card");
  if (card?.matches(".editing") && !card.openedAt) return growing === card.dataset.factCard ? grow(card) : enter(card);
  card?.querySelector(":scope > :is(.origin, .offer)")?.scrollIntoView({ block: "nearest" });
  if (card?.matches(".saved") && document.activeElement === document.body) $(".text", card).focus();
  if (target?.id !== "memory-list") return;
  shown = event.detail.xhr.response;
  settle();
  chooseAgain();
  // What was pressed has made way: to Manage, from it, or with the card.
  if (document.activeElement === document.body) (boxes()[0] ?? $("#manage") ?? $("#remember-text"))?.focus();
}

async function pill() {
  const old = $("#pill");
  const answer = await get(urls.pill);
  const [fresh] = answer.ok ? parse(answer.text) : [];
  if (!fresh || !old?.isConnected || fresh.dataset.count === old.dataset.count) return;
  const before = Number(old.dataset.count), focused = document.activeElement === old;
  old.replaceWith(fresh);
  if (focused) fresh.focus();
  if (Number(fresh.dataset.count) > before) fresh.classList.add("pulse");
}

let counting;
export function changed() {
  clearTimeout(counting);
  counting = setTimeout(pill, 60);
  refreshSoon();
}

export function start() {
  document.addEventListener("keydown", key, true);
  document.addEventListener("focusout", left);
  document.addEventListener("dblclick", twice);
  document.addEventListener("click", pick);
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".card [data-cancel]");
    if (link) { event.preventDefault(); cancel(link.closest(".card"), true); }
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful } = event.detail;
    if (successful && elt.id === "remember" && event.detail.xhr.status === 200) { elt.reset(); $("#remember .error")?.remove(); }
    if (elt.matches?.("form.edit") && stale) refreshSoon();
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    // A list that arrives now would take the pressed card from under its own answer, or does not know what was
    // opened since it was asked for: ask again after that.
    const from = detail.requestConfig?.elt?.id;
    if ((from === "filter" && touched) || (["filter", "q"].includes(from) && asking())) { detail.shouldSwap = false; stale = true; refreshSoon(); return; }
    // The same list again would take the reader's place, and time, for nothing.
    if (from === "filter") detail.shouldSwap &&= detail.xhr.response !== shown;
    else if (detail.target.closest?.("#memory-list")) { shown = ""; touched = true; }
    if (detail.xhr.status === 422 && detail.requestConfig.elt.id === "remember") {
      detail.target = detail.requestConfig.elt;
      detail.swapOverride = "outerHTML";
    }
    if (detail.xhr.status === 200) neighbour({ detail: { elt: detail.requestConfig.elt } });
  });
  document.body.addEventListener("htmx:afterSettle", swapped);
  document.body.addEventListener("memory-changed", changed);
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") htmx.trigger(document.body, "memory-changed"); });
  settle();
}
