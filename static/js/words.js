// The sentences that scripts show live in the page, so that they are translated with it.
const store = document.getElementById("words")?.content;

export const word = (name) => store?.querySelector(`[data-word="${name}"]`)?.textContent ?? "";

export function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;
}
