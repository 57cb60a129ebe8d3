// δ(ε) of several runs, from the laws of their privacy losses.
//
// Where losses are single numbers they are convolved. Else D(ε) = E_P[(1 - e^{ε-L})⁺; L < ∞] is
// the integral of M(s)e^{-sε}/(s(s+1)) along Re s = c, as a sum over nodes h apart. The full sum is
// D and its aliases 2π/h away, all of one sign, which Chernoff's bound keeps small
// (docs/composition.md has the proof; here all is in floating point and nothing is proved).

import { deltaOf } from "./gaussian.js";
import { Unable } from "./laws.js";
import { logAdd } from "./special.js";

/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./gaussian.js").Delta} Delta */
/** @typedef {{ law: Law, times: number }} Part */

const MOST_NODES = 65536;
const MOST_ATOMS = 60000;
/** the aliases, and what is cut from a sum, may be so small a share of it */
const SHARE = 1e-10;
/** a δ below is shown as being below */
export const LEAST = 1e-30;
const LOG_LEAST = Math.log(LEAST);
/** without a smooth part sums converge slowly; what is left out alternates, and is less than its bound */
const SHARE_OF_ROUGH = 3e-7;

/**
 * Discrete losses: ascending, with the masses of P.
 * @typedef {{ losses: Float64Array, masses: Float64Array }} Atoms
 */

/** @param {Atoms} a @param {Atoms} b @returns {Atoms} */
function convolved(a, b) {
  const size = a.losses.length * b.losses.length;
  if (size > 4e7) throw new Unable("so many runs have more losses than this page composes");
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
 * @property {Segment[]} [segments] where δ is linear in e^ε
 * @property {number} [error] the largest relative error of δ so far, as far as the sums tell it
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

/** One line Re s = c: coefficients of the sum, for every ε; more of them where one needs more. */
class Line {
  /**
   * @param {Composition} of
   * @param {number} c
   * @param {number} period
   */
  constructor(of, c, period) {
    this.of = of;
    this.c = c;
    this.h = (2 * Math.PI) / period;
    this.log = of.logM(c);
    this.re = new Float64Array(0);
    this.im = new Float64Array(0);
    /** at most what is left out, without M(c)e^{-cε} */
    this.cut = Infinity;
    this.fill(64);
  }

  /** @param {number} count */
  fill(count) {
    const { c, h } = this;
    const { re, im } = this.of.values(c, h, count);
    /** what is left out: the largest of the last quarter, as if it went on */
    let last = 0;
    for (let k = (3 * count) >> 2; k < count; k++) last = Math.max(last, Math.hypot(re[k], im[k]));
    this.cut = last / (Math.PI * h * count);
    // over s(s+1) = c² - y² + c + iy(2c + 1)
    for (let k = 0; k < count; k++) {
      const y = k * h;
      const [sr, si] = [c * c + c - y * y, y * (2 * c + 1)];
      const square = sr * sr + si * si;
      const [x, z] = [re[k], im[k]];
      re[k] = (x * sr + z * si) / square;
      im[k] = (z * sr - x * si) / square;
    }
    re[0] /= 2;
    this.re = re;
    this.im = im;
  }

  /**
   * The sum at ε, from as many nodes as it needs.
   * @param {number} eps
   * @param {number} [beside] what is added to it afterwards
   */
  enough(eps, beside = 0) {
    for (;;) {
      const sum = Math.abs(this.sum(eps));
      const size = this.re.length;
      const share = this.of.atoms ? SHARE_OF_ROUGH : SHARE;
      if (this.cut <= share * (sum + beside) || size >= MOST_NODES) return Math.max(sum, 1e-300);
      this.fill(4 * size);
    }
  }

  /** The sum over both halves of the line, without M(c)e^{-cε}. @param {number} eps */
  sum(eps) {
    const step = this.h * eps;
    const [cos, sin] = [Math.cos(step), -Math.sin(step)];
    let total = 0;
    let [x, y] = [1, 0];
    for (let k = 0; k < this.re.length; k++) {
      if ((k & 255) === 0) [x, y] = [Math.cos(k * step), -Math.sin(k * step)];
      total += this.re[k] * x - this.im[k] * y;
      [x, y] = [x * cos - y * sin, x * sin + y * cos];
    }
    return (total * this.h) / Math.PI;
  }
}

/** Several runs in one order of the pair: D(ε), and H(ε) = M(0) - D(ε) near 1. */
export class Composition {
  /** @param {Part[]} parts @param {boolean} back */
  constructor(parts, back) {
    this.parts = parts;
    this.back = back;
    /** @type {Map<number, number>} */
    this.known = new Map();
    /** @type {Map<number, Line>} */
    this.lines = new Map();
    this.error = 0;
    /** a moment function is off by some units, and its power by so many times that */
    this.unit = parts.reduce((sum, part) => sum + 5e-15 * part.times, 1e-15);
    /** the atoms of what has no smooth part are taken out, and added exactly */
    this.atoms = parts.some((part) => part.law.smooth) ? null : jointAtoms(parts);
    this.exact = this.atoms && atomCurve(this.atoms, 0);
    /** tilts: fine enough that a line serves what lies between two of them */
    this.tilts = Array.from({ length: 76 }, (_, k) => 1e-3 * 1.2 ** k);
    this.base = this.logM(0);
  }

  /** @param {number} c */
  logM(c) {
    let found = this.known.get(c);
    if (found === undefined) {
      found = 0;
      for (const { law, times } of this.parts) found += times * law.logM(c, this.back);
      if (Number.isNaN(found)) found = Infinity;
      this.known.set(c, found);
    }
    return found;
  }

  /** M/M(c) at the nodes, less that of the atoms. @param {number} c @param {number} h @param {number} count */
  values(c, h, count) {
    const re = new Float64Array(count).fill(1);
    const im = new Float64Array(count);
    for (const { law, times } of this.parts) {
      const one = law.line(c, h, count, this.back);
      for (let k = 0; k < count; k++) {
        const [x, y] = [one.re[k], one.im[k]];
        const size = (x * x + y * y) ** (times / 2);
        const angle = times * Math.atan2(y, x);
        const [pr, pi] = [size * Math.cos(angle), size * Math.sin(angle)];
        [re[k], im[k]] = [re[k] * pr - im[k] * pi, re[k] * pi + im[k] * pr];
      }
    }
    if (this.atoms) {
      const log = this.logM(c);
      const { losses, masses } = this.atoms;
      for (let j = 0; j < losses.length; j++) {
        const weight = masses[j] * Math.exp(c * losses[j] - log);
        if (weight < 1e-18) continue;
        for (let k = 0; k < count; k++) {
          re[k] -= weight * Math.cos(k * h * losses[j]);
          im[k] -= weight * Math.sin(k * h * losses[j]);
        }
      }
    }
    return { re, im };
  }

  /** log of Chernoff's bound κ(b)M(b)e^{-bε}. @param {number} b @param {number} eps */
  chernoff(b, eps) {
    const kappa = b > 0 ? b * Math.log(b) - (1 + b) * Math.log1p(b) : 0;
    return this.logM(b) - b * eps + kappa;
  }

  /** log of the least of Chernoff's bounds. @param {number} eps */
  least(eps) {
    let found = Infinity;
    for (const c of this.tilts) {
      const bound = this.chernoff(c, eps);
      if (bound > found) break;
      found = bound;
    }
    return found - this.base;
  }

  /**
   * log of the aliases of a line.
   * @param {number} c @param {number} period @param {number} eps @param {number[]} tilts
   */
  aliases(c, period, eps, tilts) {
    const best = [Infinity, Infinity];
    for (const b of tilts) {
      if (b === c) continue;
      const fall = -Math.abs(b - c) * period;
      const bound = this.chernoff(b, eps) + fall - Math.log(-Math.expm1(fall));
      const side = b > c ? 0 : 1;
      best[side] = Math.min(best[side], bound);
    }
    return logAdd(best[0], best[1]);
  }

  /**
   * log D(ε), or log H(ε) where `tilts` are in (-1, 0).
   * @param {number} eps
   * @param {number[]} tilts
   */
  onLines(eps, tilts) {
    // the tilt whose integrand is least
    let [place, least] = [0, Infinity];
    for (let k = 0; k < tilts.length; k++) {
      const c = tilts[k];
      const value = this.logM(c) - c * eps - Math.log(Math.abs(c * (c + 1)));
      if (value < least) [place, least] = [k, value];
      // convex in c: it only rises from here
      else if (value > least + 60) break;
    }
    const c = tilts[place];
    const near = tilts.slice(0, Math.min(place + 30, tilts.length));
    // M may rise at once beyond c, where few steps of many see a record
    const others = c > 0 ? [0, ...near, 1.02 * c, 1.08 * c] : [-0.999, ...near, -0.001, 0];
    let wanted = least - 12;
    for (let level = 0, tried = -1; ; tried = level) {
      const enough = wanted + Math.log(SHARE);
      while (level < 40 && this.aliases(c, periodOf(level), eps, others) > enough) level++;
      const key = c * 64 + level;
      let line = this.lines.get(key);
      if (!line) {
        line = new Line(this, c, periodOf(level));
        this.lines.set(key, line);
      }
      const factor = line.log - c * eps;
      const beside = Math.exp(this.ofAtoms(eps, c) - factor);
      const sum = line.enough(eps, beside);
      const found = factor + Math.log(sum);
      // the aliases are to be small beside what was found, and what was found may be aliases
      if (level === tried || found >= wanted || line.re.length >= MOST_NODES || level >= 40) {
        this.error = (line.cut + (this.unit / Math.abs(c * (c + 1)))) / (sum + beside);
        if (level < 40 && found < wanted) {
          const aliased = Math.exp(this.aliases(c, periodOf(level), eps, others) - found);
          this.error = Math.max(this.error, Math.min(aliased, 1));
        }
        return found;
      }
      wanted = found;
    }
  }

  /** log of what the atoms have of D, or of H. @param {number} eps @param {number} c */
  ofAtoms(eps, c) {
    if (!this.exact || !this.atoms) return -Infinity;
    const at = this.exact.delta(eps);
    if (c > 0) return at.log;
    let mass = 0;
    for (const one of this.atoms.masses) mass += one;
    return Math.log(Math.max(mass - Math.exp(at.log), 1e-300));
  }

  /** @param {number} eps @returns {Delta} of D over M(0) */
  delta(eps) {
    const log = logAdd(this.onLines(eps, this.tilts), this.ofAtoms(eps, 1)) - this.base;
    if (log < -0.5) return deltaOf(log);
    const rest = logAdd(this.onLines(eps, BELOW), this.ofAtoms(eps, -1)) - this.base;
    return { log: Math.log1p(-Math.exp(Math.min(rest, 0))), rest: Math.min(rest, 0) };
  }
}

/** tilts in (-1, 0), from the one near 0 on */
const BELOW = [-0.02, -0.05, -0.1, -0.2, -0.35, -0.5, -0.65, -0.8, -0.9, -0.95, -0.98];

/** @param {number} level */
const periodOf = (level) => 0.05 * Math.SQRT2 ** level;

/** @param {Part[]} parts @returns {Atoms | null} */
function jointAtoms(parts) {
  /** @type {Atoms | null} */
  let found = null;
  for (const { law, times } of parts) {
    if (!law.atoms) return null;
    const one = power(law.atoms, times);
    found = found ? convolved(found, one) : one;
  }
  return found;
}

/**
 * The curve of parts that are run one after another.
 * @param {Part[]} parts
 * @returns {Curve}
 */
export function composedCurve(parts) {
  let kept = 0;
  for (const { law, times } of parts) kept += times * Math.log1p(-law.infinite);
  const infinite = -Math.expm1(kept);
  if (parts.every((part) => part.law.whole)) {
    return atomCurve(/** @type {Atoms} */ (jointAtoms(parts)), infinite);
  }
  const forth = new Composition(parts, false);
  const back = parts.some((part) => part.law.twoSided) ? new Composition(parts, true) : null;
  const ends = parts.map(({ law, times }) =>
    law.atoms ? times * law.atoms.losses[law.atoms.losses.length - 1] : Infinity,
  );
  const end = ends.reduce((sum, one) => sum + one, 0);
  return {
    end,
    infinite,
    error: 0,
    delta(eps) {
      if (eps >= end) return deltaOf(Math.log(infinite));
      let found = forth.delta(eps);
      let { error } = forth;
      if (back) {
        // mostly far below, which Chernoff's bound tells at once
        const other = back.least(eps) < found.log - 40 ? found : back.delta(eps);
        if (other.log > found.log || other.rest < found.rest) [found, { error }] = [other, back];
      }
      // smaller ones are shown as that
      if (found.log < LOG_LEAST && !infinite) return found;
      const share = infinite ? Math.min(Math.exp(found.log) / infinite, 1) : 1;
      this.error = Math.max(this.error ?? 0, error * share);
      if (!infinite) return found;
      // p + (1 - p)·D/(1 - p), the rest (1 - p)(1 - D/(1 - p))
      const rest = found.rest + kept;
      return rest > -0.69 ? deltaOf(logAdd(Math.log(infinite), found.log + kept)) : { log: Math.log1p(-Math.exp(rest)), rest };
    },
  };
}
