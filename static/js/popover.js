// Places a list of memories under the button that opens it, or above where there is no room.
import { $, $$ } from "./dom.js";

const GAP = 6, EDGE = 12;
let pressed;

function put(pop) {
  const from = pressed?.isConnected && pressed.getAttribute("popovertarget") === pop.id ? pressed : $(`[popovertarget="${pop.id}"]`);
  const opener = from.getBoundingClientRect(), size = pop.getBoundingClientRect();
  const below = opener.bottom + GAP, fits = below + size.height < innerHeight - EDGE;
  pop.style.setProperty("--x", `${Math.max(EDGE, Math.min(opener.left, innerWidth - size.width - EDGE))}px`);
  pop.style.setProperty("--y", `${fits ? below : Math.max(EDGE, opener.top - GAP - size.height)}px`);
}

// One menu may serve many buttons.
document.addEventListener("click", ({ target }) => { pressed = target.closest("[popovertarget]") ?? pressed; }, true);
document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.(".pop") || event.newState !== "open") return;
  put(event.target);
}, true);
document.body.addEventListener("htmx:afterSettle", ({ target }) => {
  if (!target.matches?.(".pop:popover-open")) return;
  put(target);
  // What was pressed in it keeps the focus.
  if (!target.contains(document.activeElement)) $("a", target)?.focus({ focusVisible: false, preventScroll: true });
});
$("[data-talk]")?.addEventListener("scroll", () => $$(".pop:popover-open").forEach(put), { passive: true });
addEventListener("resize", () => $$(".pop:popover-open").forEach(put));
