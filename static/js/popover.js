// What is loaded into an open menu takes the focus; the browser places it beside its button.
import { $ } from "./dom.js";

document.body.addEventListener("htmx:afterSettle", ({ target }) => {
  // What was pressed in it keeps the focus.
  if (target.matches?.(".pop:popover-open") && !target.contains(document.activeElement)) $("a", target)?.focus({ focusVisible: false, preventScroll: true });
});
