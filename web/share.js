"use strict";
/* The page as one file: pictures in the place of plots, words, and the samples as JSON; nothing in it runs or asks. */

async function inlineStyle() {
  const answer = await fetch("style.css");
  return answer.text();
}

/* Copies do not have what canvases show and what was typed. */
function freeze(from, to) {
  const live = from.querySelectorAll("canvas"), dead = to.querySelectorAll("canvas");
  live.forEach((canvas, k) => {
    if (!canvas.width || !canvas.height) { dead[k].remove(); return; }
    const picture = document.createElement("img");
    picture.src = canvas.toDataURL("image/png");
    picture.alt = canvas.getAttribute("aria-label") || "";
    picture.className = canvas.className;
    picture.setAttribute("width", String(canvas.clientWidth));
    picture.setAttribute("height", String(canvas.clientHeight));
    dead[k].replaceWith(picture);
  });
  const fields = from.querySelectorAll("input, select"), copies = to.querySelectorAll("input, select");
  fields.forEach((field, k) => {
    const copy = copies[k];
    copy.setAttribute("disabled", "");
    if (field.type === "checkbox") copy.toggleAttribute("checked", field.checked);
    else if (field.tagName === "SELECT") [...copy.options].forEach((o) => o.toggleAttribute("selected", o.value === field.value));
    else copy.setAttribute("value", field.value);
  });
  to.querySelectorAll("button").forEach((button) => button.setAttribute("disabled", ""));
  to.querySelectorAll("script, link, noscript, .skip, #actions").forEach((part) => part.remove());
}

async function pageAsFile(view) {
  const copy = document.documentElement.cloneNode(true);
  freeze(document, copy);
  const style = document.createElement("style");
  style.textContent = (await inlineStyle()) + "\n.plot img { width: 100%; height: auto; }\n.strip { height: 22px; }\n" +
    ".grid img, .large img, .thumb img { width: 100%; height: auto; aspect-ratio: 1; image-rendering: pixelated; }\n";
  copy.querySelector("head").append(style);
  const data = document.createElement("script");
  data.type = "application/json";
  data.id = "samples";
  data.textContent = JSON.stringify({ state: location.hash.slice(1), ...view.content() }).replace(/</g, "\\u003c");
  copy.querySelector("body").append(data);
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  copy.querySelector("meta[charset]").after(policy);
  return "<!doctype html>\n" + copy.outerHTML + "\n";
}

async function savePage(view) {
  const text = await pageAsFile(view), link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = "jointflow-" + (view.content().model || "page").replace(/[^\w.-]+/g, "-") + ".html";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  return text;
}
