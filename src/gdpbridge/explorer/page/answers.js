// All that the page says of a setup, as numbers.

import { gaussianDelta, gaussianTradeoff, muOf } from "./gaussian.js";
import { curveOf } from "./mechanisms.js";
import { epsilonAt, measure, past } from "./measure.js";

/** @typedef {import("./mechanisms.js").Step} Step */
/** @typedef {import("./measure.js").Measured} Measured */
/** @typedef {import("./composed.js").Curve} Curve */

/**
 * @typedef {object} Answer
 * @property {Curve} curve
 * @property {Measured} found
 * @property {number} epsilon the least ε at the δ asked for
 * @property {number} delta δ at the ε asked for
 * @property {number} tpr the largest true-positive rate at the false-positive rate asked for
 * @property {number} error the relative error of δ, as far as the sums tell it
 */

/**
 * @param {Step[]} setup
 * @param {{ delta: number, eps: number, fpr: number }} asked
 * @returns {Answer}
 */
export function answer(setup, asked) {
  const curve = curveOf(setup);
  const found = measure(curve);
  const epsilon = epsilonAt(curve, asked.delta);
  // what holds where a table ends holds beyond it
  const delta = Math.exp(curve.delta(Math.min(asked.eps, curve.known ?? asked.eps)).log);
  const tpr = 1 - gaussianTradeoff(asked.fpr, found.mu, found.p);
  return { curve, found, epsilon, delta, tpr, error: curve.error ?? 0 };
}

/**
 * Points of δ(ε) and G(ε), and the trade-off function that they imply.
 * @param {Answer} answer @param {number} end
 */
export function linesOf({ curve, found }, end) {
  const last = Math.min(end, curve.known ?? end);
  const stops = new Set([0, Math.min(curve.end, last)]);
  for (let k = 0; k <= 48; k++) stops.add((last * k) / 48);
  const eps = [...stops].sort((a, b) => a - b);
  const deltas = eps.map((one) => curve.delta(one));
  const profile = /** @type {[number, number][]} */ (eps.map((one, k) => [one, Math.exp(deltas[k].log)]));
  const transforms = /** @type {[number, number][]} */ (
    eps.flatMap((one, k) => (one <= curve.end ? [[one, muOf(one, past(deltas[k], found.p))]] : []))
  );
  /** @type {[number, number][]} */
  const tradeoff = [];
  for (let k = 0; k <= 100; k++) {
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
