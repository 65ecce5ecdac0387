// The memory sheet: a modal dialog over the chat that htmx fills from the memory page.
import { $, urls } from "./dom.js";
import { rehome } from "./toasts.js";

const dialog = $("#sheet");
let filling;

// Once, while nothing else is going on: what is there when the shortcut is pressed is on the screen at once. Then
// it is kept as the server has it, open or not.
const fill = () => (filling ??= htmx.ajax("GET", urls.memory, { target: "#sheet-body", swap: "innerHTML", source: "#sheet-body" })
  .catch(() => {}).then(() => { if ($("#filter")) rehome(); else filling = null; }));

const show = (fact) => htmx.ajax("GET", `${urls.memory}?found=${fact}`, { target: "#memory-list", swap: "refill", source: "#filter" });

export async function open(fact) {
  if (dialog && !dialog.open) dialog.showModal();
  rehome();
  if (dialog) await fill();
  if (fact) show(fact);
}

export const toggle = () => (dialog?.open ? dialog.close() : dialog ? open() : location.assign(urls.home));

export function start() {
  if (dialog) (window.requestIdleCallback ?? setTimeout)(fill);
  dialog?.addEventListener("close", () => {
    rehome();
    $("#done")?.click();
  });
  document.addEventListener("click", (event) => {
    // A search that is still waiting for its keys to rest must ask for the tab that was just chosen.
    const tab = event.target.closest("[role=tab]");
    if (tab) $("[name=tab]").value = tab.id.slice(4);
    if (event.target.closest("[data-leave]")) dialog?.close();
    const link = event.target.closest("[data-sheet], [data-fact]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !(dialog || (link.dataset.fact && $("#filter")))) return;
    event.preventDefault();
    open(link.dataset.fact);
  });
  const asked = /^#fact-([\w-]+)$/.exec(location.hash);
  if (!dialog && asked && $("#filter")) show(asked[1]);
}
