// The sentences that scripts show live in the page, so that they are translated with it.
const store = document.getElementById("words")?.content;

export function word(name, values = {}) {
  const text = store?.querySelector(`[data-word="${name}"]`)?.textContent ?? "";
  return text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

export function shorten(text, length = 80) {
  return text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text;
}
