// The memory sheet: a modal dialog over the chat that htmx fills from the memory page.
import { $, $$, urls } from "./dom.js";
import { refresh, refreshSoon, settle } from "./panel.js";
import { rehome } from "./toasts.js";

const dialog = $("#sheet");
let opener = "", filling;

// Once, while nothing else is going on: what is there when the shortcut is pressed is on the screen at once. Then
// it is kept as the server has it, open or not.
const fill = () => (filling ??= htmx.ajax("GET", urls.memory, { target: "#sheet-body", swap: "innerHTML", source: "#sheet-body" })
  .then(() => { if ($("#filter")) { settle(); rehome(); } else filling = null; }, () => { filling = null; }));

export async function open(fact = null) {
  $("#shortcuts").close();
  if (!dialog) return reveal(fact);
  if (!dialog.open) { opener = document.activeElement.id; dialog.showModal(); }
  rehome();
  if ($("#filter")) { refreshSoon(); htmx.trigger("#health", "look"); }
  else await fill();
  reveal(fact);
}

export const close = () => dialog?.close();
export const toggle = () => (dialog?.open ? close() : dialog ? open() : location.assign(urls.home));

async function reveal(fact) {
  if (!fact) return;
  if (!document.getElementById(`fact-${fact}`)) await refresh({ tab: "all", q: "" });
  const card = document.getElementById(`fact-${fact}`);
  if (!card) return;
  card.scrollIntoView({ block: "center" });
  card.classList.add("found");
  $(".text", card)?.focus({ preventScroll: true });
}

export function start() {
  if (dialog) (window.requestIdleCallback ?? setTimeout)(fill);
  dialog?.addEventListener("close", () => {
    rehome();
    $("#done")?.click();
    // The pill is drawn anew when memory changes; the browser would give focus back to the old one, and
    // leave it in the sheet until that has faded.
    if (document.activeElement === document.body || dialog.contains(document.activeElement)) (document.getElementById(opener) ?? $("#pill"))?.focus();
  });
  document.addEventListener("click", (event) => {
    // A search that is still waiting for its keys to rest must ask for the tab that was just chosen.
    const tab = event.target.closest("[role=tab]");
    if (tab) $("[name=tab]").value = tab.id.slice(4);
    if (event.target.closest("[data-leave]")) close();
    const link = event.target.closest("[data-sheet], [data-fact]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || (!dialog && !link.dataset.fact)) return;
    event.preventDefault();
    open(link.dataset.fact);
  });
  const asked = /^#fact-([\w-]+)$/.exec(location.hash);
  if (!dialog && asked) reveal(asked[1]);
}
