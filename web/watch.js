"use strict";
/* A training under way: its losses, the latent histograms of some data, and samples as the model draws them now. */

const WATCH_MS = 500;
const CURVES = ["#1f5fbf", "#c4570c", "#1d7a43", "#8a3fb0", "#a61b1b", "#5b6168"];
const DARK_CURVES = ["#86b4ff", "#ffad6b", "#7fd6a0", "#d6a5f0", "#ff9c9c", "#b6bec6"];
const curveColour = (k) => (isDark() ? DARK_CURVES : CURVES)[k % CURVES.length];

class Curves {
  constructor(label) {
    this.plot = new Plot({ label, height: 0.55, side: false, focusable: false });
    this.plot.draw = () => this.draw();
    this.legend = element("ul", { class: "legend" });
    this.root = element("div", { class: "plot" }, this.plot.canvas, this.legend);
    this.series = [];
  }
  /* series: [{name, values}], a value for each epoch, null where there is none */
  show(series) {
    this.series = series.filter(({ values }) => values.some(Number.isFinite));
    this.legend.replaceChildren(...this.series.map(({ name, values }, k) => {
      const mark = element("i", { class: "line" }), last = values.filter(Number.isFinite).pop();
      mark.style.background = curveColour(k);
      return element("li", {}, mark, `${name} ${shown(last)}`);
    }));
    this.draw();
  }
  draw() {
    const p = this.plot, all = this.series.flatMap(({ values }) => values.filter(Number.isFinite));
    if (!all.length) return;
    p.begin();
    p.x = [0.5, Math.max(2, ...this.series.map(({ values }) => values.length)) + 0.5];
    p.y = extent(all, all.length > 20 ? 0.01 : 0); /* the first epochs may be far off */
    p.names = ["epoch", ""];
    this.series.forEach(({ values }, k) => p.inside((c) => {
      c.strokeStyle = curveColour(k);
      c.lineWidth = 1.6;
      c.beginPath();
      values.forEach((v, e) => { if (Number.isFinite(v)) c.lineTo(p.px(e + 1), p.py(v)); });
      c.stroke();
    }));
    p.drawAxes();
  }
}

class WatchView {
  constructor() {
    this.root = element("div", { class: "stack" });
    this.looks = -1;
    this.told = null;
  }
  async open() {
    this.words = element("p", { role: "status" });
    this.bar = element("progress", { max: 1, value: 0, "aria-label": "This phase" });
    this.loss = new Curves("Loss of each epoch");
    this.terms = new Curves("Parts of the loss");
    this.ks = new Curves("Latent histograms against the normal distribution");
    this.histograms = element("div", { class: "histograms" });
    this.samples = element("div", { class: "planes" });
    this.root.append(element("section", { class: "panel" }, element("h2", { text: "Training" }), this.words, this.bar),
      element("div", { class: "planes" },
        element("section", { class: "panel" }, element("h2", { text: "Loss, nats" }), this.loss.root),
        element("section", { class: "panel" }, element("h2", { text: "Its parts, and what is watched beside them" }), this.terms.root),
        element("section", { class: "panel" }, element("h2", { text: "Latent histograms of data" }),
          element("p", { class: "small muted", text: "Bars: z of rows of the data; line: the normal density that they should follow." }), this.histograms),
        element("section", { class: "panel" }, element("h2", { text: "Their distance to the normal distribution (KS)" }), this.ks.root)),
      element("section", { class: "panel" }, element("h2", { text: "Samples of the model as it is now" }), this.samples));
    byId("command-label").hidden = true;
    byId("copy").hidden = true;
    this.poll();
  }
  close() { this.closed = true; }

  async poll() {
    while (!this.closed) {
      try {
        this.show(await ask("watch"));
      } catch {
        this.words.textContent += this.told && !this.ended ? " — the training has ended, or was stopped; jointflow explore shows its model." : "";
        this.ended = true;
        return;
      }
      await new Promise((done) => setTimeout(done, WATCH_MS));
    }
  }

  show(told) {
    const began = performance.now(), [loss, seconds, left] = told.progress;
    this.told = told;
    this.words.textContent = told.epoch ? `${told.title}: ${told.phase}, epoch ${told.epoch} of ${told.epochs}, batch ${told.batch} of ${told.batches}; loss ${shown(loss)}; ` +
      `${duration(seconds)} so far, at most ${duration(left)} to go` : `${told.title}: about to begin`;
    this.bar.value = told.epochs ? (told.epoch - 1 + told.batch / Math.max(told.batches, 1)) / told.epochs : 0;
    if (told.history.length !== this.epochs) this.showHistory(told);
    if (told.looks !== this.looks && told.look) this.showLook(told.look);
    this.looks = told.looks;
    document.documentElement.dataset.ms = (performance.now() - began).toFixed(1);
  }

  showHistory(told) {
    const { history } = told, column = (k) => history.map((row) => row.terms[k]);
    this.epochs = history.length;
    this.loss.show([{ name: "training", values: column(0) }, { name: "held out", values: history.map((row) => row.held_out) }]);
    this.terms.show(told.term_names.map((name, k) => ({ name, values: column(k) })).slice(1));
    this.ks.show([{ name: "median", values: history.map((row) => row.ks[0]) }, { name: "worst", values: history.map((row) => row.ks[1]) }]);
  }

  showLook(look) {
    this.look = look;
    this.drawn = [];
    this.histograms.replaceChildren(...look.histograms.map((bins, k) => this.latentPlot(bins, look.histograms.length > 1 || look.dim_x === 1 ? "z" + k : "all of z")));
    this.samples.replaceChildren(...look.samples.map((one) => this.samplePlot(one, look)));
    this.drawn.forEach((plot) => plot.redraw());
  }

  latentPlot(bins, name) {
    const plot = new Plot({ label: "Histogram of " + name, height: 0.7, side: false, axes: false, focusable: false });
    const total = bins.reduce((a, b) => a + b, 0) || 1, density = bins.map((v) => (v / total) * (bins.length / 8));
    plot.x = [-4, 4];
    plot.draw = () => {
      plot.begin();
      plot.y = [0, Math.max(0.45, ...density) * 1.05];
      plot.inside((c) => {
        const step = (plot.box.r - plot.box.l) / bins.length;
        c.fillStyle = colour("accent");
        c.globalAlpha = 0.55;
        density.forEach((v, k) => c.fillRect(plot.box.l + k * step, plot.py(v), step - 0.5, plot.box.b - plot.py(v)));
        c.globalAlpha = 1;
        c.strokeStyle = colour("ink");
        c.beginPath();
        for (let k = 0; k <= 80; k++) c.lineTo(plot.px(-4 + k / 10), plot.py(normal(-4 + k / 10)));
        c.stroke();
      });
      plot.drawAxes();
    };
    (this.drawn ||= []).push(plot);
    return element("figure", { class: "plot" }, plot.canvas, element("figcaption", { text: name }));
  }

  samplePlot(one, look) {
    const name = one.class || (one.y.length ? "y = " + one.y.slice(0, 4).map((v) => shown(v)).join(", ") : "x");
    if (one.images) {
      const grid = element("div", { class: "grid" }), images = unpacked(one.images);
      for (let k = 0; k < images.count; k++) { const canvas = element("canvas", { role: "img", "aria-label": `${name}, sample ${k + 1}` }); drawImage(canvas, images, k); grid.append(canvas); }
      return element("figure", {}, grid, element("figcaption", { text: name }));
    }
    const plot = new Plot({ label: `${one.n} samples at ${name}`, height: 0.75, side: false, focusable: false }), points = Float64Array.from(one.x);
    const dim = look.dim_x, all = look.samples.flatMap((s) => s.x), second = Math.min(1, dim - 1);
    plot.x = extent(columnOf(all, dim, 0), 0.005);
    plot.y = extent(columnOf(all, dim, second), 0.005);
    plot.names = ["x0", dim > 1 ? "x1" : ""];
    plot.draw = () => {
      plot.begin();
      if (dim > 1) plot.dots(points, dim, 0, 1, { paint: colour("accent") });
      else { plot.noY = true; plot.bars(points, { paint: colour("accent") }); }
      plot.drawAxes();
    };
    (this.drawn ||= []).push(plot);
    return element("figure", { class: "plot" }, plot.canvas, element("figcaption", { text: name }));
  }

  redraw() { [this.loss, this.terms, this.ks].forEach((curves) => curves.draw()); if (this.look) this.showLook(this.look); }
  content() { return { model: this.told ? this.told.title : "training", ...(this.told || {}) }; }
}

function duration(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "–";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${shown(seconds / 3600, 2)} h`;
}
