// The model banner: missing, loading with its progress, failed with the command that mends it, gone when ready.
import { $, announce } from "./dom.js";
import { word } from "./words.js";

export function show({ state, sentence, command, progress }) {
  const banner = $("#model");
  if (!banner) return;
  const was = banner.dataset.state, bar = $("progress", banner);
  banner.dataset.state = state;
  banner.hidden = state === "ready";
  $("[data-sentence]", banner).textContent = sentence ?? "";
  $("[data-command]", banner).hidden = !command;
  $("[data-command] code", banner).textContent = command ?? "";
  bar.hidden = state !== "loading";
  if (progress === null || progress === undefined) bar.removeAttribute("value");
  else bar.value = progress;
  if (state !== was) announce(state === "ready" ? word("ready") : sentence ?? "");
}
