"use strict";
/* Plots on a canvas: two axes, and layers that are drawn between them. */

/* Round numbers that cut lo .. hi into about `count` parts. */
function ticks(lo, hi, count = 5) {
  const rough = (hi - lo) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(lo / step); k * step <= hi + 1e-9 * step; k++) found.push(k * step);
  return found;
}

/* Both ends of some numbers, a margin beyond them; `share` of the numbers may lie outside of each. */
function extent(values, share = 0, margin = 0.06) {
  const sorted = Float64Array.from(values).sort();
  if (!sorted.length) return [-1, 1];
  const skip = Math.floor(share * sorted.length);
  let lo = sorted[skip], hi = sorted[sorted.length - 1 - skip];
  if (!(hi > lo)) { lo -= 0.5; hi += 0.5; }
  const beyond = margin * (hi - lo);
  return [lo - beyond, hi + beyond];
}

function histogram(values, lo, hi, bins) {
  const counts = new Float64Array(bins);
  let inside = 0;
  for (const value of values) {
    const bin = Math.floor(((value - lo) / (hi - lo)) * bins);
    if (bin >= 0 && bin < bins) { counts[bin]++; inside++; }
  }
  const scale = inside ? bins / (values.length * (hi - lo)) : 0; /* to a density */
  return counts.map((count) => count * scale);
}

const normal = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);

/* Colours of the latent plane: the angle is a hue. */
const HUES = 36;
function hueOf(a, b) {
  return Math.floor(((Math.atan2(b, a) / (2 * Math.PI) + 1) % 1) * HUES) % HUES;
}
function hueColour(hue, dark) {
  return `hsl(${(hue * 360) / HUES} ${dark ? "62% 66%" : "58% 42%"})`;
}
const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

class Plot {
  /* side: margins for histograms along the top and the right edge; axes: false leaves out all text */
  constructor({ label, height = 0.9, side = true, axes = true, focusable = true }) {
    this.canvas = element("canvas", { role: "img", "aria-label": label, tabindex: focusable ? "0" : null });
    this.ratio = height;
    this.side = side;
    this.axes = axes;
    this.x = [-1, 1];
    this.y = [-1, 1];
    this.names = ["", ""];
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  begin() {
    const width = this.canvas.clientWidth || 300, height = Math.round(width * this.ratio);
    const dots = Math.min(window.devicePixelRatio || 1, 3);
    if (this.canvas.width !== Math.round(width * dots) || this.canvas.height !== Math.round(height * dots)) {
      this.canvas.width = Math.round(width * dots);
      this.canvas.height = Math.round(height * dots);
      this.canvas.style.height = height + "px";
    }
    const c = (this.c = this.canvas.getContext("2d"));
    c.setTransform(dots, 0, 0, dots, 0, 0);
    c.clearRect(0, 0, width, height);
    const edge = this.side ? Math.round(Math.min(width, height) * 0.13) : 16;
    this.box = this.axes ? { l: 44, t: edge + 4, r: width - edge - 4, b: height - 34 }
                         : { l: 2, t: 2, r: width - 2, b: height - 2 };
    this.edge = edge;
    c.font = "12px system-ui, sans-serif";
  }

  px(value) { return this.box.l + ((value - this.x[0]) / (this.x[1] - this.x[0])) * (this.box.r - this.box.l); }
  py(value) { return this.box.b - ((value - this.y[0]) / (this.y[1] - this.y[0])) * (this.box.b - this.box.t); }
  valueAt(px, py) {
    return [this.x[0] + ((px - this.box.l) / (this.box.r - this.box.l)) * (this.x[1] - this.x[0]),
            this.y[0] + ((this.box.b - py) / (this.box.b - this.box.t)) * (this.y[1] - this.y[0])];
  }
  holds(px, py) {
    const { l, t, r, b } = this.box;
    return px >= l && px <= r && py >= t && py <= b;
  }

  inside(draw) {
    const { l, t, r, b } = this.box, c = this.c;
    c.save();
    c.beginPath();
    c.rect(l, t, r - l, b - t);
    c.clip();
    draw(c);
    c.restore();
  }

  drawAxes() {
    const c = this.c, { l, t, r, b } = this.box;
    c.strokeStyle = colour("rule");
    c.lineWidth = 1;
    c.strokeRect(l + 0.5, t + 0.5, r - l - 1, b - t - 1);
    if (!this.axes) return;
    c.fillStyle = colour("muted");
    c.textAlign = "center";
    c.textBaseline = "top";
    for (const v of ticks(...this.x, (r - l) / 70)) {
      c.fillRect(Math.round(this.px(v)), b, 1, 4);
      c.fillText(shown(Math.abs(v) < 1e-12 ? 0 : v, 3), this.px(v), b + 6);
    }
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const v of this.noY ? [] : ticks(...this.y, (b - t) / 50)) {
      c.fillRect(l - 4, Math.round(this.py(v)), 4, 1);
      c.fillText(shown(Math.abs(v) < 1e-12 ? 0 : v, 3), l - 7, this.py(v));
    }
    c.fillStyle = colour("ink");
    c.textAlign = "right";
    c.textBaseline = "bottom";
    c.fillText(this.names[0], r, b + 33);
    c.textAlign = "left";
    if (this.names[1]) c.fillText(this.names[1], 2, t - 4);
  }

  /* points: (n, dim) row by row; columns i and j; colours: one, or a function of the point's number */
  dots(points, dim, i, j, { radius = 1.6, alpha = 0.75, paint, hues = null } = {}) {
    const n = points.length / dim, dark = isDark();
    this.inside((c) => {
      c.globalAlpha = alpha;
      for (let hue = 0; hue < (hues ? HUES : 1); hue++) {
        c.fillStyle = hues ? hueColour(hue, dark) : paint;
        c.beginPath();
        for (let k = 0; k < n; k++) {
          if (hues && hues[k] !== hue) continue;
          const x = this.px(points[k * dim + i]), y = this.py(points[k * dim + j]);
          c.moveTo(x + radius, y);
          c.arc(x, y, radius, 0, 7);
        }
        c.fill();
      }
    });
  }

  /* A grid of densities, row by row from the lowest y on, over range (x, y). */
  heat(values, columns, rows, range, paint) {
    const rgb = rgbOf(paint), top = Math.max(...values) || 1;
    const picture = new ImageData(columns, rows);
    for (let r = 0; r < rows; r++)
      for (let k = 0; k < columns; k++) {
        const at = 4 * ((rows - 1 - r) * columns + k);
        picture.data.set(rgb, at);
        picture.data[at + 3] = 150 * Math.sqrt(Math.min(values[r * columns + k] / top, 1));
      }
    const small = document.createElement("canvas");
    small.width = columns;
    small.height = rows;
    small.getContext("2d").putImageData(picture, 0, 0);
    this.inside((c) => {
      c.imageSmoothingEnabled = true;
      c.drawImage(small, this.px(range[0]), this.py(range[3]), this.px(range[1]) - this.px(range[0]),
                  this.py(range[2]) - this.py(range[3]));
    });
  }

  /* Histograms of columns i and j along the edges; curve: a density to compare both with */
  edges(points, dim, i, j, { paint, curve = null } = {}) {
    const c = this.c, bins = 40, { l, t, r, b } = this.box;
    const of = (column) => { const out = []; for (let k = column; k < points.length; k += dim) out.push(points[k]); return out; };
    c.fillStyle = paint;
    for (const [column, across] of [[i, true], [j, false]]) {
      const [lo, hi] = across ? this.x : this.y, counts = histogram(of(column), lo, hi, bins);
      const top = Math.max(...counts, curve ? curve(0) : 0) || 1, length = across ? r - l : b - t;
      const size = (v) => (v / top) * (this.edge - 6);
      c.globalAlpha = 0.55;
      counts.forEach((v, k) => {
        const from = (k * length) / bins, step = length / bins;
        if (across) c.fillRect(l + from, t - 2 - size(v), step - 0.5, size(v));
        else c.fillRect(r + 2, b - from - step, size(v), step - 0.5);
      });
      c.globalAlpha = 1;
      if (!curve) continue;
      c.strokeStyle = colour("ink");
      c.beginPath();
      for (let k = 0; k <= 60; k++) {
        const v = lo + ((hi - lo) * k) / 60, along = (k * length) / 60;
        if (across) c.lineTo(l + along, t - 2 - size(curve(v)));
        else c.lineTo(r + 2 + size(curve(v)), b - along);
      }
      c.stroke();
    }
  }

  /* A histogram as the content of the plot: one coordinate against its density. */
  bars(values, { paint, curve = null, line = null, behind = null }) {
    const bins = 60, counts = histogram(values, ...this.x, bins);
    const tall = [...counts, ...(line ? line.p : []), curve ? curve(0) : 0, ...(behind ? behind : [])];
    this.y = [0, 1.08 * (Math.max(...tall) || 1)];
    this.inside((c) => {
      const step = (this.box.r - this.box.l) / bins;
      const put = (list, style, alpha) => {
        c.fillStyle = style;
        c.globalAlpha = alpha;
        list.forEach((v, k) => c.fillRect(this.box.l + k * step, this.py(v), step - 0.5, this.box.b - this.py(v)));
        c.globalAlpha = 1;
      };
      if (behind) put(behind, colour("data"), 0.35);
      put(counts, paint, 0.55);
      c.strokeStyle = colour("ink");
      c.lineWidth = 1.5;
      c.beginPath();
      if (curve) for (let k = 0; k <= 120; k++) {
        const v = this.x[0] + ((this.x[1] - this.x[0]) * k) / 120;
        c.lineTo(this.px(v), this.py(curve(v)));
      }
      if (line) line.p.forEach((p, k) => c.lineTo(this.px(line.range[0] + ((line.range[1] - line.range[0]) * (k + 0.5)) / line.p.length), this.py(p)));
      c.stroke();
    });
  }

  mark(x, y, { hollow = false } = {}) {
    this.inside((c) => {
      for (const [width, style] of [[4, colour("panel")], [2, colour("ink")]]) {
        c.strokeStyle = style;
        c.lineWidth = width;
        c.beginPath();
        c.arc(this.px(x), this.py(y), hollow ? 8 : 6, 0, 7);
        c.stroke();
      }
    });
  }

  redraw() { if (this.draw) this.draw(); }
}

function rgbOf(paint) {
  const c = document.createElement("canvas").getContext("2d");
  c.fillStyle = paint;
  const text = c.fillStyle; /* #rrggbb */
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/* A density of two columns from points alone: counts in cells, smoothed by a Gaussian of `width` cells. */
function smoothed(points, dim, i, j, range, size, width = 1.6) {
  const cells = new Float64Array(size * size), reach = Math.ceil(3 * width);
  for (let k = 0; k < points.length; k += dim) {
    const a = Math.floor(((points[k + i] - range[0]) / (range[1] - range[0])) * size);
    const b = Math.floor(((points[k + j] - range[2]) / (range[3] - range[2])) * size);
    if (a >= 0 && a < size && b >= 0 && b < size) cells[b * size + a]++;
  }
  const weights = Array.from({ length: 2 * reach + 1 }, (_, k) => Math.exp(-0.5 * ((k - reach) / width) ** 2));
  const along = (from, stride, other) => {
    const to = new Float64Array(from.length);
    for (let row = 0; row < size; row++)
      for (let k = 0; k < size; k++) {
        let sum = 0;
        for (let d = -reach; d <= reach; d++) {
          const at = k + d;
          if (at >= 0 && at < size) sum += weights[d + reach] * from[row * other + at * stride];
        }
        to[row * other + k * stride] = sum;
      }
    return to;
  };
  return along(along(cells, 1, size), size, 1);
}
