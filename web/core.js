"use strict";
/* What all parts share: elements, numbers as text, questions to the program, and the state in the address. */

/* element("button", {type: "button", text: "Go", on: {click: go}}, child, ...) */
function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") made.textContent = value;
    else if (key === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/* A number for people: four digits, without the noise of floats. */
function shown(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(digits - 2, 1)).replace("e+", "e").replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/* A path as a shell reads it back, which is no option to the program. */
function shellPath(path) {
  const word = path.startsWith("-") ? "./" + path : path;
  return /^[\w./=,:+@%-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/* ---- questions to the program ---- */

function showFailure(words) {
  const place = byId("failure");
  place.hidden = !words;
  place.textContent = words || "";
}

async function ask(name, question = {}) {
  const answer = await fetch("api/" + name, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error || "status " + answer.status);
  return told;
}

/* Questions of one kind follow each other; of those that wait only the last one is asked. What has been overtaken is not
 * answered at all. */
class Channel {
  constructor(name) {
    this.name = name;
    this.busy = false;
    this.waiting = null;
  }
  ask(question, then, failed = (error) => showFailure(error.message)) {
    this.waiting = { question, then, failed };
    if (!this.busy) this.run();
  }
  cancel() {
    this.waiting = null;
    this.dropped = true;
  }
  async run() {
    this.busy = true;
    while (this.waiting) {
      const { question, then, failed } = this.waiting;
      this.waiting = null;
      this.dropped = false;
      try {
        const answer = await ask(this.name, question);
        if (!this.dropped) then(answer);
      } catch (error) {
        if (!this.dropped) failed(error instanceof TypeError ? new Error("jointflow does not answer; was it ended?") : error);
      }
    }
    this.busy = false;
  }
}

/* ---- the state, which is the part of the address after # ---- */

const numbersOf = (text) => (text ? text.split(",").map(Number).filter(Number.isFinite) : []);

class State {
  constructor(text) {
    this.values = new URLSearchParams(text.replace(/^#/, ""));
  }
  text(name, otherwise = "") {
    return this.values.get(name) ?? otherwise;
  }
  whole(name, lo, hi, otherwise) {
    const value = Number(this.values.get(name) ?? NaN);
    return Number.isInteger(value) && value >= lo && value <= hi ? value : otherwise;
  }
  real(name, lo, hi, otherwise) {
    const value = Number(this.values.get(name) ?? NaN);
    return Number.isFinite(value) && value >= lo && value <= hi ? value : otherwise;
  }
  numbers(name, count, otherwise) {
    const found = numbersOf(this.values.get(name));
    return found.length === count ? found : otherwise;
  }
  flag(name, otherwise) {
    return this.values.has(name) ? this.values.get(name) === "1" : otherwise;
  }
  /* Seeds go to 2^64 - 1, beyond what numbers hold: they stay text. */
  seed() {
    const found = this.values.get("seed") ?? "0";
    return /^[0-9]{1,20}$/.test(found) && BigInt(found) < 2n ** 64n ? found : "0";
  }
  set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) this.values.delete(name);
      else if (Array.isArray(value)) this.values.set(name, value.map((v) => Number(v.toPrecision(10))).join(","));
      else this.values.set(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
    }
    clearTimeout(this.timer); /* browsers allow so many changes of an address in a time */
    this.timer = setTimeout(() => this.write(), 150);
  }
  write() {
    clearTimeout(this.timer);
    const text = this.values.toString().replace(/%2C/g, ",");
    if ("#" + text !== location.hash) history.replaceState(null, "", "#" + text);
  }
}

/* How long it took from the hand to the screen, for those who want to know. */
function tellTime(began, what) {
  const ms = performance.now() - began;
  byId("status").textContent = `${what}, drawn in ${Math.max(1, Math.round(ms))} ms`;
  document.documentElement.dataset.ms = ms.toFixed(1);
}
