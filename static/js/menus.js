// @ts-check
// Menus that are filled when they open; the browser places them beside their button.
import { find, findRequired } from "./dom.js";

export function startMenus() {
  const menu = findRequired("#conversation-menu");
  htmx.on("htmx:afterSettle", ({ target }) => {
    if (!target.matches(".pop:popover-open") || target.contains(document.activeElement)) return;
    find("a", target)?.focus(/** @type {FocusOptions} */ ({ focusVisible: false, preventScroll: true }));
  });
  // All rows of the list of conversations share this menu: it must not show the items of another row.
  menu.addEventListener("beforetoggle", ({ newState }) => { if (newState === "open") menu.replaceChildren(); });
  menu.addEventListener("htmx:afterRequest", () => menu.hidePopover());
}
