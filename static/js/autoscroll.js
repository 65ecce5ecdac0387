// @ts-check
// Keeps the end of the conversation in view while a reply grows, unless the reader has scrolled away from the end.
import { find, findRequired } from "./dom.js";

/** This many pixels from the end count as the end. */
const NEAR = 32;
const area = find("[data-scroll-area]"), column = find("#messages"), button = find("#to-end");
// A link to a message leads to that message, not to the end.
let following = !location.hash.startsWith("#m-");
/** The last scroll position, and the height at the last paint, in pixels. */
let lastTop = 0, paintedHeight = 0;

// Text may have arrived since the last paint: a reader at the end of what was painted is at the end.
/** @param {HTMLElement} box */
function isAtEnd(box) {
  return box.scrollTop + box.clientHeight > Math.min(paintedHeight, box.scrollHeight) - NEAR;
}

// The current height is painted after two animation frames.
/** @param {HTMLElement} box */
function storePaintedHeight(box) {
  const height = box.scrollHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => { paintedHeight = height; }));
}

/** Scroll to the end and stay there. */
export function scrollToEnd() {
  if (!area || !button) return;
  following = true;
  button.hidden = true;
  area.scrollTop = area.scrollHeight;
}

/** @param {number} direction 1 is down, -1 is up */
export function scrollPage(direction) {
  area?.scrollBy({ top: direction * area.clientHeight * 0.9 });
}

/** Follow text that was added, or offer the button that leads to it. */
export function followNewText() {
  if (!area || !button) return;
  // The event of a scroll to the end may not have been delivered yet.
  if (following || (area.scrollTop > lastTop && isAtEnd(area))) scrollToEnd();
  else button.hidden = false;
}

// Earlier messages are inserted above: keep what is being read in its place.
/** @param {HTMLElement} box */
function keepPlaceOnPrepend(box) {
  let below = 0;
  htmx.on("htmx:beforeSwap", ({ target }) => { below = target.id === "earlier" ? box.scrollHeight - box.scrollTop : 0; });
  htmx.on("htmx:afterSwap", () => {
    if (!below) return;
    paintedHeight = box.scrollHeight;
    lastTop = box.scrollTop = paintedHeight - below;
    below = 0;
  });
}

export function startAutoscroll() {
  if (!area || !column) return;
  paintedHeight = area.scrollHeight;
  area.addEventListener("scroll", () => {
    const gap = area.scrollHeight - area.clientHeight - area.scrollTop;
    if (area.scrollTop < lastTop - 1 && gap > 4) following = false;
    else if (area.scrollTop >= lastTop && isAtEnd(area)) scrollToEnd();
    lastTop = area.scrollTop;
  }, { passive: true });
  keepPlaceOnPrepend(area);
  const observer = new ResizeObserver(() => {
    storePaintedHeight(area);
    if (following) area.scrollTop = area.scrollHeight;
  });
  observer.observe(area);
  observer.observe(column);
  button?.addEventListener("click", () => { scrollToEnd(); findRequired("#text").focus(); });
  if (following) scrollToEnd();
}
