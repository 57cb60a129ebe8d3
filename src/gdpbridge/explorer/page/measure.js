// The least μ of a curve, what it covers, and what follows from a curve at a point.

import { falling, muOf } from "./gaussian.js";
import { quantileOfLog, root } from "./special.js";

/** @typedef {import("./atoms.js").Curve} Curve */
/** @typedef {import("./gaussian.js").Delta} Delta */

/** what may fail, where the μ for every ε says little */
const FAILURE = 1e-10;

/**
 * @typedef {object} Measured
 * @property {number} mu
 * @property {"whole" | "head" | "approximate"} statement
 * @property {number} p the failure probability, δ(ε_h) for a head
 * @property {number | null} epsH
 * @property {number} at where G is largest
 * @property {number} end where the search ended
 */

/** (δ - p)/(1 - p) @param {Delta} delta @param {number} p @returns {Delta} */
export function past(delta, p) {
  if (!p) return delta;
  if (delta.log > -0.5) {
    const rest = Math.min(delta.rest - Math.log1p(-p), 0);
    return { ...delta, log: Math.log1p(-Math.exp(rest)), rest };
  }
  const share = (Math.exp(delta.log) - p) / (1 - p);
  const error = ((delta.error ?? 0) * Math.exp(delta.log)) / ((1 - p) * share);
  return share > 0 ? { log: Math.log(share), rest: Math.log1p(-share), error } : { log: -Infinity, rest: 0 };
}

/**
 * G(ε), of what is left past p.
 * @param {Curve} curve @param {number} eps @param {number} p
 */
const transform = (curve, eps, p) => muOf(eps, past(curve.delta(eps), p));

/**
 * @param {Curve} curve
 * @returns {Measured}
 */
export function measure(curve) {
  if (curve.mu !== undefined) {
    return { mu: curve.mu, statement: "whole", p: 0, epsH: null, at: 0, end: 8 * curve.mu + 1 };
  }
  if (curve.known !== undefined) {
    const at = best(curve, curve.known, 0);
    const p = Math.exp(curve.delta(curve.known).log);
    return { ...at, statement: "head", p, epsH: curve.known, end: curve.known };
  }
  const bounded = curve.end < Infinity;
  const endless = !bounded && !curve.segments;
  const p = 0 - Math.expm1(Math.log1p(-curve.infinite) + (endless ? Math.log1p(-FAILURE) : 0));
  let { end } = curve;
  if (curve.segments) end = curve.segments[curve.segments.length - 1].high;
  else if (endless) end = fallen(curve, Math.log(p));
  const found = best(curve, end, p);
  return { ...found, statement: p ? "approximate" : "whole", p, epsH: null, end };
}

/**
 * The largest G on [0, end].
 * @param {Curve} curve @param {number} end @param {number} p
 */
function best(curve, end, p) {
  let [mu, at] = [transform(curve, 0, p), 0];
  /** @param {number} eps @param {number} value */
  const consider = (eps, value) => {
    if (value > mu) [mu, at] = [value, eps];
  };
  if (curve.segments) {
    for (const { low, high, a, b } of curve.segments) {
      // the Gaussian curve that touches this line, if it does so between its ends
      const x = -normal(a);
      const one = -x - normal(b);
      const eps = one * x + (one * one) / 2;
      if (eps >= low && eps <= high) consider(eps, one);
    }
    if (curve.known !== undefined) consider(end, transform(curve, end, p));
    return { mu, at };
  }
  const count = 24;
  const values = [];
  for (let k = 0; k <= count; k++) values.push(transform(curve, (end * k) / count, p));
  values.forEach((value, k) => consider((end * k) / count, value));
  const place = values.indexOf(Math.max(...values));
  let [low, high] = [(end * Math.max(place - 1, 0)) / count, (end * Math.min(place + 1, count)) / count];
  // golden section
  const ratio = (Math.sqrt(5) - 1) / 2;
  let [x, y] = [high - ratio * (high - low), low + ratio * (high - low)];
  let [fx, fy] = [transform(curve, x, p), transform(curve, y, p)];
  while (high - low > 1e-5 * (end || 1)) {
    if (fx > fy) {
      [high, y, fy] = [y, x, fx];
      x = high - ratio * (high - low);
      fx = transform(curve, x, p);
    } else {
      [low, x, fx] = [x, y, fy];
      y = low + ratio * (high - low);
      fy = transform(curve, y, p);
    }
  }
  consider(x, fx);
  consider(y, fy);
  return { mu, at };
}

/** Φ⁻¹ of a probability in two logarithms @param {Delta} p */
const normal = (p) => (p.log < -0.6931471805599453 ? quantileOfLog(p.log) : -quantileOfLog(p.rest));

/**
 * The least ε at δ; Infinity where δ(ε) stays above.
 * @param {Curve} curve @param {number} delta
 */
export function epsilonAt(curve, delta) {
  if (delta < curve.infinite) return Infinity;
  if (curve.known !== undefined && delta < Math.exp(curve.delta(curve.known).log)) return Infinity;
  return fallen(curve, Math.log(delta));
}

/** Where log δ comes down to a value. @param {Curve} curve @param {number} value */
function fallen(curve, value) {
  const log = (/** @type {number} */ eps) => curve.delta(eps).log;
  if (!curve.most || curve.infinite) return falling(log, value, curve.end);
  if (log(0) <= value) return 0;
  // a δ far below would take most of the work: not far beyond where it is wanted
  let high = 1e-6;
  while (curve.most(high) > value && high < curve.end) high *= 2;
  high = Math.min(high, curve.end);
  let [low, eps] = [0, high / 64];
  while (eps < high && log(eps) > value) [low, eps] = [eps, 1.3 * eps];
  return root((at) => value - log(at), low, Math.min(eps, high), 1e-12);
}
