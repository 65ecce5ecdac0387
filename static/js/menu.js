// Menus that are filled when they open; the browser places them beside their button.
import { $ } from "./dom.js";

const room = $("#room");

export function start() {
  htmx.on("htmx:afterSettle", ({ target }) => {
    // What was pressed in it keeps the focus.
    if (target.matches(".pop:popover-open") && !target.contains(document.activeElement)) $("a", target)?.focus({ focusVisible: false, preventScroll: true });
  });
  // One serves all rows of the list of conversations: what it held for another is not shown.
  room.addEventListener("beforetoggle", ({ newState }) => { if (newState === "open") room.replaceChildren(); });
  room.addEventListener("htmx:afterRequest", () => room.hidePopover());
}
