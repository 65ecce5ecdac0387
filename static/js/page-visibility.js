// @ts-check
// A hidden or closed page tells the server to extract facts from the conversation; a page that is shown again
// fetches the current memories.
import { conversationId, findRequired } from "./dom.js";

let isFlushed = false;

/** Send a beacon, which outlives the page, once for each time that the page is hidden. */
function flushConversation() {
  if (isFlushed || !conversationId) return;
  const body = new FormData();
  // A beacon cannot carry the header in which other requests send the token.
  body.set("csrfmiddlewaretoken", findRequired("#compose [name=csrfmiddlewaretoken]", document, HTMLInputElement).value);
  isFlushed = navigator.sendBeacon(findRequired("#messages").dataset.flush ?? "", body);
}

function refreshMemories() {
  if (document.visibilityState === "visible") document.body.dispatchEvent(new CustomEvent("memory-changed"));
}

export function startPageVisibility() {
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") flushConversation();
    else isFlushed = false;
    refreshMemories();
  });
  addEventListener("pagehide", flushConversation);
  addEventListener("focus", refreshMemories);
}
