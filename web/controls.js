"use strict";
/* The condition and what else is chosen by hand. */

/* A panel with a heading. */
function panel(title, ...children) {
  return element("section", { class: "panel" }, element("h2", { text: title }), ...children);
}

/* One element of y: a slider whose strip shows how many rows of the data lie where, hatched beyond them, and a field for
 * numbers. `range` of the data; the slider goes a quarter further on both sides. places: the only values that the data have. */
function slider({ name, range, values, value, changed, places = null }) {
  const [lo, hi] = range, span = hi - lo || 1, ends = [lo - span / 4, hi + span / 4];
  const rounded = (v) => shown(Math.abs(v) < span / 1e4 ? 0 : v);
  const id = "y-" + Math.random().toString(36).slice(2);
  const strip = element("canvas", { class: "strip", "aria-hidden": "true" });
  const knob = element("input", { type: "range", id, min: ends[0], max: ends[1], step: (ends[1] - ends[0]) / 1000,
                                  "aria-describedby": id + "-ends" });
  const field = element("input", { type: "number", step: "any", "aria-label": name + ", as a number" });
  const tell = (v) => {
    field.value = Number(v.toPrecision(6));
    knob.setAttribute("aria-valuetext", shown(v) + (isBeyond(v) ? ", outside of the data" : ""));
  };
  knob.addEventListener("input", () => { tell(Number(knob.value)); changed(Number(knob.value)); });
  field.addEventListener("input", () => {
    const v = Number(field.value);
    if (field.value === "" || !Number.isFinite(v)) return;
    knob.value = v;
    changed(v);
  });
  const root = element("div", { class: "slider" }, element("label", { for: id, text: name }), field,
    element("div", { class: "track" }, strip, knob),
    element("div", { class: "ends", id: id + "-ends", text: places ? `data at ${places.map((v) => shown(v)).join(", ")}; hatched: none` : `data from ${rounded(lo)} to ${rounded(hi)}; hatched: outside of them` }));
  const isBeyond = (v) => (places ? !places.includes(v) : v < lo || v > hi);

  const draw = () => {
    const width = strip.clientWidth || 200, height = 22, dots = window.devicePixelRatio || 1;
    strip.width = width * dots;
    strip.height = height * dots;
    const c = strip.getContext("2d"), at = (v) => ((v - ends[0]) / (ends[1] - ends[0])) * width;
    c.scale(dots, dots);
    if (places) {
      hatch(c, 0, width, height);
      for (const v of places) { c.fillStyle = colour("data"); c.fillRect(at(v) - 2, 0, 4, height); }
      return;
    }
    hatch(c, 0, at(lo), height);
    hatch(c, at(hi), width, height);
    if (!values) return;
    const bins = 48, counts = histogram(values, lo, hi + 1e-9 * span, bins), top = Math.max(...counts) || 1;
    c.fillStyle = colour("data");
    counts.forEach((v, k) => {
      const from = at(lo + (span * k) / bins), to = at(lo + (span * (k + 1)) / bins), tall = v ? 2 + (v / top) * (height - 4) : 0;
      c.fillRect(from, height - tall, Math.max(to - from - 0.5, 1), tall);
    });
  };
  new ResizeObserver(draw).observe(strip);
  const set = (v) => { knob.value = v; tell(v); };
  set(value);
  return { root, set, redraw: draw };
}

function hatch(c, from, to, height) {
  c.save();
  c.beginPath();
  c.rect(from, 0, to - from, height);
  c.clip();
  c.strokeStyle = colour("warn-ink");
  c.globalAlpha = 0.45;
  for (let x = from - height; x < to; x += 5) {
    c.beginPath();
    c.moveTo(x, height);
    c.lineTo(x + height, 0);
    c.stroke();
  }
  c.restore();
}

/* The classes of a model as buttons, of which one is pressed where y is its label. */
function classButtons(classes, chosen) {
  const buttons = classes.map((one) => element("button", {
    type: "button", "aria-pressed": "false", text: one.name || "y = " + shown(one.label), "data-label": String(one.label),
    on: { click: () => chosen(one.label) },
  }));
  return {
    root: element("div", { class: "row", role: "group", "aria-label": "Class" }, ...buttons),
    set: (label) => classes.forEach((one, k) => buttons[k].setAttribute("aria-pressed", String(one.label === label))),
  };
}

/* All of y. changed(y) follows every movement. */
class Condition {
  constructor(model, data, y, changed) {
    this.model = model;
    this.data = data;
    this.y = y;
    this.changed = changed;
    this.sliders = [];
    const parts = [];
    if (model.classes.length) {
      this.classes = classButtons(model.classes, (label) => this.set([label]));
      parts.push(this.classes.root);
    }
    const list = element("div", { class: "sliders", tabindex: model.dim_y > 8 ? "0" : null, role: model.dim_y > 8 ? "group" : null,
                                  "aria-label": model.dim_y > 8 ? "Elements of y" : null });
    const count = !model.classes.length ? model.dim_y : model.planes && !model.image ? 0 : 1;
    for (let i = 0; i < count; i++) {
      const name = model.classes.length ? "y, between and beyond the classes" : model.y_names[i];
      const values = data && data.rows ? columnOf(data.y, model.dim_y, i) : null;
      const range = model.y_range ? model.y_range[i] : [y[i] - 2, y[i] + 2];
      const places = model.classes.length ? model.classes.map((c) => c.label) : null;
      const one = slider({ name, range, values, places, value: y[i], changed: (v) => { this.y[i] = v; this.tell(); } });
      this.sliders.push(one);
      list.append(one.root);
    }
    if (count) parts.push(list);
    if (count && data && data.rows && !model.classes.length)
      parts.push(element("button", { type: "button", text: "y of a row of the data", on: { click: () => this.takeRow() } }));
    if (!count && !model.classes.length) parts.push(element("p", { class: "muted", text: "This model has no condition: it draws x alone." }));
    this.root = panel("Condition y", ...parts);
    if (this.classes) this.classes.set(y[0]);
  }
  set(y) {
    this.y = y.slice();
    this.sliders.forEach((one, i) => one.set(y[i]));
    this.tell();
  }
  takeRow() {
    const row = Math.floor(Math.random() * this.data.rows), dim = this.model.dim_y;
    this.set(Array.from(this.data.y.slice(row * dim, (row + 1) * dim)));
  }
  tell() {
    if (this.classes) this.classes.set(this.y[0]);
    this.changed(this.y.slice());
  }
}

const columnOf = (values, dim, column) => {
  const out = new Float64Array(values.length / dim);
  for (let k = 0; k < out.length; k++) out[k] = values[k * dim + column];
  return out;
};

/* y to begin with: the first class, or the middle of the data. */
function firstCondition(model) {
  if (model.classes.length) return [model.classes[0].label];
  return Array.from({ length: model.dim_y }, (_, i) => (model.y_range ? (model.y_range[i][0] + model.y_range[i][1]) / 2 : 0));
}

/* A number with its label; changed only where it is one from lo to hi. */
function numberField({ name, value, lo, hi, step = 1, changed }) {
  const id = "n-" + Math.random().toString(36).slice(2);
  const input = element("input", { type: "number", id, min: lo, max: hi, step, value });
  input.addEventListener("input", () => {
    const v = Number(input.value);
    const good = input.value !== "" && v >= lo && v <= hi && (step !== 1 || Number.isInteger(v));
    input.setAttribute("aria-invalid", String(!good));
    if (good) changed(v);
  });
  return [element("label", { for: id, text: name }), input];
}

function seedField(value, changed) {
  const id = "seed";
  const input = element("input", { type: "text", id, inputmode: "numeric", size: 12, value });
  const take = (text) => {
    const good = /^[0-9]{1,20}$/.test(text) && BigInt(text) < 2n ** 64n;
    input.setAttribute("aria-invalid", String(!good));
    if (good) changed(text);
  };
  input.addEventListener("input", () => take(input.value.trim()));
  const next = element("button", { type: "button", text: "Draw others", on: { click: () => {
    input.value = String((BigInt(/^[0-9]+$/.test(input.value) ? input.value : "0") + 1n) % 2n ** 64n);
    take(input.value);
  } } });
  return { label: element("label", { for: id, text: "Seed" }), input, next };
}

function checkBox(name, checked, changed) {
  const box = element("input", { type: "checkbox", checked, on: { change: () => changed(box.checked) } });
  return element("label", { class: "check" }, box, name);
}
