"use strict";
/* Images as they come from the program, drawn into canvases pixel by pixel. */

/* {count, h, w, channels, bytes} with bytes in base64 becomes one with an array of bytes. */
function unpacked(images) {
  if (!images || !images.count) return null;
  const text = atob(images.bytes), bytes = new Uint8Array(text.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = text.charCodeAt(k);
  return { ...images, bytes };
}

/* One image of them: grey, colours, or with a last channel that tells what is missing. */
function drawImage(canvas, images, number) {
  const { h, w, channels, bytes } = images, from = number * h * w * channels, coloured = channels >= 3;
  canvas.width = w;
  canvas.height = h;
  const picture = new ImageData(w, h);
  for (let k = 0; k < h * w; k++) {
    const at = from + k * channels, missing = (channels === 2 || channels === 4) && bytes[at + channels - 1] > 127;
    for (let c = 0; c < 3; c++) picture.data[4 * k + c] = missing ? 128 : bytes[at + (coloured ? c : 0)];
    picture.data[4 * k + 3] = 255;
  }
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

/* Latent values from -3 (blue) over 0 to 3 (orange); of several channels their first. */
function drawLatent(canvas, images, number) {
  const { h, w, channels, bytes } = images, from = number * h * w * channels;
  canvas.width = w;
  canvas.height = h;
  const picture = new ImageData(w, h), middle = isDark() ? [26, 30, 34] : [255, 255, 255];
  for (let k = 0; k < h * w; k++) {
    const z = bytes[from + k * channels] / 127.5 - 1, to = z < 0 ? [33, 102, 200] : [217, 108, 20];
    for (let c = 0; c < 3; c++) picture.data[4 * k + c] = middle[c] + (to[c] - middle[c]) * Math.abs(z);
    picture.data[4 * k + 3] = 255;
  }
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

function imageFigure(images, number, caption) {
  const canvas = element("canvas", { role: "img", "aria-label": caption });
  drawImage(canvas, images, number);
  return element("figure", { class: "thumb" }, canvas, element("figcaption", { text: caption }));
}

/* A file that was dropped or chosen, as values from 0 to 1 of the size that `fit` gives for its own. */
async function readPicture(file, fit, channels) {
  const bitmap = await createImageBitmap(file);
  const { h, w } = fit(bitmap.height, bitmap.width);
  const canvas = document.createElement("canvas");
  canvas.width = w;
  canvas.height = h;
  const c = canvas.getContext("2d");
  c.imageSmoothingQuality = "high";
  c.drawImage(bitmap, 0, 0, w, h);
  const pixels = c.getImageData(0, 0, w, h).data, values = [];
  for (let k = 0; k < h * w; k++) {
    const [r, g, b, a] = pixels.subarray(4 * k, 4 * k + 4);
    if (channels >= 3) values.push(r / 255, g / 255, b / 255);
    else values.push(r === g && g === b ? r / 255 : (0.299 * r + 0.587 * g + 0.114 * b) / 255);
    if (channels === 2 || channels === 4) values.push(a < 128 ? 1 : 0);
  }
  return { h, w, channels, values };
}

/* Where an image is drawn by mouse, finger or keys, or dropped. `size` of what the model sees; whole: of what it makes. */
class Pad {
  constructor({ size, whole, channels, changed }) {
    Object.assign(this, { size, whole, channels, changed });
    this.image = { ...size, channels, values: new Array(size.h * size.w * channels).fill(0) };
    this.at = [Math.floor(size.h / 2), Math.floor(size.w / 2)];
    this.brush = 1;
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-label":
      `Drawing pad of ${size.w} by ${size.h} pixels. Arrow keys move, space paints, backspace erases. An image file can be dropped here.` });
    this.box = element("div", { class: "pad" }, this.canvas);
    this.file = element("input", { type: "file", accept: "image/png,image/jpeg", id: "picture", on: { change: () => this.file.files[0] && this.take(this.file.files[0]) } });
    const shade = element("input", { type: "range", id: "brush", min: 0, max: 1, step: 0.05, value: 1, on: { input: () => { this.brush = Number(shade.value); } } });
    this.words = element("p", { class: "small muted", role: "status" });
    this.root = element("div", { class: "panel" }, element("h2", { text: "Input" }), this.box, this.words,
      element("div", { class: "stacked" }, element("label", { for: "brush", text: "Brush, from dark to bright" }), shade,
        element("label", { for: "picture", text: "Or a PNG or JPEG file, here or dropped above" }), this.file),
      element("div", { class: "row" }, element("button", { type: "button", text: "Clear", on: { click: () => this.clear() } })));
    this.listen();
    this.redraw();
  }
  listen() {
    const { canvas, box } = this;
    const paint = (event) => {
      if (!(event.buttons & 1)) return;
      const r = canvas.getBoundingClientRect();
      this.paint(Math.floor(((event.clientY - r.top) / r.height) * this.size.h), Math.floor(((event.clientX - r.left) / r.width) * this.size.w), this.brush);
    };
    canvas.addEventListener("pointerdown", paint);
    canvas.addEventListener("pointermove", paint);
    canvas.addEventListener("keydown", (event) => {
      const ways = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      if (ways[event.key]) this.at = this.at.map((v, k) => Math.min(Math.max(v + ways[event.key][k], 0), (k ? this.size.w : this.size.h) - 1));
      else if (event.key === " ") this.paint(...this.at, this.brush);
      else if (event.key === "Backspace") this.paint(...this.at, 0);
      else return;
      event.preventDefault();
      this.words.textContent = `row ${this.at[0] + 1}, column ${this.at[1] + 1}`;
      this.redraw();
    });
    canvas.addEventListener("focus", () => this.redraw());
    canvas.addEventListener("blur", () => this.redraw());
    for (const name of ["dragenter", "dragover"]) box.addEventListener(name, (event) => { event.preventDefault(); box.classList.add("over"); });
    box.addEventListener("dragleave", () => box.classList.remove("over"));
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      box.classList.remove("over");
      if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
    });
  }
  /* An image of the input's size is the input; any other is a whole one, which the model's task degrades first. */
  async take(file) {
    const { size, whole } = this;
    try {
      const found = await readPicture(file, (h, w) => (h === size.h && w === size.w ? size : whole), this.channels);
      this.set(found);
    } catch {
      this.words.textContent = `${file.name} is no image that this browser reads.`;
    }
  }
  set(image) {
    this.image = image;
    this.words.textContent = image.h === this.size.h && image.w === this.size.w ? "" : `An image of ${image.w} × ${image.h}, made smaller for the model.`;
    this.redraw();
    this.changed(image);
  }
  paint(row, column, value) {
    const { h, w } = this.size;
    if (row < 0 || column < 0 || row >= h || column >= w) return;
    if (this.image.h !== h || this.image.w !== w) this.image = { ...this.size, channels: this.channels, values: this.small() };
    for (let c = 0; c < this.channels; c++) this.image.values[(row * w + column) * this.channels + c] = value;
    this.redraw();
    this.changed(this.image);
  }
  /* What the model saw of a whole image, to go on drawing from; or nothing. */
  small() {
    const { h, w } = this.size, count = h * w * this.channels;
    return this.seen && this.seen.bytes.length === count ? Array.from(this.seen.bytes, (v) => v / 255) : new Array(count).fill(0);
  }
  clear() {
    this.set({ ...this.size, channels: this.channels, values: new Array(this.size.h * this.size.w * this.channels).fill(0) });
  }
  redraw() {
    const { h, w, channels, values } = this.image;
    drawImage(this.canvas, { h, w, channels, bytes: Uint8Array.from(values, (v) => Math.round(255 * v)) }, 0);
    if (document.activeElement !== this.canvas || h !== this.size.h) return;
    const c = this.canvas.getContext("2d"); /* where the keys are: a pixel of another colour */
    c.fillStyle = "rgba(255, 120, 0, 0.6)";
    c.fillRect(this.at[1], this.at[0], 1, 1);
  }
}
