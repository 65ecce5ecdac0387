// Articles in the page: append what is new, replace what changed, never show one twice.
import { $, $$, announce, get, parse } from "./dom.js";
import { decorate } from "./copy.js";
import { grown } from "./follow.js";
import { morph } from "./morph.js";
import { shorten, word } from "./words.js";

const list = $("#messages");
const arrived = [];
let answered = 0;

export const onArrival = (handler) => arrived.push(handler);
const articles = () => $$("article", list ?? document);
export const article = (id) => document.getElementById(`m-${id}`);
export const streaming = () => articles().findLast(({ dataset }) => dataset.state === "streaming");

function welcome(fresh) {
  htmx.process(fresh);
  decorate(fresh);
  meter(fresh);
  arrived.forEach((handler) => handler(fresh));
}

export function append(html) {
  for (const fresh of parse(html)) {
    const { id, seq, after } = fresh.dataset;
    // What is missing in between would not be noticed.
    if ($("#later")) return location.assign(location.pathname);
    if (article(id)) { refetch(id); continue; }
    const place = ({ dataset }) => Number(dataset.seq);
    // What stands between the two was replaced.
    for (const other of articles()) if (place(other) > after && place(other) < seq) other.remove();
    const before = articles().findLast((other) => place(other) < seq);
    if (before) before.after(fresh);
    else list.prepend(fresh);
    welcome(fresh);
  }
  grown();
}

export async function refetch(id) {
  const old = article(id), then = answered;
  if (!old || $(".revise", old)) return;
  const answer = await get(old.dataset.url);
  // What was pressed meanwhile may have changed it since.
  if (then !== answered) return refetch(id);
  if (answer.status === 404) return old.remove();
  const current = article(id);
  if (!answer.ok || !current || $(".revise", current)) return;
  const focused = current.contains(document.activeElement);
  morph(current, answer.text, "outerHTML");
  welcome(current);
  if (focused && document.activeElement === document.body) $("#text").focus();
  return current;
}

export async function finish(id) {
  const fresh = await refetch(id);
  if (!fresh || fresh.dataset.state === "streaming") return;
  const say = fresh.dataset.state === "complete" ? "finished" : "stopped";
  announce(`${word(say)} ${shorten($("[data-blocks]", fresh).textContent.replace(/\s+/g, " ").trim(), 400)}`);
}

// What a memory was learned from has a reply that tells of it.
export const tellOf = (asked) => refetch(article(asked)?.nextElementSibling?.dataset.id);

// What was said and learned between the page and its socket, or while the line was down.
export async function catchUp() {
  if (!list || $("#later")) return;
  const last = articles().findLast(({ dataset }) => dataset.role === "assistant" && dataset.state !== "streaming");
  const answer = await get(list.dataset.after.replace(/\d+\/$/, `${articles().at(-1)?.dataset.seq ?? 0}/`));
  append(answer.text);
  if (last) refetch(last.dataset.id);
}

function meter({ dataset: { share }, nextElementSibling }) {
  const element = $("#meter");
  if (!element || share === undefined || nextElementSibling) return;
  element.title = element.title.replace(element.getAttribute("aria-valuenow"), share);
  element.setAttribute("aria-valuenow", share);
  $("rect", element).setAttribute("width", share);
  element.toggleAttribute("data-full", Number(share) >= 80);
}

export function start() {
  if (!list) return;
  decorate(list);
  htmx.on("htmx:afterRequest", () => { answered += 1; });
  htmx.on("htmx:afterSettle", ({ detail: { elt, target } }) => {
    const fresh = elt.closest?.("article[data-id]");
    if (fresh?.parentElement !== list) return;
    welcome(fresh);
    const box = $(".revise textarea", fresh);
    if (box) box.setSelectionRange(box.value.length, box.value.length);
    else if (target.matches("article") && document.activeElement === document.body) $(".extras a", fresh)?.focus();
  });
}
