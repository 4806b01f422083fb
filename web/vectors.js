"use strict";
/* Models of vectors: samples of p(x | y) and their latent points, side by side and linked. */

/* How many of the rows of the data are drawn behind samples at a y that is a number: those with the nearest y. */
const nearRows = (rows) => Math.min(rows, Math.max(30, Math.round(rows / 16)));

class VectorView {
  constructor(model, index, state) {
    this.model = model;
    this.index = index;
    this.state = state;
    this.asked = new Channel("sample");
    this.askedDensity = new Channel("density");
    this.askedDecode = new Channel("decode");
    this.askedEncode = new Channel("encode");
    this.y = state.numbers("y", model.classes.length ? 1 : model.dim_y, firstCondition(model));
    this.n = state.whole("n", 1, Math.min(20000, Math.floor(400000 / model.dim_x)), Math.min(2000, Math.floor(400000 / model.dim_x)));
    this.seed = state.seed();
    this.temperature = state.real("temperature", 0, 100, 1);
    this.show = { density: state.flag("density", true), data: state.flag("data", true), hues: state.flag("hues", true) };
    const last = model.dim_x - 1, axes = state.numbers("axes", 2, [0, Math.min(1, last)]);
    this.axes = axes.every((a) => Number.isInteger(a) && a >= 0 && a <= last) ? axes : [0, Math.min(1, last)];
    this.picked = state.whole("pick", 0, 1e6, null);
    this.ranges = new Map(); /* of each coordinate of x */
    this.root = element("div", { class: "layout" });
  }

  async open() {
    this.data = this.model.data_rows ? await ask("data", { model: this.index }) : null;
    if (this.data) { this.data.x = Float64Array.from(this.data.x); this.data.y = Float64Array.from(this.data.y); }
    this.build();
    this.draw();
  }
  close() {
    this.closed = true;
    if (this.lines) this.lines.stop();
    for (const channel of [this.asked, this.askedDensity, this.askedDecode, this.askedEncode]) channel.cancel();
  }

  /* ---- the page ---- */

  build() {
    const one = this.model.dim_x === 1;
    this.condition = new Condition(this.model, this.data, this.y.slice(), (y) => {
      this.y = y;
      if (this.lines) this.lines.stop();
      this.draw();
    });
    this.trust = new Trust(this.model, this.index);
    this.plotX = new Plot({ label: "Samples of x", side: !one });
    this.plotZ = new Plot({ label: "Latent points z", side: !one });
    this.plotX.draw = () => this.drawX();
    this.plotZ.draw = () => this.drawZ();
    this.readout = element("p", { class: "readout number", role: "status" });
    this.listen(this.plotX, "x");
    this.listen(this.plotZ, "z");
    this.lines = new Lines(this);
    this.legendX = element("ul", { class: "legend" });
    this.legendZ = element("ul", { class: "legend" });
    const planes = element("div", { class: "planes" },
      element("section", { class: "panel plot" }, element("h2", { text: this.model.dim_y ? "Samples of p(x | y)" : "Samples of p(x)" }), this.plotX.canvas, this.legendX),
      element("section", { class: "panel plot" }, element("h2", { text: "Their latent points z" }), this.plotZ.canvas, this.legendZ));
    const right = element("div", { class: "stack answers" }, this.trust.warning, planes,
      element("section", { class: "panel" }, element("h2", { text: "Picked" }), this.readout));
    if (this.model.dim_x > 2) right.append((this.corner = new Corner(this)).root);
    right.append(this.trust.root);
    this.root.append(element("div", { class: "condition" }, this.condition.root), right,
      element("div", { class: "stack controls" }, this.samplesPanel(), this.lines.root));
  }

  samplesPanel() {
    const redraw = (change) => { Object.assign(this, change); this.lines.stop(); this.draw(); };
    const seed = seedField(this.seed, (text) => redraw({ seed: text }));
    const fields = element("div", { class: "fields" },
      ...numberField({ name: "Points", value: this.n, lo: 1, hi: Math.min(20000, Math.floor(400000 / this.model.dim_x)), changed: (n) => redraw({ n }) }),
      seed.label, seed.input,
      ...numberField({ name: "Temperature", value: this.temperature, lo: 0, hi: 100, step: 0.05, changed: (temperature) => redraw({ temperature }) }));
    if (this.model.dim_x > 1) fields.append(...this.axisChoice(0, "Across"), ...this.axisChoice(1, "Up"));
    const toggle = (name) => (on) => { this.show[name] = on; this.draw(); };
    return panel("Samples", fields, element("div", { class: "row" }, seed.next),
      element("div", {}, checkBox("Density", this.show.density, toggle("density")),
        this.data ? checkBox("Data", this.show.data, toggle("data")) : null,
        this.model.dim_x > 1 ? checkBox("Colour by the angle of z", this.show.hues, toggle("hues")) : null),
      this.data ? null : element("p", { class: "small muted", text: "No data behind them: " + this.model.no_data }));
  }

  axisChoice(which, name) {
    const id = "axis-" + which;
    const select = element("select", { id, on: { change: () => this.setAxis(which, Number(select.value)) } },
      ...this.model.x_names.map((text, k) => element("option", { value: k, text, selected: k === this.axes[which] })));
    (this.axisSelects ||= [])[which] = select;
    return [element("label", { for: id, text: name }), select];
  }
  setAxis(which, k) {
    this.axes[which] = k;
    this.axisSelects.forEach((select, w) => { select.value = this.axes[w]; });
    this.draw();
  }

  /* ---- asking ---- */

  question() { return { model: this.index, y: this.y, n: this.n, seed: this.seed, temperature: this.temperature }; }

  draw() {
    const began = performance.now();
    this.remember();
    this.ghost = null;
    this.asked.ask(this.question(), (answer) => {
      if (this.closed) return;
      showFailure("");
      this.x = Float64Array.from(answer.x);
      this.z = Float64Array.from(answer.z);
      this.drawnAt = this.y.slice();
      if (this.picked !== null && this.picked >= answer.n) this.picked = null;
      this.trust.show(answer);
      this.findNearData();
      this.findHues();
      this.growRanges();
      this.redraw();
      tellTime(began, `${answer.n.toLocaleString("en")} samples`);
      this.askDensity();
    });
  }

  remember() {
    this.state.set({ m: this.index, y: this.model.dim_y ? this.y : null, n: this.n, seed: this.seed,
      temperature: this.temperature === 1 ? null : this.temperature, axes: this.model.dim_x > 1 ? this.axes : null,
      density: this.show.density ? null : false, data: this.show.data ? null : false, hues: this.show.hues ? null : false,
      pick: this.picked });
    byId("command").textContent = this.command();
  }

  command() {
    const number = (v) => String(Number(v.toPrecision(10)));
    return `jointflow sample ${shellPath(this.model.call)}` + (this.model.dim_y ? ` -y ${this.y.map(number).join(",")}` : "") + ` -n ${this.n} --seed ${this.seed}` +
      (this.temperature !== 1 ? ` --temperature ${number(this.temperature)}` : "") + " --with-z";
  }

  /* Exact where x has one or two coordinates; of more the density of a pair is that of the points. */
  askDensity() {
    if (!this.show.density || this.model.dim_x > 2) return;
    const range = this.model.dim_x > 1 ? [...this.rangeOf(0), ...this.rangeOf(1)] : this.rangeOf(0);
    this.askedDensity.ask({ model: this.index, y: this.y, range, size: this.model.dim_x > 1 ? 56 : 120 }, (density) => {
      if (this.closed) return;
      this.density = density;
      this.density.y = this.y.slice();
      this.plotX.redraw();
    }, () => { this.density = null; });
  }

  /* ---- what is drawn ---- */

  findNearData() {
    if (!this.data) { this.near = null; return; }
    const { dim_x, dim_y, classes, y_range } = this.model, rows = this.data.rows, far = [];
    for (let r = 0; r < rows; r++) {
      let d = 0;
      for (let i = 0; i < dim_y; i++) {
        const scale = classes.length || !y_range ? 1 : y_range[i][1] - y_range[i][0] || 1;
        d += ((this.data.y[r * dim_y + i] - this.y[classes.length ? 0 : i]) / scale) ** 2;
      }
      far.push(d);
    }
    const order = far.map((_, r) => r);
    const chosen = dim_y === 0 ? order : classes.length ? order.filter((r) => far[r] === 0)
      : order.sort((a, b) => far[a] - far[b]).slice(0, nearRows(rows));
    this.near = new Float64Array(chosen.length * dim_x);
    chosen.forEach((r, k) => this.near.set(this.data.x.subarray(r * dim_x, (r + 1) * dim_x), k * dim_x));
  }

  findHues() {
    const dim = this.model.dim_x, [i, j] = this.axes;
    this.hues = null;
    if (!this.show.hues || dim < 2) return;
    this.hues = new Uint8Array(this.x.length / dim);
    for (let k = 0; k < this.hues.length; k++) this.hues[k] = hueOf(this.z[k * dim + i], this.z[k * dim + j]);
  }

  /* Ranges hold still while y moves: they grow where samples leave them, and never shrink. */
  growRanges() {
    const dim = this.model.dim_x;
    for (let i = 0; i < dim; i++) {
      const found = extent(columnOf(this.x, dim, i), 0.003);
      const before = this.ranges.get(i) || (this.data ? extent(columnOf(this.data.x, dim, i), 0.001) : found);
      const span = before[1] - before[0];
      this.ranges.set(i, [found[0] < before[0] - 0.04 * span ? found[0] : before[0], found[1] > before[1] + 0.04 * span ? found[1] : before[1]]);
    }
  }
  rangeOf(i) { return this.ranges.get(i); }

  redraw() {
    this.drawX();
    this.drawZ();
    if (this.corner) this.corner.redraw();
    this.tellPicked();
    this.tellPlots();
  }

  frame() { return this.lines && this.lines.frame(); }

  drawX() {
    if (!this.x) return;
    const p = this.plotX, dim = this.model.dim_x, [i, j] = this.axes, frame = this.frame(), points = frame ? frame.x : this.x;
    p.begin();
    p.x = this.rangeOf(i);
    p.names = [this.model.x_names[i], dim > 1 ? this.model.x_names[j] : ""];
    if (dim === 1) {
      p.noY = true;
      const behind = this.show.data && this.near && this.near.length ? histogram(this.near, ...p.x, 60) : null;
      p.bars(points, { paint: colour("accent"), behind, line: this.show.density && !frame ? this.density : null });
      if (this.picked !== null) p.mark(points[this.picked], p.y[1] * 0.03);
      p.drawAxes();
      return;
    }
    p.y = this.rangeOf(j);
    if (this.show.density && !frame) this.drawDensity(p, i, j);
    if (this.show.data && this.near && !frame) p.dots(this.near, dim, i, j, { paint: colour("data"), radius: 2.2, alpha: 0.4 });
    p.dots(points, dim, i, j, { paint: colour("accent"), hues: frame ? frame.hues : this.hues, radius: points.length / dim > 5000 ? 1.1 : 1.6 });
    if (this.ghost && this.ghost.x && !frame) p.mark(this.ghost.x[i], this.ghost.x[j], { hollow: true });
    this.markPicked(p, points, i, j);
    p.drawAxes();
    p.edges(points, dim, i, j, { paint: colour("accent") });
  }

  drawDensity(p, i, j) {
    const range = [...this.rangeOf(i), ...this.rangeOf(j)];
    if (this.model.dim_x > 2) {
      p.heat(smoothed(this.x, this.model.dim_x, i, j, range, 48), 48, 48, range, colour("accent"));
    } else if (this.density && this.density.y.every((v, k) => v === this.y[k])) {
      const { size, p: values } = this.density;
      const turned = i === 0 ? values : values.map((_, k) => values[(k % size) * size + Math.floor(k / size)]);
      p.heat(turned, size, size, range, colour("accent"));
    }
  }

  drawZ() {
    if (!this.z) return;
    const p = this.plotZ, dim = this.model.dim_x, [i, j] = this.axes, frame = this.frame(), points = frame ? frame.z : this.z;
    p.begin();
    p.x = [-3.8, 3.8];
    p.names = ["z" + i, dim > 1 ? "z" + j : ""];
    if (dim === 1) {
      p.noY = true;
      p.bars(points, { paint: colour("accent"), curve: normal });
      if (this.picked !== null) p.mark(points[this.picked], p.y[1] * 0.03);
      p.drawAxes();
      return;
    }
    p.y = [-3.8, 3.8];
    p.dots(points, dim, i, j, { paint: colour("accent"), hues: frame ? frame.hues : this.hues, radius: points.length / dim > 5000 ? 1.1 : 1.6 });
    p.inside((c) => { /* one, two and three deviations */
      c.strokeStyle = colour("muted");
      c.setLineDash([3, 4]);
      for (const r of [1, 2, 3]) { c.beginPath(); c.ellipse(p.px(0), p.py(0), p.px(r) - p.px(0), p.py(0) - p.py(r), 0, 0, 7); c.stroke(); }
    });
    if (this.ghost && this.ghost.z && !frame) p.mark(this.ghost.z[i], this.ghost.z[j], { hollow: true });
    this.markPicked(p, points, i, j);
    p.drawAxes();
    p.edges(points, dim, i, j, { paint: colour("accent"), curve: normal });
  }

  markPicked(p, points, i, j) {
    const dim = this.model.dim_x;
    if (this.picked !== null && this.picked < points.length / dim) p.mark(points[this.picked * dim + i], points[this.picked * dim + j]);
  }

  /* What the plots show, for those who do not see them. */
  tellPlots() {
    const dim = this.model.dim_x, n = this.x.length / dim;
    const about = (values) => {
      let sum = 0, squares = 0;
      for (const v of values) sum += v;
      for (const v of values) squares += (v - sum / values.length) ** 2;
      return `mean ${shown(sum / values.length, 3)}, deviation ${shown(Math.sqrt(squares / values.length), 3)}`;
    };
    const columns = dim > 1 ? this.axes : [0];
    const words = (points, names) => columns.map((i) => `${names(i)}: ${about(columnOf(points, dim, i))}`).join("; ");
    const at = this.model.dim_y ? ` at y = ${this.y.map((v) => shown(v)).slice(0, 6).join(", ")}` : "";
    const keys = dim > 1 ? ". Arrow keys pick a point." : ".";
    this.plotX.canvas.setAttribute("aria-label", `${n} samples of x${at}. ${words(this.x, (i) => this.model.x_names[i])}${keys}`);
    this.plotZ.canvas.setAttribute("aria-label", `Latent points of the samples. ${words(this.z, (i) => "z" + i)}${keys}`);
    const items = [["accent", "samples" + (this.hues ? ", coloured by the angle of z" : "")]];
    if (this.show.data && this.near) items.push(["data", this.dataWords()]);
    this.legendX.replaceChildren(...items.map(([name, text]) => legendItem(name, text)),
      ...(this.show.density ? [element("li", { text: dim > 2 ? "shade: density of the samples" : dim > 1 ? "shade: density of the model" : "line: density of the model" })] : []));
    this.legendZ.replaceChildren(element("li", { text: dim > 1 ? "rings: 1, 2 and 3 deviations; lines along the edges: the normal density" : "line: the normal density" }));
  }
  dataWords() {
    const rows = this.near.length / this.model.dim_x;
    if (this.model.classes.length) return rows ? `${rows} rows of the data of this class` : "no data have this y";
    return this.model.dim_y ? `${rows} rows of the data with the nearest y` : `${rows} rows of the data`;
  }

  /* ---- picking, linked both ways ---- */

  listen(plot, which) {
    const at = (event) => { const r = plot.canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
    plot.canvas.addEventListener("pointermove", (event) => {
      if (!this.x || this.frame()) return;
      this.pick(this.nearest(plot, which, ...at(event), 14));
      this.askGhost(plot, which, ...at(event));
    });
    plot.canvas.addEventListener("pointerdown", (event) => {
      if (this.x && !this.frame()) this.pick(this.nearest(plot, which, ...at(event), 30), true);
    });
    plot.canvas.addEventListener("pointerleave", () => {
      this.ghost = null;
      this.pick(this.pinned ?? null);
    });
    plot.canvas.addEventListener("keydown", (event) => this.step(plot, which, event));
  }

  nearest(plot, which, px, py, within) {
    const points = which === "x" ? this.x : this.z, dim = this.model.dim_x, [i, j] = this.axes;
    let best = null, least = within * within;
    for (let k = 0; k < points.length / dim; k++) {
      const dx = plot.px(points[k * dim + i]) - px, dy = dim > 1 ? plot.py(points[k * dim + j]) - py : 0;
      if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = k; }
    }
    return best;
  }

  pick(k, pin = false) {
    if (pin) { this.pinned = k; this.picked = k; this.remember(); }
    else if (k === this.picked && !this.ghost) return;
    this.picked = k ?? this.pinned ?? null;
    this.drawX();
    this.drawZ();
    if (this.corner) this.corner.redraw();
    this.tellPicked();
  }

  /* Arrow keys: the nearest point in that direction. Escape lets go. */
  step(plot, which, event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Escape") { this.pinned = null; this.picked = null; this.pick(null, true); return; }
    if (!ways[event.key] || !this.x) return;
    event.preventDefault();
    const points = which === "x" ? this.x : this.z, dim = this.model.dim_x, [i, j] = this.axes, [wx, wy] = ways[event.key];
    const place = (k) => [plot.px(points[k * dim + i]), dim > 1 ? plot.py(points[k * dim + j]) : 0];
    if (this.picked === null) { this.pick(0, true); return; }
    const [x, y] = place(this.picked);
    let best = null, least = Infinity;
    for (let k = 0; k < points.length / dim; k++) {
      const [a, b] = place(k), ahead = (a - x) * wx + (b - y) * wy, aside = Math.abs((a - x) * wy) + Math.abs((b - y) * wx);
      if (k !== this.picked && ahead > 0.01 && ahead + 2 * aside < least) { least = ahead + 2 * aside; best = k; }
    }
    if (best !== null) this.pick(best, true);
  }

  /* The point under the mouse itself, through the map. */
  askGhost(plot, which, px, py) {
    const dim = this.model.dim_x;
    if (!plot.holds(px, py) || dim > 2) { this.ghost = null; return; }
    const [a, b] = plot.valueAt(px, py), given = dim > 1 ? [0, 0] : [a];
    if (dim > 1) { given[this.axes[0]] = a; given[this.axes[1]] = b; }
    const channel = which === "z" ? this.askedDecode : this.askedEncode;
    channel.ask({ model: this.index, y: this.y, [which]: given }, (answer) => {
      if (this.closed) return;
      this.ghost = which === "z" ? { z: given, x: answer.x } : { x: given, z: answer.z };
      this.drawX();
      this.drawZ();
      this.tellPicked();
    }, () => { this.ghost = null; });
  }

  tellPicked() {
    const dim = this.model.dim_x;
    const list = (values, names) => Array.from(values).slice(0, 12).map((v, i) => `${names(i)} = ${shown(v, 6)}`).join(", ") + (values.length > 12 ? ", …" : "");
    const lines = [];
    if (this.picked !== null && this.x && this.picked < this.x.length / dim) {
      const from = this.picked * dim;
      lines.push(`Sample ${this.picked + 1}: ${list(this.x.slice(from, from + dim), (i) => this.model.x_names[i])}; ${list(this.z.slice(from, from + dim), (i) => "z" + i)}`);
    }
    if (this.ghost) lines.push(`Under the mouse: ${list(this.ghost.z, (i) => "z" + i)} ↔ ${list(this.ghost.x, (i) => this.model.x_names[i])}`);
    this.readout.textContent = lines.join(" · ") || "Point at a sample in either plane, or focus one and use the arrow keys; a click keeps it.";
  }

  /* What is on screen, for saving. */
  content() {
    return { model: this.model.name, y: this.y, n: this.n, seed: this.seed, temperature: this.temperature,
      x_names: this.model.x_names, x: Array.from(this.x || []), z: Array.from(this.z || []) };
  }
}

function legendItem(name, text) {
  const dot = element("i");
  dot.style.background = `var(--${name})`;
  return element("li", {}, dot, text);
}

/* ---- more than two coordinates ---- */

class Corner {
  constructor(view) {
    this.view = view;
    const { dim_x, x_names } = view.model;
    const first = view.state.text("corner") ? numbersOf(view.state.text("corner")).filter((k) => Number.isInteger(k) && k >= 0 && k < dim_x) : [];
    this.chosen = first.length > 1 ? first.slice(0, 6) : Array.from({ length: Math.min(dim_x, 4) }, (_, k) => k);
    this.grid = element("div", { class: "corner" });
    const boxes = x_names.slice(0, 24).map((name, k) => checkBox(name, this.chosen.includes(k), (on) => this.choose(k, on)));
    this.root = element("section", { class: "panel" }, element("h2", { text: "All pairs" }),
      element("p", { class: "small muted", text: "A click on a panel shows that pair above. At most six coordinates." }), element("div", {}, ...boxes), this.grid);
    this.build();
  }
  choose(k, on) {
    const more = on ? [...this.chosen, k].sort((a, b) => a - b) : this.chosen.filter((c) => c !== k);
    if (more.length < 2 || more.length > 6) { this.root.querySelectorAll("input")[k].checked = !on; return; }
    this.chosen = more;
    this.view.state.set({ corner: this.chosen });
    this.build();
    this.redraw();
  }
  build() {
    const count = this.chosen.length;
    this.grid.style.gridTemplateColumns = `repeat(${count}, minmax(0, 1fr))`;
    this.panels = [];
    this.grid.replaceChildren();
    for (let r = 0; r < count; r++)
      for (let k = 0; k < count; k++) {
        if (k > r) { this.grid.append(element("span")); continue; }
        const i = this.chosen[k], j = this.chosen[r], names = this.view.model.x_names;
        const plot = new Plot({ label: k === r ? "Histogram of " + names[i] : `${names[j]} against ${names[i]}`, height: 1, side: false, axes: false, focusable: false });
        if (k < r) plot.canvas.addEventListener("click", () => { this.view.axes = [i, j]; this.view.setAxis(0, i); });
        this.panels.push({ plot, i, j });
        this.grid.append(element("div", {}, plot.canvas, element("span", { class: "small muted", text: k === r ? names[i] : `${names[j]} against ${names[i]}` })));
        plot.draw = () => this.drawPanel(plot, i, j);
      }
  }
  drawPanel(plot, i, j) {
    const view = this.view, dim = view.model.dim_x;
    if (!view.x) return;
    plot.begin();
    plot.x = view.rangeOf(i);
    if (i === j) {
      const near = view.show.data && view.near ? columnOf(view.near, dim, i) : null;
      plot.bars(columnOf(view.x, dim, i), { paint: colour("accent"), behind: near && near.length ? histogram(near, ...plot.x, 60) : null });
    } else {
      plot.y = view.rangeOf(j);
      if (view.show.data && view.near) plot.dots(view.near, dim, i, j, { paint: colour("data"), radius: 1.3, alpha: 0.5 });
      plot.dots(view.x, dim, i, j, { paint: colour("accent"), hues: view.hues, radius: 0.9, alpha: 0.6 });
      if (view.picked !== null) plot.mark(view.x[view.picked * dim + i], view.x[view.picked * dim + j]);
    }
    plot.drawAxes();
  }
  redraw() { this.panels.forEach(({ plot }) => plot.redraw()); }
}
