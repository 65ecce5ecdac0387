// Changes one block into its newer self and touches only what differs: selections, scrolled code and
// everything already read stay as they are.
function same(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  if (a.nodeType !== Node.ELEMENT_NODE) return true;
  return a.attributes.length === b.attributes.length && [...b.attributes].every(({ name, value }) => a.getAttribute(name) === value);
}

function patchText(old, now) {
  if (old.data === now.data) return;
  if (now.data.startsWith(old.data)) old.appendData(now.data.slice(old.data.length));
  else old.data = now.data;
}

function patch(old, now) {
  const fresh = [...now.childNodes];
  while (old.childNodes.length > fresh.length) old.lastChild.remove();
  fresh.forEach((node, i) => {
    const current = old.childNodes[i];
    if (!current) old.append(node);
    else if (!same(current, node)) current.replaceWith(node);
    else if (node.nodeType === Node.ELEMENT_NODE) patch(current, node);
    else patchText(current, node);
  });
}

export function morph(block, html) {
  const now = document.createElement("div");
  now.innerHTML = html;
  patch(block, now);
}
