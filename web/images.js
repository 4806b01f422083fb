"use strict";
/* Models of images: samples in a grid, the one that is picked beside its latent image, lines between classes; and cascades of
 * super-resolution. */

const IMAGE_COUNT = 25;

/* Row view.row of the images that a model was not trained on, onto the pad of a view. */
async function takeHeldOut(view, model, tell) {
  try {
    const { image } = await ask("held_out", { model, row: view.row });
    if (view.closed) return;
    const found = unpacked(image);
    view.state.set({ row: view.row });
    view.pad.set({ h: found.h, w: found.w, channels: found.channels, values: Array.from(found.bytes, (v) => v / 255) });
  } catch (error) {
    if (tell) showFailure(error.message);
    else view.draw(); /* the data need not be here: an empty pad is a beginning, too */
  }
}

/* Images as buttons; picked(number) follows the mouse and the keyboard. */
class ImageGrid {
  constructor(picked) {
    this.picked = picked;
    this.root = element("div", { class: "grid", role: "group", "aria-label": "Samples" });
  }
  show(images, chosen) {
    const cells = [...this.root.children];
    for (let k = cells.length; k < images.count; k++) {
      const cell = element("button", { type: "button", "aria-label": `Sample ${k + 1}` }, element("canvas", { "aria-hidden": "true" }));
      for (const event of ["click", "focus", "pointerenter"]) cell.addEventListener(event, () => this.picked(k));
      this.root.append(cell);
    }
    cells.slice(images.count).forEach((cell) => cell.remove());
    [...this.root.children].forEach((cell, k) => drawImage(cell.firstChild, images, k));
    this.mark(chosen);
  }
  mark(chosen) {
    [...this.root.children].forEach((cell, k) => cell.setAttribute("aria-pressed", String(k === chosen)));
  }
}

class ImageView {
  constructor(model, index, state) {
    Object.assign(this, { model, index, state });
    this.asked = new Channel("sample");
    this.y = state.numbers("y", model.classes.length ? 1 : 0, model.classes.length ? [model.classes[0].label] : []);
    this.n = state.whole("n", 1, 100, IMAGE_COUNT);
    this.seed = state.seed();
    this.temperature = state.real("temperature", 0, 100, 1);
    this.chosen = state.whole("pick", 0, 99, 0);
    this.root = element("div", { class: "layout" });
  }

  async open() {
    this.build();
    if (!this.model.image.input_h) this.draw();
    else this.takeHeldOut();
  }
  close() {
    this.closed = true;
    this.asked.cancel();
  }

  build() {
    const form = this.model.image, condition = element("div", { class: "condition stack" });
    this.trust = new Trust(this.model, this.index);
    this.grid = new ImageGrid((k) => this.pick(k));
    this.large = element("canvas", { role: "img", "aria-label": "The picked sample, enlarged" });
    this.latent = element("canvas", { role: "img", "aria-label": "Its latent image" });
    this.caption = element("figcaption");
    if (form.input_h) {
      this.pad = new Pad({ size: { h: form.input_h, w: form.input_w }, whole: { h: form.h, w: form.w }, channels: form.input_channels, changed: () => this.draw() });
      condition.append(this.pad.root, this.heldOutRow());
    } else {
      this.condition = new Condition({ ...this.model, y_range: this.labelRange() }, null, this.y.slice(), (y) => { this.y = y; this.draw(); });
      condition.append(this.condition.root);
    }
    const seed = seedField(this.seed, (text) => { this.seed = text; this.draw(); });
    const fields = element("div", { class: "fields" }, seed.label, seed.input,
      ...numberField({ name: "Temperature", value: this.temperature, lo: 0, hi: 100, step: 0.05, changed: (t) => { this.temperature = t; this.draw(); } }));
    this.spread = element("div", { class: "thumbs" });
    const size = this.sizeWords();
    const beside = element("div", { class: "beside" }, this.grid.root, element("div", { class: "large" },
      element("figure", {}, this.large, this.caption),
      element("figure", {}, this.latent, element("figcaption", { text: (size ? `latent z, ${form.w} × ${form.h}` : "latent z") + ": blue −3, orange 3" }))));
    const answers = element("div", { class: "stack answers" }, this.trust.warning,
      element("section", { class: "panel" }, element("h2", { text: "Samples of p(x | y)" }), size ? element("p", { class: "small muted", text: size }) : null, beside, form.input_h ? this.spread : null));
    if (this.model.classes.length > 1) answers.append((this.line = new ImageLine(this)).root);
    answers.append(this.trust.root);
    this.root.append(condition, answers, element("div", { class: "controls" }, panel("Samples", fields, element("div", { class: "row" }, seed.next))));
  }

  /* Of models whose images others make larger: which is which; "" of all others. */
  sizeWords() {
    const { then, image } = this.model, own = `${image.w} × ${image.h}`;
    if (then.why) return `Images of ${own}, as the model draws them. They are not made larger: ${then.why}.`;
    return then.h ? `The model draws images of ${own}, which its latent points and densities are of; ${then.name} makes them ${then.w} × ${then.h}.` : "";
  }

  labelRange() {
    const labels = this.model.classes.map((one) => one.label);
    return [[Math.min(...labels), Math.max(...labels)]];
  }

  /* ---- inputs ---- */

  heldOutRow() {
    this.row = this.state.whole("row", 0, 1e9, 0);
    const [label, input] = numberField({ name: "Row", value: this.row, lo: 0, hi: 1e9, changed: (v) => { this.row = v; } });
    return element("div", { class: "panel" }, element("h2", { text: "An image of the held-out data" }), element("div", { class: "row" }, label, input,
      element("button", { type: "button", text: "Take it", on: { click: () => this.takeHeldOut(true) } })));
  }
  takeHeldOut(tell = false) {
    return takeHeldOut(this, this.index, tell);
  }

  /* ---- samples ---- */

  draw() {
    const began = performance.now(), question = { model: this.index, n: this.n, seed: this.seed, temperature: this.temperature };
    if (this.pad) {
      const { h, w, channels, values } = this.pad.image;
      question.image = { h, w, channels, values };
      question.degrade = h !== this.pad.size.h || w !== this.pad.size.w;
    } else question.y = this.y;
    this.remember();
    this.asked.ask(question, (answer) => {
      if (this.closed) return;
      showFailure("");
      this.images = unpacked(answer.images);
      this.latents = unpacked(answer.latent);
      this.chosen = Math.min(this.chosen, answer.n - 1);
      this.grid.show(this.images, this.chosen);
      this.trust.show(answer);
      this.showLarge();
      if (this.pad) this.showSpread((this.pad.seen = unpacked(answer.input)));
      tellTime(began, `${answer.n} images`);
    });
  }

  remember() {
    this.state.set({ m: this.index, y: this.pad ? null : this.y, n: this.n === IMAGE_COUNT ? null : this.n, seed: this.seed, pick: this.chosen,
      temperature: this.temperature === 1 ? null : this.temperature });
    byId("command").textContent = `jointflow sample ${shellPath(this.model.call)} ` + (this.pad ? "-y @INPUT.png" : `-y ${this.y.join(",")}`) +
      ` -n ${this.n} --seed ${this.seed}` + (this.temperature !== 1 ? ` --temperature ${this.temperature}` : "") + " -o samples.png";
  }

  pick(k) {
    this.chosen = k;
    this.grid.mark(k);
    this.showLarge();
    this.state.set({ pick: k });
  }
  showLarge() {
    if (!this.images) return;
    drawImage(this.large, this.images, this.chosen);
    drawLatent(this.latent, this.latents, this.chosen);
    this.caption.textContent = `sample ${this.chosen + 1}`;
  }

  showSpread(input) {
    const both = meanAndSpread(this.images);
    this.spread.replaceChildren(imageFigure(input, 0, "what the model sees"), imageFigure(both, 0, "mean of the samples"), imageFigure(both, 1, "their deviation, black to white: 0 to 0.5"));
  }

  redraw() { if (this.images) { this.grid.show(this.images, this.chosen); this.showLarge(); } }
  content() {
    return { model: this.model.name, y: this.y, n: this.n, seed: this.seed, images: this.images ? { ...this.images, bytes: Array.from(this.images.bytes) } : null };
  }
}

/* Two images: the mean of each pixel, and twice its deviation. */
function meanAndSpread({ count, h, w, channels, bytes }) {
  const size = h * w * channels, out = new Uint8Array(2 * size);
  for (let k = 0; k < size; k++) {
    let sum = 0, squares = 0;
    for (let i = 0; i < count; i++) sum += bytes[i * size + k];
    for (let i = 0; i < count; i++) squares += (bytes[i * size + k] - sum / count) ** 2;
    out[k] = Math.round(sum / count);
    out[size + k] = Math.min(255, Math.round(2 * Math.sqrt(squares / count)));
  }
  return { count: 2, h, w, channels, bytes: out };
}

/* ---- the line from one class to another ---- */

class ImageLine {
  constructor(view) {
    this.view = view;
    this.steps = 9;
    this.lines = 6;
    const options = () => view.model.classes.map((one) => element("option", { value: one.label, text: one.name || shown(one.label) }));
    this.from = element("select", { "aria-label": "From class" }, ...options());
    this.to = element("select", { "aria-label": "To class" }, ...options());
    this.to.selectedIndex = 1;
    this.knob = element("input", { type: "range", min: 0, max: this.steps - 1, step: 1, value: 0, "aria-label": "Step of the line", on: { input: () => this.show() } });
    this.knob.style.width = "100%";
    this.row = element("div", { class: "grid" });
    this.words = element("p", { class: "small muted number", role: "status" });
    this.player = element("div", { hidden: true }, this.knob, this.words, this.row);
    this.root = panel("A line in y", element("p", { class: "small muted", text: "The same latent points while y goes from one class to the other, and what lies between." }),
      element("div", { class: "row" }, this.from, "to", this.to, element("button", { type: "button", text: "Make the line", on: { click: () => this.make() } })), this.player);
  }
  async make() {
    const question = { model: this.view.index, along: "y", from: [Number(this.from.value)], to: [Number(this.to.value)], lines: this.lines, steps: this.steps, seed: this.view.seed };
    this.ends = [question.from[0], question.to[0]];
    try {
      const answer = await ask("lines", question);
      if (this.view.closed) return;
      this.images = unpacked(answer.images);
      this.player.hidden = false;
      this.show();
    } catch (error) {
      showFailure(error.message);
    }
  }
  /* Of a plane for each class: how much of which. */
  shareWords(t) {
    const name = (label) => { const one = this.view.model.classes.find((k) => k.label === label); return one.name || shown(label); };
    const [from, to] = this.ends.map(name);
    return t === 0 ? from : t === 1 ? to : `${shown(1 - t)} ${from}, ${shown(t)} ${to}`;
  }
  show() {
    const t = Number(this.knob.value), y = this.ends[0] + ((this.ends[1] - this.ends[0]) * t) / (this.steps - 1);
    this.words.textContent = this.view.model.planes ? this.shareWords(t / (this.steps - 1)) : `y = ${shown(y)}`;
    this.knob.setAttribute("aria-valuetext", this.words.textContent);
    while (this.row.children.length < this.lines) this.row.append(element("canvas", { role: "img", "aria-label": `Line ${this.row.children.length + 1}` }));
    [...this.row.children].forEach((canvas, k) => drawImage(canvas, this.images, k * this.steps + t));
  }
}

/* ---- super-resolution by all steps ---- */

class CascadeView {
  constructor(told, state) {
    this.models = told.chain.map((k) => told.models[k]);
    this.first = told.chain[0];
    this.last = told.chain[told.chain.length - 1];
    this.state = state;
    this.seed = state.seed();
    this.row = state.whole("row", 0, 1e9, 0);
    this.asked = new Channel("superres");
    this.root = element("div", { class: "layout" });
    this.counts = this.models.map((_, k) => (k ? 3 : 4)); /* of each step for each of the one before */
  }
  async open() {
    this.build();
    this.takeHeldOut();
  }
  close() { this.closed = true; this.asked.cancel(); }

  build() {
    const form = this.models[0].image, last = this.models[this.models.length - 1].image;
    this.pad = new Pad({ size: { h: form.input_h, w: form.input_w }, whole: { h: last.h, w: last.w }, channels: form.input_channels, changed: () => this.draw() });
    const [label, input] = numberField({ name: "Row", value: this.row, lo: 0, hi: 1e9, changed: (v) => { this.row = v; } });
    const seed = seedField(this.seed, (text) => { this.seed = text; this.draw(); });
    this.error = element("p", { class: "small" });
    this.inputs = element("div", { class: "thumbs" });
    this.steps = this.models.map((model, k) => {
      const grid = new ImageGrid((number) => this.pick(k, number)), words = element("p", { class: "small muted" });
      return { grid, words, root: element("section", { class: "panel" }, element("h2", { text: `Step ${k + 1}: ${model.name}` }), words, grid.root) };
    });
    this.large = element("canvas", { role: "img", "aria-label": "The picked image, enlarged" });
    this.caption = element("figcaption");
    this.root.append(element("div", { class: "condition stack" }, this.pad.root, panel("An image of the held-out data",
        element("div", { class: "row" }, label, input, element("button", { type: "button", text: "Take it", on: { click: () => this.takeHeldOut(true) } })))),
      element("div", { class: "stack answers" }, element("section", { class: "panel" }, element("h2", { text: "What the answers have in common, and where they differ" }), this.inputs, this.error),
        ...this.steps.map((step) => step.root)),
      element("div", { class: "controls stack" }, panel("Picked", element("figure", { class: "thumb" }, this.large, this.caption)),
        panel("Samples", element("div", { class: "fields" }, seed.label, seed.input), element("div", { class: "row" }, seed.next))));
  }

  takeHeldOut(tell = false) {
    return takeHeldOut(this, this.last, tell);
  }

  draw() {
    const began = performance.now(), { h, w, channels, values } = this.pad.image;
    this.state.set({ m: "chain", seed: this.seed });
    byId("command").textContent = `jointflow superres ${this.models.map((m) => shellPath(m.name)).join(" ")} INPUT.png` +
      (this.counts.length === 2 ? ` --coarse ${this.counts[0]} --fine ${this.counts[1]}` : "") + ` --seed ${this.seed}`;
    this.asked.ask({ image: { h, w, channels, values }, counts: this.counts, seed: this.seed }, (answer) => {
      if (this.closed) return;
      showFailure("");
      this.made = answer.steps.map((step) => unpacked(step.images));
      this.steps.forEach((step, k) => {
        step.grid.show(this.made[k], -1);
        step.words.textContent = `${this.made[k].count} images of ${this.made[k].w} × ${this.made[k].h}; made smaller again, they are ${shown(answer.steps[k].psnr, 3)} dB from the input`;
      });
      this.pad.seen = unpacked(answer.input);
      const truth = unpacked(answer.truth), both = unpacked(answer.mean_and_spread);
      both.bytes = both.bytes.map((v, k) => (k < both.bytes.length / 2 ? v : Math.min(255, 2 * v)));
      this.inputs.replaceChildren(imageFigure(this.pad.seen, 0, "input"), imageFigure(both, 0, "mean of the answers"),
        imageFigure(both, 1, "their deviation, black to white: 0 to 0.5"), ...(truth ? [imageFigure(truth, 0, "the truth")] : []));
      this.error.textContent = `Error of y of what is on screen: ${shown(answer.y_error, 2)} (mean |y′ − y| in deviations of the data, over all steps).`;
      this.pick(this.made.length - 1, 0);
      tellTime(began, `${this.made[this.made.length - 1].count} images`);
    });
  }
  pick(step, number) {
    this.picked = [step, number];
    this.steps.forEach((one, k) => one.grid.mark(k === step ? number : -1));
    drawImage(this.large, this.made[step], number);
    this.caption.textContent = `step ${step + 1}, image ${number + 1}`;
  }
  redraw() {}
  content() {
    return { model: this.models.map((m) => m.name).join("-"), seed: this.seed, input: this.pad.image, steps: (this.made || []).map((images) => ({ ...images, bytes: Array.from(images.bytes) })) };
  }
}
