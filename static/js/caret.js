// The caret stands behind the last letter of the block that is being written.
const INSIDE = "p, ul, ol, li, blockquote, pre, code, div, h1, h2, h3, h4, h5, h6, table, tbody, tr, td";
const made = document.createElement("span");
made.className = "caret";

export function lift() {
  const parent = made.parentNode;
  made.remove();
  parent?.normalize();
}

export function place(block) {
  let end = block;
  for (let next; (next = end.lastElementChild) && next.matches(INSIDE) && !next.nextSibling?.data?.trim();) end = next;
  const text = end.lastChild;
  // Pygments closes code with a line break; a caret behind it would open an empty line.
  if (text?.nodeType === Node.TEXT_NODE && text.data.endsWith("\n")) text.splitText(text.length - 1).before(made);
  else end.append(made);
}
