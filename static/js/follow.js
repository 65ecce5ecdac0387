// Keeps the end in view while a reply grows, unless the reader has scrolled away from it.
import { $ } from "./dom.js";

const NEAR = 32;
const talk = $("[data-talk]"), button = $("#to-end"), column = $("#messages");
let following = true, last = 0;

export function toEnd() {
  if (!talk) return;
  following = true;
  button.hidden = true;
  talk.scrollTop = talk.scrollHeight;
}

export const scrollPage = (direction) => talk.scrollBy({ top: direction * talk.clientHeight * 0.9 });

export function grown() {
  if (following) toEnd();
  else button.hidden = false;
}

export function start() {
  if (!talk || !column) return;
  talk.addEventListener("scroll", () => {
    const gap = talk.scrollHeight - talk.clientHeight - talk.scrollTop;
    if (talk.scrollTop < last - 1 && gap > 4) following = false;
    if (gap < NEAR && talk.scrollTop >= last) { following = true; button.hidden = true; }
    last = talk.scrollTop;
  }, { passive: true });
  const watch = new ResizeObserver(() => { if (following) talk.scrollTop = talk.scrollHeight; });
  watch.observe(talk);
  watch.observe(column);
  button.addEventListener("click", () => { toEnd(); $("#text").focus(); });
  if (!location.hash.startsWith("#m-")) toEnd();
}
