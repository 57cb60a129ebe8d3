// The page: fields on one side, answers and charts on the other.

import { LOST, ROUGH, answer, calibrated, gaussianLines, linesOf } from "./answers.js";
import { draw, shown } from "./chart.js";
import { LEAST } from "./composed.js";
import { DECLARED, KINDS, MOST_SETUPS, fromHash, isAllowed, isCount, newStep, plain, titleOf, toHash, wordsOf } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Parameter} Parameter */
/** @typedef {import("./mechanisms.js").Step} Step */
/** @typedef {import("./answers.js").Answer} Answer */

/** @type {State} */
let state = fromHash(location.hash);
const LETTERS = "ABCD";
const DASHES = ["none", "9 4", "2 4", "9 3 2 3"];

/** @param {string} id @returns {HTMLElement} */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * An element with what is in it; texts are never markup.
 * @param {string} name
 * @param {Record<string, string | boolean | ((event: Event) => void)>} [about]
 * @param {(Node | string)[]} inside
 */
function make(name, about = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
}

/** @param {number} value six digits, rounded up */
function up(value) {
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  const step = 10 ** (Math.floor(Math.log10(value)) - 5);
  return shown(Number((Math.ceil(value / step - 1e-6) * step).toPrecision(6)));
}

/** A number field and a slider that move together.
 * @param {Parameter} parameter @param {string} id @param {() => number} get @param {(value: number) => void} set
 */
function field(parameter, id, get, set) {
  const [low, high] = parameter.slider.map(Math.log);
  const complaint = make("span", { class: "complaint", id: `${id}-complaint`, role: "alert" });
  const number = /** @type {HTMLInputElement} */ (
    make("input", { type: "text", inputmode: "decimal", id, value: plain(get()), autocomplete: "off", "aria-describedby": `${id}-complaint` })
  );
  const slider = /** @type {HTMLInputElement} */ (
    make("input", { type: "range", min: String(low), max: String(high), step: "any", value: String(Math.log(get())), "aria-label": parameter.what })
  );
  const tellSlider = () => slider.setAttribute("aria-valuetext", number.value);
  /** @param {number} value @param {HTMLInputElement} from */
  const take = (value, from) => {
    const allowed = number.value.trim() !== "" && isAllowed(parameter, value);
    complaint.textContent = allowed ? "" : `must be ${parameter.allowed}`;
    number.setAttribute("aria-invalid", String(!allowed));
    if (!allowed) return;
    if (from === number) slider.value = String(Math.log(value));
    tellSlider();
    set(value);
    soon();
  };
  number.addEventListener("input", () => take(Number(number.value), number));
  slider.addEventListener("input", () => {
    const value = Math.exp(Number(slider.value));
    number.value = plain(parameter.whole ? Math.round(value) : Number(value.toPrecision(3)));
    take(Number(number.value), slider);
  });
  slider.addEventListener("keydown", (event) => {
    // a step of a twentieth of the slider, as "any" leaves the keys without one
    const sign = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!sign) return;
    event.preventDefault();
    slider.value = String(Math.min(Math.max(Number(slider.value) + (sign * (high - low)) / 50, low), high));
    slider.dispatchEvent(new Event("input"));
  });
  tellSlider();
  const symbol = parameter.symbol ? ` ${parameter.symbol}` : "";
  return make("div", { class: "field" }, make("label", { for: id }, parameter.name.replaceAll("_", " ") + symbol), number, slider, complaint);
}

/** @param {number} place @param {number} number */
function stepFields(place, number) {
  const setup = state.setups[place];
  const step = setup[number];
  const id = `s${place}-${number}`;
  const kinds = make("select", { id: `${id}-kind`, "aria-label": "mechanism", change: (event) => {
    setup[number] = newStep(/** @type {HTMLSelectElement} */ (event.target).value);
    rebuild(`${id}-kind`);
  } });
  for (const [kind, { title }] of Object.entries(DECLARED)) {
    if (setup.length > 1 && !KINDS[kind].parts && kind !== step.kind) continue;
    kinds.append(make("option", { value: kind, selected: kind === step.kind }, title));
  }
  const head = make("div", { class: "step-head" }, kinds);
  if (setup.length > 1) {
    head.append(make("button", { type: "button", "aria-label": "Remove this part", click: () => {
      setup.splice(number, 1);
      rebuild(`s${place}-add`);
    } }, "remove"));
  }
  const fields = DECLARED[step.kind].parameters.map((parameter) =>
    field(parameter, `${id}-${parameter.name}`, () => step.values[parameter.name], (value) => {
      step.values[parameter.name] = value;
    }),
  );
  if (KINDS[step.kind].parts) {
    const count = { name: "count", symbol: "", what: "how often it is run", allowed: "a whole number from 1 to 100000", whole: true, start: 1, slider: /** @type {[number, number]} */ ([1, 1000]), least: 1, most: 1e5, leastIn: true, mostIn: true };
    fields.push(field({ ...count, name: "runs" }, `${id}-count`, () => step.count, (value) => {
      if (isCount(value)) step.count = value;
    }));
  }
  if (step.kind === "table") {
    const area = make("textarea", { id: `${id}-text`, rows: "6", spellcheck: "false", "aria-label": "rows of ε and δ", input: (event) => {
      step.text = /** @type {HTMLTextAreaElement} */ (event.target).value;
      soon();
    } }, step.text ?? "");
    fields.push(area);
  }
  return make("fieldset", {}, make("legend", {}, setup.length > 1 ? `Part ${number + 1}` : "Mechanism"), head, ...fields);
}

/** Draw all fields anew. @param {string} [focus] the field to go on with */
function rebuild(focus) {
  const cards = state.setups.map((setup, place) => {
    const steps = setup.map((_, number) => stepFields(place, number));
    const composes = setup.every((step) => KINDS[step.kind].parts) && setup.length < 8;
    const buttons = make("div", { class: "buttons" });
    if (composes) {
      buttons.append(make("button", { type: "button", id: `s${place}-add`, click: () => {
        setup.push(newStep("gaussian"));
        rebuild(`s${place}-${setup.length - 1}-kind`);
      } }, "then run another one"));
    }
    if (state.setups.length > 1) {
      buttons.append(make("button", { type: "button", click: () => {
        state.setups.splice(place, 1);
        rebuild("compare");
      } }, `remove ${LETTERS[place]}`));
    }
    return make("section", { class: `card colour-${place}`, "aria-label": `Setting ${LETTERS[place]}` }, make("h3", {}, make("span", { class: "letter" }, LETTERS[place])), ...steps, buttons);
  });
  at("setups").replaceChildren(...cards);
  at("compare").toggleAttribute("disabled", state.setups.length >= MOST_SETUPS);
  const [chosen, name] = [at("ask-setup"), at("ask-parameter")];
  const options = [];
  for (const [place, setup] of state.setups.entries()) {
    for (const [number, step] of setup.entries()) {
      for (const one of DECLARED[step.kind].parameters) {
        const part = setup.length > 1 ? `, part ${number + 1}` : "";
        options.push(make("option", { value: `${place} ${number} ${one.name}` }, `${one.name.replaceAll("_", " ")} of ${LETTERS[place]}${part}`));
      }
    }
  }
  name.replaceChildren(...options);
  chosen.toggleAttribute("hidden", options.length === 0);
  if (focus) document.getElementById(focus)?.focus();
  update();
}

/** @param {string} text */
function command(text) {
  const code = make("code", {}, text);
  const copy = make("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}`, click: () => {
    navigator.clipboard?.writeText(text).then(() => {
      copy.textContent = "copied";
    }, () => getSelection()?.selectAllChildren(code));
  } }, "copy");
  return make("span", { class: "command" }, code, copy);
}

/** @param {string} what @param {number} value @param {string} text @param {string} proof @param {number} error */
function row(what, value, text, proof, error) {
  const lost = !(error <= LOST);
  const rough = error > ROUGH ? `, perhaps off by a share of ${error.toExponential(0)}` : "";
  const basis = lost ? "its sums take too long for this page; the command has it: " : `computed, not proved${rough}; to prove it: `;
  const shows = make("strong", { "data-value": String(lost ? NaN : value), "data-error": String(error) }, lost ? "not computed here" : text);
  return make("div", { class: "row" }, make("dt", {}, what), make("dd", {}, shows, make("span", { class: "basis" }, basis), command(proof)));
}

/** @param {Answer} one @returns {string} */
function statementOf({ found, curve, errors }) {
  if (!(errors.mu <= LOST)) return "Few or very small steps add up so slowly here that this page cannot tell their μ";
  if (found.statement === "head") return `δ(ε) is at most the Gaussian curve's up to ε = ${shown(found.end)}, where the table ends`;
  if (found.statement === "whole") return "δ(ε) is at most the Gaussian curve's at every ε ≥ 0: μ-GDP";
  const why = curve.infinite ? "not GDP: δ(ε) does not fall below a floor; " : "";
  return `${why}as safe as μ-GDP but for an outright failure of probability ${shown(found.p)}`;
}

/** @param {Step[]} setup @param {number} place @param {Answer | Error} one */
function answerCard(setup, place, one) {
  const head = make("h3", {}, make("span", { class: "letter" }, LETTERS[place]), ` ${titleOf(setup)}`);
  const about = { class: `card colour-${place}`, "aria-label": `Answer ${LETTERS[place]}` };
  if (one instanceof Error) return make("section", about, head, make("p", { class: "complaint", role: "alert" }, one.message));
  const { words, file } = wordsOf(setup);
  const failure = one.found.p ? ` --failure ${plain(Number((one.found.p * (1 + 1e-9)).toPrecision(8)))}` : "";
  const below = one.delta > 0 && one.delta * (1 + one.errors.delta) < LEAST;
  const rows = make("dl", {},
    row("μ ≤", one.found.mu, up(one.found.mu), `gdpbridge measure ${words}`, one.errors.mu),
    row(`ε at δ = ${shown(state.delta)}`, one.epsilon, up(one.epsilon), `gdpbridge convert ${words} --at-delta ${plain(state.delta)}`, one.errors.epsilon),
    row(`δ at ε = ${shown(state.eps)}`, one.delta, below ? `below ${LEAST}` : up(one.delta), `gdpbridge convert ${words} --at-epsilon ${plain(state.eps)}`, below ? 0 : one.errors.delta),
    row(`attacker's success at ${shown(state.fpr, true)} false alarms ≤`, one.tpr, shown(Number((Math.ceil(1e6 * one.tpr) / 1e6).toPrecision(4)), true), one.errors.mu <= LOST ? `gdpbridge risk --mu ${up(one.found.mu)}${failure}` : `gdpbridge measure ${words}`, one.errors.mu),
  );
  const notes = [make("p", { class: "statement" }, statementOf(one))];
  if (file) notes.push(make("details", {}, make("summary", {}, file.name), make("pre", {}, file.text)));
  return make("section", about, head, ...notes, rows);
}

let waiting = false;
/** Answer at the next frame: a slider moves faster than that. */
function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    update();
  });
}

/** browsers refuse a page that changes its URL more often than this, in milliseconds */
const URL_EVERY = 400;
let [keptAt, keeping] = [-URL_EVERY, 0];
/** Keep the state in the URL. */
function keepInUrl() {
  clearTimeout(keeping);
  const wait = Math.max(keptAt + URL_EVERY - performance.now(), 0);
  const keep = () => {
    keptAt = performance.now();
    history.replaceState(null, "", toHash(state));
  };
  if (wait) keeping = setTimeout(keep, wait);
  else keep();
}

let drawing = 0;
/** Answer all, now. */
function update() {
  const began = performance.now();
  keepInUrl();
  /** @type {(Answer | Error)[]} */
  const answers = state.setups.map((setup) => {
    try {
      return answer(setup, state);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  });
  at("answers").replaceChildren(...state.setups.map((setup, place) => answerCard(setup, place, answers[place])));
  document.documentElement.dataset.took = String(Math.round(performance.now() - began));
  // answers are seen before pictures are drawn
  clearTimeout(drawing);
  drawing = setTimeout(() => pictures(answers));
}

/** @param {(Answer | Error)[]} answers */
function pictures(answers) {
  const good = answers.flatMap((one, place) => (one instanceof Error ? [] : [{ one, place }]));
  const ends = good.map(({ one }) => (Number.isFinite(one.curve.end) ? 1.1 * one.curve.end : one.found.end));
  const end = Math.min(Math.max(0.5, ...ends), 100);
  const style = getComputedStyle(document.documentElement);
  const lines = good.map(({ one, place }) => ({
    name: good.length > 1 ? LETTERS[place] : titleOf(state.setups[place]),
    colour: style.getPropertyValue(`--line-${place}`).trim(),
    dash: DASHES[place],
    ...linesOf(one, end),
  }));
  const mu = state.mu ?? (good.length === 1 && good[0].one.errors.mu <= LOST ? good[0].one.found.mu : 0);
  if (mu > 0 && Number.isFinite(mu)) {
    lines.push({ name: `Gaussian, μ = ${shown(Number(mu.toPrecision(4)))}`, colour: style.getPropertyValue("--line-mu").trim(), dash: "5 3", ...gaussianLines(mu, end) });
  }
  const top = Math.max(0.1, ...lines.flatMap((one) => one.transforms.map(([, y]) => y)).filter(Number.isFinite));
  draw(at("tradeoff"), { title: "Trade-off function", x: "false alarms α", y: "missed f(α)", percent: true, domain: [0, 1], range: [0, 1], series: lines.map((one) => ({ ...one, points: one.tradeoff })) });
  draw(at("profile"), { title: "Privacy profile", x: "ε", y: "δ(ε)", log: true, domain: [0, end], range: [1e-12, 1], series: lines.map((one) => ({ ...one, points: one.profile })) });
  draw(at("transform"), { title: "GDP transform", x: "ε", y: "G(ε)", domain: [0, end], range: [0, 1.12 * top], series: lines.map((one) => ({ ...one, points: one.transforms })) });
}

/** @param {Event} event */
function ask(event) {
  event.preventDefault();
  const value = (/** @type {string} */ id) => /** @type {HTMLInputElement | HTMLSelectElement} */ (at(id)).value;
  const [place, number, name] = value("ask-parameter").split(" ");
  const setup = state.setups[Number(place)];
  const step = setup?.[Number(number)];
  const parameter = step && DECLARED[step.kind].parameters.find((one) => one.name === name);
  const [what, target, delta] = [value("ask-what"), Number(value("ask-target")), Number(value("ask-delta"))];
  const told = at("ask-answer");
  if (!parameter || !(target > 0) || !(delta > 0 && delta < 1)) {
    told.textContent = "The target must be a number > 0, and δ a number in (0, 1).";
    return;
  }
  const [low, high] = [Math.max(parameter.least, parameter.slider[0] / 100), Math.min(parameter.most, parameter.slider[1] * 100)];
  const found = calibrated(setup, Number(number), name, {
    what: what === "mu" ? "mu" : "epsilon", target, delta,
    low: parameter.leastIn ? low : Math.max(low, 1e-12), high: parameter.mostIn ? high : high * (1 - 1e-12), whole: parameter.whole,
  });
  if (found === null) {
    told.textContent = `No ${name.replaceAll("_", " ")} between ${shown(low)} and ${shown(high)} meets this.`;
    return;
  }
  step.values[name] = found;
  rebuild();
  const goal = what === "mu" ? `μ ≤ ${shown(target)}` : `ε ≤ ${shown(target)} at δ = ${shown(delta)}`;
  told.replaceChildren(`${name.replaceAll("_", " ")} ${found} gives ${goal}: computed, not proved; to prove it: `);
  const { words: whole } = wordsOf(setup);
  told.append(command(`gdpbridge ${what === "mu" ? `measure ${whole}` : `convert ${whole} --at-delta ${plain(delta)}`}`));
}

/** @param {string} id @param {(value: number) => boolean} allowed @param {(value: number) => void} set */
function general(id, allowed, set) {
  const input = /** @type {HTMLInputElement} */ (at(id));
  input.addEventListener("input", () => {
    const value = Number(input.value);
    const good = input.value.trim() !== "" && allowed(value);
    input.setAttribute("aria-invalid", String(!good));
    if (!good) return;
    set(value);
    soon();
  });
}

/** Show the state in the fields that are always there. */
function fill() {
  for (const [id, value] of [["delta", state.delta], ["eps", state.eps], ["fpr", state.fpr]]) {
    /** @type {HTMLInputElement} */ (at(String(id))).value = plain(Number(value));
  }
  const mu = state.mu ?? 1;
  /** @type {HTMLInputElement} */ (at("mu-slider")).value = String(Math.log(mu));
  at("mu-shown").textContent = state.mu === null ? "that of the setting" : shown(Number(mu.toPrecision(3)));
}

general("delta", (value) => value > 0 && value < 1, (value) => { state.delta = value; });
general("eps", (value) => value >= 0 && value <= 1e4, (value) => { state.eps = value; });
general("fpr", (value) => value > 0 && value < 1, (value) => { state.fpr = value; });
at("mu-slider").addEventListener("input", (event) => {
  const value = Math.exp(Number(/** @type {HTMLInputElement} */ (event.target).value));
  state.mu = Number(value.toPrecision(3));
  fill();
  soon();
});
at("mu-own").addEventListener("click", () => {
  state.mu = null;
  fill();
  soon();
});
at("compare").addEventListener("click", () => {
  const last = state.setups[state.setups.length - 1];
  state.setups.push(structuredClone(last));
  rebuild(`s${state.setups.length - 1}-0-kind`);
});
at("ask").addEventListener("submit", ask);
at("ask-what").addEventListener("change", () => {
  at("ask-at").toggleAttribute("hidden", /** @type {HTMLSelectElement} */ (at("ask-what")).value === "mu");
});
addEventListener("hashchange", (event) => {
  const { hash } = new URL(event.newURL);
  if (hash === toHash(state)) return;
  state = fromHash(hash);
  fill();
  rebuild();
});
addEventListener("resize", soon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
fill();
rebuild();
