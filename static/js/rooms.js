// The list of conversations: a title is changed in its place, and one menu serves all rows.
import { $, $$ } from "./dom.js";

const menu = $("#room");
let back;
const tell = () => htmx.trigger(document.body, "rooms-changed");

function key(event) {
  const line = event.target.closest(".rename .field");
  if (!line || event.isComposing || !/^(Enter|Escape)$/.test(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Escape") line.value = line.defaultValue;
  back = line.form.dataset.back;
  line.blur();
}

function left({ target: line }) {
  if (!line.matches(".rename .field")) return;
  line.form.dataset.left = "";
  if (line.value.trim() && line.value !== line.defaultValue) line.form.requestSubmit();
  else tell();
}

function settled({ target }) {
  const line = $(".rename .field", target);
  if (line) {
    $$(".care:popover-open").forEach((pop) => pop.hidePopover());
    line.select();
  } else if (target.id === "rooms" && back) {
    $(`#${back}`)?.focus();
    back = null;
  }
}

export function start() {
  document.addEventListener("keydown", key, true);
  document.addEventListener("focusout", left);
  document.body.addEventListener("htmx:afterSettle", settled);
  // What is typed or about to be, and what has opened the menu, stay: the list is drawn anew after that.
  document.body.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (target.id === "rooms" && $(".rename:not([data-left]), .rename :focus, #retitle.htmx-request, #room:popover-open")) detail.shouldSwap = false;
  });
  document.body.addEventListener("htmx:afterRequest", ({ target, detail }) => {
    if (detail.requestConfig.verb === "post" && menu.contains(target)) menu.hidePopover();
  });
  menu.addEventListener("beforetoggle", ({ newState }) => { if (newState === "open") menu.replaceChildren(); });
  menu.addEventListener("toggle", ({ newState }) => { if (newState === "closed") tell(); });
}
