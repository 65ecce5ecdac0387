// @ts-check
// Requests to the server, and the error text of a failed one.
import { getText } from "./dom.js";

/**
 * Fetch a page part. A server that cannot be reached gives status 0; callers ask again when the socket reconnects.
 * @param {string} url
 * @returns {Promise<{status: number, ok: boolean, text: string}>} `text` is empty unless `ok`
 */
export async function fetchHtml(url) {
  const response = await fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" }).catch(() => null);
  if (!response) return { status: 0, ok: false, text: "" };
  const login = response.headers.get("HX-Redirect");
  if (login) location.assign(login);
  return { status: response.status, ok: response.ok, text: response.ok ? await response.text() : "" };
}

/**
 * Post to an address without data. Each request needs a source element of its own: of several requests from one
 * element htmx delays the second and drops the third.
 * @param {string} url
 * @param {HTMLElement} source
 */
export function postFrom(url, source) {
  return htmx.ajax("POST", url, { source, swap: "none" });
}

/**
 * Return the text to show for a failed request. It is empty where the response triggers a toast itself; an HTML
 * error page is replaced by a general sentence.
 * @param {XMLHttpRequest} xhr
 */
export function getErrorText(xhr) {
  if (xhr.getResponseHeader("HX-Trigger")?.includes('"toast"')) return "";
  const type = xhr.getResponseHeader("Content-Type") ?? "";
  const isHtml = type.includes("html") && /<\w/.test(xhr.responseText);
  return (!isHtml && xhr.responseText.trim()) || getText("failed");
}
