// All that the page says of a setup, as numbers.

import { gaussianDelta, gaussianTradeoff, muOf } from "./gaussian.js";
import { curveOf } from "./mechanisms.js";
import { epsilonAt, measure, past } from "./measure.js";

/** @typedef {import("./mechanisms.js").Step} Step */
/** @typedef {import("./measure.js").Measured} Measured */
/** @typedef {import("./atoms.js").Curve} Curve */

/**
 * @typedef {object} Answer
 * @property {Curve} curve
 * @property {Measured} found
 * @property {number} epsilon the least ε at the δ asked for
 * @property {number} delta δ at the ε asked for
 * @property {number} tpr the largest true-positive rate at the false-positive rate asked for
 * @property {{ mu: number, epsilon: number, delta: number }} errors the share that each may be off
 *   by, as far as the sums tell it
 */

/** a number that may be off by a larger share is not shown, and from the other on it is said */
export const [LOST, ROUGH] = [0.01, 1e-6];

/** the curves of the last settings: a δ or an ε asked for, or another setting's slider, leaves them */
const KEPT = 8;
/** @type {Map<string, { curve: Curve, found: Measured }>} */
const kept = new Map();

/** @param {Step[]} setup */
function measured(setup) {
  const key = JSON.stringify(setup);
  let one = kept.get(key);
  if (!one) {
    const curve = curveOf(setup);
    one = { curve, found: measure(curve) };
  }
  kept.delete(key);
  kept.set(key, one);
  if (kept.size > KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
  return one;
}

/**
 * @param {Step[]} setup
 * @param {{ delta: number, eps: number, fpr: number }} asked
 * @returns {Answer}
 */
export function answer(setup, asked) {
  const { curve, found } = measured(setup);
  const epsilon = epsilonAt(curve, asked.delta);
  // what holds where a table ends holds beyond it
  const at = curve.delta(Math.min(asked.eps, curve.known ?? asked.eps));
  const tpr = 1 - gaussianTradeoff(asked.fpr, found.mu, found.p);
  const errors = {
    mu: past(curve.delta(found.at), found.p).error ?? 0,
    epsilon: errorOf(curve, epsilon),
    delta: at.error ?? 0,
  };
  return { curve, found, epsilon, delta: Math.exp(at.log), tpr, errors };
}

/** The share that an ε may be off by: that of δ over its slope. @param {Curve} curve @param {number} eps */
function errorOf(curve, eps) {
  const at = curve.delta(Number.isFinite(eps) ? eps : 0);
  if (!at.error || eps === Infinity) return 0;
  if (eps === 0) return at.error;
  return (1e-3 * at.error) / Math.abs(curve.delta(eps * 1.001).log - at.log);
}

/**
 * Points of δ(ε) and G(ε), and the trade-off function that they imply.
 * @param {Answer} answer @param {number} end
 */
export function linesOf({ curve, found }, end) {
  const last = Math.min(end, curve.known ?? end);
  const stops = new Set([0, Math.min(curve.end, last)]);
  for (let k = 0; k <= 48; k++) stops.add((last * k) / 48);
  // what the sums do not tell to a hundredth is not drawn
  const drawn = [...stops].sort((a, b) => a - b).map((eps) => ({ eps, at: curve.delta(eps) }));
  const known = drawn.filter(({ at }) => !((at.error ?? 0) > LOST));
  const profile = /** @type {[number, number][]} */ (known.map(({ eps, at }) => [eps, Math.exp(at.log)]));
  const transforms = /** @type {[number, number][]} */ (
    known.flatMap(({ eps, at }) => {
      const rest = past(at, found.p);
      // G ends where all but the failure is spent
      return eps <= curve.end && !((rest.error ?? 0) > LOST) && (rest.log > -Infinity || !found.p) ? [[eps, muOf(eps, rest)]] : [];
    })
  );
  /** @type {[number, number][]} */
  const tradeoff = [];
  for (let k = 0; k <= 100 && profile.length > 1; k++) {
    const alpha = (k / 100) ** 2;
    let f = 0;
    for (const [one, delta] of profile) {
      f = Math.max(f, 1 - delta - Math.exp(one) * alpha, Math.exp(-one) * (1 - delta - alpha));
    }
    tradeoff.push([alpha, f]);
  }
  return { profile, transforms, tradeoff };
}

/** The Gaussian curve of a μ, for the charts. @param {number} mu @param {number} end */
export function gaussianLines(mu, end) {
  /** @type {[number, number][]} */
  const profile = [];
  /** @type {[number, number][]} */
  const tradeoff = [];
  for (let k = 0; k <= 100; k++) {
    const eps = (end * k) / 100;
    profile.push([eps, Math.exp(gaussianDelta(eps, mu).log)]);
    const alpha = (k / 100) ** 2;
    tradeoff.push([alpha, gaussianTradeoff(alpha, mu, 0)]);
  }
  return { profile, tradeoff, transforms: /** @type {[number, number][]} */ ([[0, mu], [end, mu]]) };
}

/**
 * Ask backwards: the value of a parameter with which a target is met, from the safe side.
 * @param {Step[]} setup @param {number} place @param {string} name
 * @param {{ what: "mu" | "epsilon", target: number, delta: number, low: number, high: number, whole: boolean }} asked
 * @returns {number | null} null where no value between low and high meets it
 */
export function calibrated(setup, place, name, asked) {
  /** @param {number} log of the parameter */
  const reached = (log) => {
    const value = asked.whole ? Math.max(Math.round(Math.exp(log)), 1) : Math.exp(log);
    const changed = setup.map((step, k) =>
      k === place ? { ...step, values: { ...step.values, [name]: value } } : step,
    );
    try {
      const curve = curveOf(changed);
      return asked.what === "mu" ? measure(curve).mu : epsilonAt(curve, asked.delta);
    } catch {
      return Infinity;
    }
  };
  const meets = (/** @type {number} */ log) => reached(log) <= asked.target;
  const [low, high] = [Math.log(asked.low), Math.log(asked.high)];
  const now = Math.log(setup[place].values[name]);
  // which way is safer, and from here as far as it takes, no further
  const safer = reached(Math.min(now + 0.7, high)) < reached(Math.max(now - 0.7, low)) ? 1 : -1;
  const move = (/** @type {number} */ log, /** @type {number} */ by) => Math.min(Math.max(log + by, low), high);
  let [good, bad] = [now, now];
  while (!meets(good)) {
    bad = good;
    good = move(good, safer);
    if (good === bad) return null;
  }
  while (meets(bad)) {
    good = bad;
    bad = move(bad, -safer);
    if (bad === good) return Math.exp(good);
  }
  for (let k = 0; k < 60 && Math.abs(good - bad) > 1e-7; k++) {
    const middle = (good + bad) / 2;
    if (meets(middle)) good = middle;
    else bad = middle;
  }
  const value = Math.exp(good);
  if (asked.whole) return Math.max(Math.round(value), 1);
  // six digits, rounded towards the side that meets the target
  const step = 10 ** (Math.floor(Math.log10(value)) - 5);
  const rounded = (good > bad ? Math.ceil(value / step) : Math.floor(value / step)) * step;
  return Number(rounded.toPrecision(7));
}
