// A page that is hidden or left has memory read what waits in its conversation; a beacon outlives the page.
import { $, conversation } from "./dom.js";

let told = false;

function leave() {
  if (told || !conversation) return;
  const body = new FormData();
  // A beacon carries no header of ours.
  body.set("csrfmiddlewaretoken", $("#compose [name=csrfmiddlewaretoken]").value);
  told = navigator.sendBeacon($("#messages").dataset.flush, body);
}

export function start() {
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") leave(); else told = false; });
  addEventListener("pagehide", leave);
}
