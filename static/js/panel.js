// The list of memories: tabs by arrow keys, several at once, and where the focus goes when its card has gone.
import { $, $$, typing } from "./dom.js";
import { word } from "./words.js";

let known, pressed, last;

// One tab stop for the tabs; the arrows move inside.
function arrow(event) {
  const tabs = $$("[role=tab]"), at = tabs.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs.at(to % tabs.length);
  tab.focus();
  tab.click();
}

// Manage: Shift takes all from the last one on.
const boxes = () => $$("[name=fact]");
const managing = () => $("#batch")?.checkVisibility() && !$("#shortcuts[open], :popover-open");

function count() {
  const chosen = boxes().filter((box) => box.checked).length;
  if (chosen || last) $("#picked").textContent = word("picked").replace("{n}", chosen);
}

function pick(target, shiftKey) {
  const all = boxes(), at = all.indexOf(target), from = all.findIndex((box) => box.id === last);
  if (shiftKey && from >= 0) for (const box of all.slice(Math.min(at, from), Math.max(at, from) + 1)) box.checked = target.checked;
  last = target.id;
  count();
}

function key(event) {
  if (event.target.matches("[role=tab]")) return arrow(event);
  const all = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a" && !typing(event.target);
  if (!(all || event.key === "Escape") || !managing()) return;
  event.preventDefault();
  event.stopPropagation();
  if (!all) return $("#done").click();
  for (const box of boxes()) box.checked = true;
  count();
}

function clicked(event) {
  const { target, detail, shiftKey } = event;
  if (detail < 2) pressed = target;
  // The second of two has nothing more to open.
  else if (target.matches(".card a.text")) { event.preventDefault(); event.stopPropagation(); }
  if (target.name === "fact") pick(target, shiftKey);
}

// The first click of the two has opened the line; two in the line choose a word.
function twice({ target }) {
  const card = target.closest("article.card");
  if (!card || pressed?.matches(".line") || target.closest("button, .tap, select, textarea")) return;
  htmx.ajax("GET", `${card.dataset.url}edit/?full=1`, { target: card, swap: "morph", source: card });
}

function neighbour(gone) {
  const texts = $$("a.text"), at = texts.indexOf($(".text", gone));
  (texts[at + 1] ?? texts[at - 1] ?? $("#remember-text")).focus({ preventScroll: true });
}

export function start() {
  document.addEventListener("keydown", key, true);
  document.addEventListener("click", clicked, true);
  document.addEventListener("dblclick", twice);
  htmx.on("htmx:beforeSwap", ({ target, detail }) => {
    const { requestConfig: { elt, parameters, triggeringEvent }, xhr } = detail;
    // An older search must not take away the card that was shown since.
    if (elt.id === "filter" && parameters.q !== $("#q").value) return detail.shouldSwap = false;
    if (xhr.status === 200 && elt.id.startsWith("forget-")) neighbour(elt.closest(".card"));
    // Another tab or search shows other cards; only what memory has won is new.
    const learned = target.id === "memory-list" && ["memory-changed", "submit"].includes(triggeringEvent?.type);
    known = learned && new Set($$("article.card", target).map((card) => card.id));
  });
  htmx.on("htmx:afterSettle", ({ target, detail }) => {
    $(":scope > :is(.origin, .offer)", target)?.scrollIntoView({ block: "nearest" });
    if (target.id !== "memory-list") return;
    $("#tabs [aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (known) for (const card of $$("article.card", target)) if (!known.has(card.id)) card.classList.add("fresh");
    if ($("#batch")) count();
    else last = null;
    // What was pressed has made way: to Manage, from it, or with the card.
    if (document.activeElement === document.body && detail.requestConfig.elt.id !== "filter") (boxes()[0] ?? $("#manage") ?? $("#remember-text"))?.focus();
  });
}
