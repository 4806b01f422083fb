"use strict";
/* Which model is shown, and the buttons of the whole page. */

const page = { view: null, state: new State(location.hash), told: null };

function viewOf(choice) {
  if (choice.watch) return new WatchView();
  if (choice.chain) return new CascadeView(page.told, page.state);
  const model = page.told.models[choice.model];
  return model.image ? new ImageView(model, choice.model, page.state) : new VectorView(model, choice.model, page.state);
}

/* Every model is a choice, and so is a cascade of several. */
function choices() {
  if (page.told.watch) return [{ watch: true, name: "Training" }];
  const found = page.told.models.map((model, k) => ({ model: k, name: model.name, key: String(k) }));
  if (page.told.chain.length) found.unshift({ chain: true, name: "all steps: " + page.told.chain.map((k) => page.told.models[k].name).join(" → "), key: "chain" });
  return found;
}

async function choose(choice, buttons) {
  if (page.view) page.view.close();
  buttons.forEach((button, k) => button.setAttribute("aria-current", String(page.choices[k] === choice)));
  document.title = `${choice.name} – jointflow`;
  showFailure("");
  page.view = viewOf(choice);
  byId("view").replaceChildren(page.view.root);
  try {
    await page.view.open();
  } catch (error) {
    showFailure(error.message);
  }
}

async function begin() {
  try {
    page.told = await ask("models");
  } catch (error) {
    showFailure(error.message);
    return;
  }
  page.choices = choices();
  const buttons = page.choices.map((choice) => element("button", { type: "button", text: choice.name, on: { click: () => {
    page.state = new State("m=" + choice.key);
    choose(choice, buttons);
  } } }));
  byId("models").replaceChildren(...buttons);
  const wanted = page.choices.find((choice) => choice.key === page.state.text("m")) || page.choices[0];
  if (wanted) await choose(wanted, buttons);
  addEventListener("hashchange", () => {
    page.state = new State(location.hash);
    choose(page.choices.find((choice) => choice.key === page.state.text("m")) || page.choices[0], buttons);
  });
}

/* The clipboard is for pages of this machine, and may be refused: then the address is there to be taken by hand. */
async function copyLink() {
  page.state.write();
  try {
    await navigator.clipboard.writeText(location.href);
    byId("status").textContent = "The link is copied. It works while this jointflow runs, and for this machine.";
  } catch {
    byId("status").textContent = "The address above holds all that was chosen: copy it from there.";
  }
}

byId("copy").addEventListener("click", copyLink);
byId("save").addEventListener("click", () => page.view && savePage(page.view));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.view && page.view.redraw && page.view.redraw());
begin();
