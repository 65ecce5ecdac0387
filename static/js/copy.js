// Copying: whole messages as they were written, code without its numbers, a command, a path.
import { $, $$ } from "./dom.js";
import { toast } from "./toasts.js";
import { word } from "./words.js";

async function put(text, pressed) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return toast({ text: word("copy-failed") });
  }
  const sign = $("use", pressed), before = [sign.getAttribute("href"), pressed.title];
  const show = (href, title) => { sign.setAttribute("href", href); pressed.title = title; };
  show(before[0].replace(/#.*/, "#check"), word("copied"));
  setTimeout(() => show(...before), 1500);
}

// What scrolls sideways must be reachable by keyboard.
function reachable(root) {
  for (const box of $$("pre, .table", root)) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}

export function decorate(root) {
  reachable(root);
  for (const code of $$("pre", root)) {
    const home = code.closest(".highlight") ?? code.parentElement;
    if ($(":scope > .code-tools", home)) continue;
    const tools = $("#code-tools").content.firstElementChild.cloneNode(true);
    const language = /language-([\w+#.-]+)/.exec(`${home.className} ${$("code", code)?.className ?? ""}`)?.[1] ?? home.dataset.language;
    if (language) tools.prepend(language);
    home.append(tools);
  }
}

document.addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-copy], [data-copy-code], [data-copy-from]");
  if (!pressed) return;
  const { copy, copyCode } = pressed.dataset;
  if (copyCode !== undefined) put($("pre", pressed.closest(".code-tools").parentElement).textContent.replace(/\n$/, ""), pressed);
  else if (copy !== undefined) put($("[data-raw]", pressed.closest("article")).content.textContent, pressed);
  else put(pressed.previousElementSibling.textContent, pressed);
});
