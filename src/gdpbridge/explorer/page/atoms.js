// Losses that are single numbers: convolved, and δ(ε) linear in e^ε between them.

import { deltaOf } from "./gaussian.js";
import { Unable } from "./laws.js";

/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./gaussian.js").Delta} Delta */
/** @typedef {{ law: Law, times: number }} Part */

const MOST_ATOMS = 60000;
/** pairs of losses that are added one by one, and those on one lattice, which are cheaper */
const [MOST_PAIRS, MOST_ON_LATTICE] = [4e5, 1e7];

/**
 * Discrete losses: ascending, with the masses of P.
 * @typedef {{ losses: Float64Array, masses: Float64Array }} Atoms
 */

/** How far losses are from each other, if all equally; else 0. @param {Atoms} atoms */
function spacingOf({ losses }) {
  const step = (losses[losses.length - 1] - losses[0]) / (losses.length - 1);
  return losses.every((loss, k) => Math.abs(losses[0] + k * step - loss) < 1e-9 * step) ? step : 0;
}

/** @param {Atoms} a @param {Atoms} b @param {number} step @returns {Atoms} */
function onLattice(a, b, step) {
  const masses = new Float64Array(a.losses.length + b.losses.length - 1);
  for (let i = 0; i < a.masses.length; i++) {
    for (let j = 0; j < b.masses.length; j++) masses[i + j] += a.masses[i] * b.masses[j];
  }
  return { losses: masses.map((_, k) => a.losses[0] + b.losses[0] + k * step), masses };
}

/** @param {Atoms} a @param {Atoms} b @returns {Atoms} */
function convolved(a, b) {
  const size = a.losses.length * b.losses.length;
  const step = spacingOf(a);
  if (step && Math.abs(spacingOf(b) / step - 1) < 1e-9 && size <= MOST_ON_LATTICE) return onLattice(a, b, step);
  if (size > MOST_PAIRS) throw new Unable("so many runs have more losses than this page composes");
  // equal up to rounding: on a lattice most sums are
  /** @type {Map<number, number>} */
  const found = new Map();
  const top = a.losses[a.losses.length - 1] + b.losses[b.losses.length - 1];
  const grid = 1e11 / Math.max(top, 1e-300);
  for (let i = 0; i < a.losses.length; i++) {
    for (let j = 0; j < b.losses.length; j++) {
      const mass = a.masses[i] * b.masses[j];
      if (mass === 0) continue;
      const key = Math.round((a.losses[i] + b.losses[j]) * grid);
      found.set(key, (found.get(key) ?? 0) + mass);
    }
  }
  if (found.size > MOST_ATOMS) {
    throw new Unable("so many runs have more losses than this page composes");
  }
  const keys = Float64Array.from(found.keys()).sort();
  return {
    losses: keys.map((key) => key / grid),
    masses: keys.map((key) => /** @type {number} */ (found.get(key))),
  };
}

/**
 * The losses of so many runs; two losses make a binomial law.
 * @param {{ losses: number[], masses: number[] }} one
 * @param {number} times
 * @returns {Atoms}
 */
function power(one, times) {
  if (one.losses.length === 2) {
    const [low, high] = one.losses;
    const [logLow, logHigh] = one.masses.map(Math.log);
    const losses = new Float64Array(times + 1);
    const masses = new Float64Array(times + 1);
    let choices = 0;
    for (let k = 0; k <= times; k++) {
      losses[k] = (times - k) * low + k * high;
      masses[k] = Math.exp(choices + (times - k) * logLow + k * logHigh);
      choices += Math.log((times - k) / (k + 1));
    }
    return { losses, masses };
  }
  /** @type {Atoms | null} */
  let found = null;
  /** @type {Atoms} */
  let square = { losses: Float64Array.from(one.losses), masses: Float64Array.from(one.masses) };
  for (let left = times; left; left >>= 1) {
    if (left & 1) found = found ? convolved(found, square) : square;
    if (left > 1) square = convolved(square, square);
  }
  return /** @type {Atoms} */ (found);
}

/**
 * A curve as the page uses it.
 * @typedef {object} Curve
 * @property {(eps: number) => Delta} delta
 * @property {number} end δ(ε) = δ_∞ from here on; Infinity if it keeps falling
 * @property {number} infinite δ_∞
 * @property {number} [known] nothing is known of δ beyond it
 * @property {number} [mu] if it is a Gaussian curve
 * @property {(eps: number) => number} [most] at most log (δ - δ_∞)/(1 - δ_∞), at once
 * @property {Segment[]} [segments] where δ is linear in e^ε
 */

/**
 * Between two losses (δ - δ_∞)/(1 - δ_∞) = A - e^ε·B.
 * @typedef {{ low: number, high: number, a: Delta, b: Delta }} Segment
 */

/**
 * The curve of discrete losses.
 * @param {Atoms} atoms
 * @param {number} infinite
 * @returns {Curve}
 */
export function atomCurve({ losses, masses }, infinite) {
  const n = losses.length;
  const total = 1 - infinite;
  // A = P(L ≥ l_j), B = Q(L ≥ l_j), each from the top; their rests from the bottom
  const a = new Float64Array(n + 1);
  const b = new Float64Array(n + 1);
  for (let j = n - 1; j >= 0; j--) {
    a[j] = a[j + 1] + masses[j];
    b[j] = b[j + 1] + masses[j] * Math.exp(-losses[j]);
  }
  const below = new Float64Array(n + 1);
  for (let j = 0; j < n; j++) below[j + 1] = below[j] + masses[j];
  /** @type {Segment[]} */
  const segments = [];
  for (let j = 0; j < n; j++) {
    if (losses[j] <= 0 && j < n - 1) continue;
    const low = j ? Math.max(losses[j - 1], 0) : 0;
    const [logA, logB] = [Math.log(a[j] / total), Math.log(b[j] / total)];
    segments.push({
      low,
      high: losses[j],
      a: { log: logA, rest: Math.log(below[j] / total) },
      b: deltaOf(Math.min(logB, 0)),
    });
  }
  return {
    end: losses[n - 1],
    infinite,
    segments,
    delta(eps) {
      let [low, high] = [0, n];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (losses[middle] > eps) high = middle;
        else low = middle + 1;
      }
      // sums of a few terms, without cancellation; the others' cancellation is slight
      let found = 0;
      if (n - low <= 64) {
        for (let j = low; j < n; j++) found -= masses[j] * Math.expm1(eps - losses[j]);
      } else found = a[low] - Math.exp(eps) * b[low];
      if (found < 0.5) return deltaOf(Math.log(Math.max(found, 0) + infinite));
      const rest = below[low] + Math.exp(eps) * b[low];
      return { log: Math.log1p(-rest), rest: Math.log(rest) };
    },
  };
}

/** @param {Part[]} parts @returns {Atoms | null} */
export function jointAtoms(parts) {
  /** @type {Atoms | null} */
  let found = null;
  for (const { law, times } of parts) {
    if (!law.atoms) return null;
    const one = power(law.atoms, times);
    found = found ? convolved(found, one) : one;
  }
  return found;
}
