// Keeps the end in view while a reply grows, unless the reader has scrolled away from it.
import { $ } from "./dom.js";

const NEAR = 32;
const talk = $("[data-talk]"), button = $("#to-end"), column = $("#messages");
// A link to a message leads there, not to the end.
let following = !location.hash.startsWith("#m-"), last = 0, shown = 0;

// The browser scrolls what it has painted: a reader at the end of that is at the end, though text has come since.
const reached = () => talk.scrollTop + talk.clientHeight > Math.min(shown, talk.scrollHeight) - NEAR;

function painted() {
  const height = talk.scrollHeight;
  requestAnimationFrame(() => requestAnimationFrame(() => { shown = height; }));
}

export function toEnd() {
  if (!talk) return;
  following = true;
  button.hidden = true;
  talk.scrollTop = talk.scrollHeight;
}

export const scrollPage = (direction) => talk.scrollBy({ top: direction * talk.clientHeight * 0.9 });

export function grown() {
  // The event that tells of the scrolling may still be on its way.
  if (following || talk.scrollTop > last && reached()) toEnd();
  else button.hidden = false;
}

export function start() {
  if (!talk || !column) return;
  shown = talk.scrollHeight;
  talk.addEventListener("scroll", () => {
    const gap = talk.scrollHeight - talk.clientHeight - talk.scrollTop;
    if (talk.scrollTop < last - 1 && gap > 4) following = false;
    else if (talk.scrollTop >= last && reached()) toEnd();
    last = talk.scrollTop;
  }, { passive: true });
  // What comes in above must not move what is being read.
  let below = 0;
  htmx.on("htmx:beforeSwap", ({ target }) => { below = target.id === "earlier" && talk.scrollHeight - talk.scrollTop; });
  htmx.on("htmx:afterSwap", () => {
    if (!below) return;
    shown = talk.scrollHeight;
    last = talk.scrollTop = shown - below;
    below = 0;
  });
  const watch = new ResizeObserver(() => { painted(); if (following) talk.scrollTop = talk.scrollHeight; });
  watch.observe(talk);
  watch.observe(column);
  button.addEventListener("click", () => { toEnd(); $("#text").focus(); });
  if (following) toEnd();
}
