"use strict";
/* How far to trust what is on screen: y outside of the data, the error of y', and the model's judgement. */

class Trust {
  constructor(model, index) {
    this.index = index;
    this.warning = element("p", { class: "warning", role: "status", hidden: true });
    this.error = element("p", { class: "small" });
    this.button = element("button", { type: "button", text: "Judge the model", on: { click: () => this.judge() } });
    this.told = element("div", { "aria-live": "polite" });
    const about = element("details", {}, element("summary", { text: "About this model" }), element("pre", { tabindex: "0", text: model.info }));
    this.root = panel("Trust", this.error,
      element("p", { class: "small muted", text: "Judging measures the model on fresh points of its data, as jointflow judge does; it takes a while." }),
      element("div", { class: "row" }, this.button), this.told, about);
    this.hasCondition = model.dim_y > 0;
    ask("judge", { model: index }).then((answer) => { if (answer.state !== "none") this.judge(); }, () => {});
  }

  show(answer) {
    this.warning.hidden = !answer.beyond;
    this.warning.textContent = answer.beyond
      ? `Outside of the data: ${answer.beyond}. Answers here are extrapolated and may mean nothing.` : "";
    this.error.textContent = !this.hasCondition ? "No condition: there is no error of y."
      : `Error of y of what is on screen: ${shown(answer.y_error, 2)} (mean |y′ − y| in deviations of the data; every density assumes 0).`;
  }

  async judge() {
    this.button.disabled = true;
    this.told.replaceChildren(element("p", { text: "Judging …" }));
    try {
      let answer = await ask("judge", { model: this.index, begin: true });
      while (answer.state === "running") {
        await new Promise((done) => setTimeout(done, 400));
        if (!this.root.isConnected) return;
        answer = await ask("judge", { model: this.index });
      }
      this.told.replaceChildren(...(answer.state === "done" ? judgementTable(answer)
        : [element("p", { class: "warning", text: "It could not be judged: " + answer.why })]));
    } catch (error) {
      this.told.replaceChildren(element("p", { class: "warning", text: error.message }));
      this.button.disabled = false;
    }
  }
}

/* The lines of jointflow judge: "  name   value   what it is", a verdict in words, and a table of classes. */
function judgementTable(answer) {
  const rows = [], words = [], other = [];
  for (const line of answer.table.split("\n")) {
    const found = /^( +)(\S.*?) {2,}(-?[0-9][0-9.e+-]*)(?: {2,}(.*))?\s*$/.exec(line);
    const cells = line.trim().split(/ {2,}/);
    if (found && cells.length <= 3)
      rows.push(element("tr", { class: found[1].length > 2 ? "sub" : null }, element("th", { scope: "row", text: found[2] }),
        element("td", { class: "value", text: found[3] }), element("td", { class: "muted", text: found[4] || "" })));
    else if (/[a-z].*\.\s*$/.test(line)) words.push(element("p", { class: "verdict", text: line.trim() }));
    else if (line.trim()) other.push(line);
  }
  return [...words, element("div", { class: "scrolled", tabindex: "0", role: "group", "aria-label": "Judgement" }, element("table", {}, element("tbody", {}, ...rows)),
    ...(other.length ? [element("pre", { text: other.join("\n") })] : []))];
}
