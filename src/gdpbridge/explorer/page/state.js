// What a person chose, in the URL and back, and the words that prove it on the command line.

import { KINDS } from "./mechanisms.js";

/** @typedef {import("./mechanisms.js").Step} Step */
/**
 * A parameter as the library declares it.
 * @typedef {{ name: string, symbol: string, what: string, allowed: string, whole: boolean,
 *   start: number, slider: [number, number], least: number, most: number,
 *   leastIn: boolean, mostIn: boolean }} Parameter
 */
/** @typedef {{ setups: Step[][], delta: number, eps: number, fpr: number, mu: number | null }} State */

export const MOST_SETUPS = 4;
const MOST_STEPS = 8;
const MOST_RUNS = 100000;

/** @type {Record<string, { title: string, parameters: Parameter[] }>} */
export const DECLARED =
  typeof document === "undefined" ? {} : JSON.parse(document.getElementById("declared")?.textContent ?? "{}");

const TABLE = "eps,delta\n0.5,1e-3\n1,1e-5\n2,1e-7\n4,0\n";

/** A new step of a kind. @param {string} kind @returns {Step} */
export function newStep(kind) {
  const values = Object.fromEntries(DECLARED[kind].parameters.map((one) => [one.name, one.start]));
  return { kind, values, count: 1, ...(kind === "table" ? { text: TABLE } : {}) };
}

/** @returns {State} */
export const start = () => ({ setups: [[newStep("laplace")]], delta: 1e-5, eps: 1, fpr: 0.01, mu: null });

/**
 * Whether a number may stand for a parameter.
 * @param {Parameter} parameter @param {number} value
 */
export const isAllowed = (parameter, value) =>
  Number.isFinite(value) &&
  (value > parameter.least || (parameter.leastIn && value === parameter.least)) &&
  (value < parameter.most || (parameter.mostIn && value === parameter.most)) &&
  (!parameter.whole || Number.isInteger(value));

/** @param {number} value */
export const isCount = (value) => Number.isInteger(value) && value >= 1 && value <= MOST_RUNS;

/** @param {State} state */
export function toHash(state) {
  const query = new URLSearchParams();
  for (const setup of state.setups) {
    const steps = setup.map(({ kind, values, count, text }) => {
      const words = [kind, ...Object.entries(values).map(([name, value]) => `${name}=${value}`)];
      if (count !== 1) words.push(`count=${count}`);
      if (text !== undefined) words.push(`text=${encodeURIComponent(text)}`);
      return words.join(";");
    });
    query.append("m", steps.join("|"));
  }
  query.set("delta", String(state.delta));
  query.set("eps", String(state.eps));
  query.set("fpr", String(state.fpr));
  if (state.mu !== null) query.set("mu", String(state.mu));
  return `#${query}`;
}

/**
 * The state in a URL; what cannot be is passed over.
 * @param {string} hash
 * @returns {State}
 */
export function fromHash(hash) {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const setups = query.getAll("m").slice(0, MOST_SETUPS).flatMap((text) => {
    const steps = text.split("|").slice(0, MOST_STEPS).flatMap(stepOf);
    return steps.length ? [steps] : [];
  });
  const state = start();
  if (setups.length) state.setups = setups;
  /** @param {string} name @param {number} otherwise @param {number} top */
  const number = (name, otherwise, top) => {
    const value = Number(query.get(name) ?? NaN);
    return value > 0 && value < top ? value : otherwise;
  };
  state.delta = number("delta", state.delta, 1);
  state.eps = Number(query.get("eps") ?? NaN) === 0 ? 0 : number("eps", state.eps, 1e4);
  state.fpr = number("fpr", state.fpr, 1);
  state.mu = query.has("mu") ? number("mu", 1, 1000) : null;
  return state;
}

/** @param {string} text @returns {Step[]} */
function stepOf(text) {
  const [kind, ...words] = text.split(";");
  if (!Object.hasOwn(DECLARED, kind)) return [];
  const step = newStep(kind);
  for (const word of words) {
    const cut = word.indexOf("=");
    const [name, value] = [word.slice(0, cut), word.slice(cut + 1)];
    const parameter = DECLARED[kind].parameters.find((one) => one.name === name);
    if (parameter && isAllowed(parameter, Number(value))) step.values[name] = Number(value);
    else if (name === "count" && isCount(Number(value))) step.count = Number(value);
    else if (name === "text" && kind === "table") step.text = safely(value);
  }
  return [step];
}

/** @param {string} text */
function safely(text) {
  try {
    return decodeURIComponent(text).slice(0, 20000);
  } catch {
    return text;
  }
}

/** @param {Step} step */
const optionsOf = ({ values }) =>
  Object.entries(values).map(([name, value]) => `--${name.replaceAll("_", "-")} ${plain(value)}`).join(" ");

/**
 * The mechanism as words of a command, and the file that they name, if any.
 * @param {Step[]} setup
 * @returns {{ words: string, file: { name: string, text: string } | null }}
 */
export function wordsOf(setup) {
  const [step] = setup;
  if (setup.length === 1 && step.kind === "table") {
    return { words: "table pairs.csv", file: { name: "pairs.csv", text: step.text ?? "" } };
  }
  if (setup.length === 1) {
    const many = step.count > 1 ? ` --compose ${step.count}` : "";
    return { words: `${step.kind} ${optionsOf(step)}${many}`, file: null };
  }
  const text = ['kind = "sequence"', ...setup.map(partOf)].join("\n");
  return { words: "--spec parts.toml", file: { name: "parts.toml", text } };
}

/** @param {Step} step */
function partOf({ kind, values, count }) {
  const lines = Object.entries(values).map(([name, value]) => `${name} = ${value}`);
  if (count > 1) lines.push(`count = ${count}`);
  return `\n[[parts]]\nkind = "${kind}"\n${lines.join("\n")}`;
}

/** A number as people write it: 1e-5, not 0.00001. @param {number} value */
export function plain(value) {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential().replace("e+", "e") : String(value);
}

/** What stands over an answer. @param {Step[]} setup */
export const titleOf = (setup) =>
  setup.map(({ kind, count }) => (count > 1 ? `${count} × ${DECLARED[kind].title}` : DECLARED[kind].title)).join(" + ");

export { KINDS };
