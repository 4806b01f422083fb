"use strict";
/* Lines in z and in y as animations: frames that the model made, played or moved by hand. */

const LINE_STEPS = 40, LINE_POINTS = 400, FRAME_MS = 60;

class Lines {
  constructor(view) {
    this.view = view;
    this.at = 0;
    const { model } = view;
    const count = !model.classes.length ? model.dim_y : model.planes ? 0 : 1;
    const choice = count > 1 ? element("select", { "aria-label": "Which element of y moves" }, ...model.y_names.map((text, k) => element("option", { value: k, text }))) : null;
    this.which = choice;
    this.knob = element("input", { type: "range", min: 0, max: LINE_STEPS - 1, step: 1, value: 0, "aria-label": "Step of the line", on: { input: () => this.show(Number(this.knob.value)) } });
    this.knob.style.width = "100%";
    this.playButton = element("button", { type: "button", text: "Pause", on: { click: () => (this.timer ? this.pause() : this.play()) } });
    this.words = element("p", { class: "small muted number" });
    this.player = element("div", { hidden: true }, this.knob, element("div", { class: "row" }, this.playButton,
      element("button", { type: "button", text: "Back to samples", on: { click: () => { this.stop(); this.view.redraw(); } } })), this.words);
    this.root = panel("Lines", element("p", { class: "small muted", text: "The same latent points while y moves, or latent points on their way to others at this y." }),
      element("div", { class: "row" }, count ? element("button", { type: "button", text: "Along y", on: { click: () => this.begin("y") } }) : null, choice,
        element("button", { type: "button", text: "Along z", on: { click: () => this.begin("z") } })), this.player);
  }

  /* Across the data of one element of y, the others as they are. */
  ends() {
    const { model, y } = this.view, k = this.which ? Number(this.which.value) : 0;
    const range = model.y_range ? model.y_range[k] : [y[k] - 1, y[k] + 1];
    return range.map((v) => y.map((old, i) => (i === k ? v : old)));
  }

  async begin(along) {
    const { view } = this, question = { model: view.index, along, seed: view.seed, steps: LINE_STEPS, lines: Math.min(LINE_POINTS, view.n, Math.floor(500000 / view.model.dim_x / LINE_STEPS)) };
    if (along === "y") [question.from, question.to] = this.ends();
    else question.y = view.y;
    this.stop();
    try {
      const answer = await ask("lines", question), dim = view.model.dim_x;
      if (view.closed) return;
      this.along = along;
      this.answer = { ...answer, x: Float64Array.from(answer.x), z: Float64Array.from(answer.z) };
      const first = this.answer.z.subarray(0, answer.rows * dim), [i, j] = view.axes;
      this.hues = view.show.hues && dim > 1 ? Uint8Array.from({ length: answer.rows }, (_, k) => hueOf(first[k * dim + i], first[k * dim + j])) : null;
      this.player.hidden = false;
      this.knob.max = answer.steps - 1;
      this.show(0);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
      else this.pause();
    } catch (error) {
      showFailure(error.message);
    }
  }

  frame() {
    if (!this.answer) return null;
    const dim = this.view.model.dim_x, size = this.answer.rows * dim;
    return { x: this.answer.x.subarray(this.at * size, (this.at + 1) * size), z: this.answer.z.subarray(this.at * size, (this.at + 1) * size), hues: this.hues };
  }

  show(step) {
    this.at = step;
    this.knob.value = step;
    const y = this.answer.y[step] || [];
    this.words.textContent = `step ${step + 1} of ${this.answer.steps}` + (this.along === "y" ? `, y = ${y.slice(0, 6).map((v) => shown(v)).join(", ")}` : "");
    this.knob.setAttribute("aria-valuetext", this.words.textContent);
    this.view.drawX();
    this.view.drawZ();
  }
  play() {
    let way = 1;
    this.playButton.textContent = "Pause";
    this.timer = setInterval(() => {
      if (this.at + way < 0 || this.at + way >= this.answer.steps) way = -way;
      this.show(this.at + way);
    }, FRAME_MS);
  }
  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.playButton.textContent = "Play";
  }
  stop() {
    this.pause();
    this.answer = null;
    this.player.hidden = true;
  }
}
