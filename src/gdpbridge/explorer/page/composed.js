// δ(ε) of several runs, from the laws of their privacy losses.
//
// Where losses are single numbers they are convolved. Else D(ε) = E_P[(1 - e^{ε-L})⁺; L < ∞] is
// the integral of M(s)e^{-sε}/(s(s+1)) along Re s = c, as a sum over nodes h apart. The full sum is
// D and its aliases 2π/h away, all of one sign, which Chernoff's bound keeps small
// (docs/composition.md has the proof; here all is in floating point and nothing is proved).

import { atomCurve, jointAtoms } from "./atoms.js";
import { deltaOf } from "./gaussian.js";
import { finiteLaw } from "./laws.js";
import { logAdd } from "./special.js";

/** @typedef {import("./gaussian.js").Delta} Delta */
/** @typedef {import("./atoms.js").Part} Part */
/** @typedef {import("./atoms.js").Atoms} Atoms */
/** @typedef {import("./atoms.js").Curve} Curve */

const MOST_NODES = 65536;
/** what the lines of one curve may cost: a person who moves a slider waits for it */
const MOST_WORK = 1.9e7;
/** the aliases, and what is cut from a sum, may be so small a share of it */
const SHARE = 1e-10;
/** a δ below is shown as being below */
export const LEAST = 1e-30;
/** without a smooth part sums converge slowly; what is left out alternates, and is less than its bound */
const SHARE_OF_ROUGH = 3e-7;

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
    this.period = period;
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
    this.of.budget.left -= this.of.cost(c) * count;
    const { re, im, most } = this.of.values(c, h, count);
    this.cut = most / (Math.PI * h * count);
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
      if (this.cut <= share * (sum + beside) || !this.affords(4 * size)) return Math.max(sum, 1e-300);
      this.fill(4 * size);
    }
  }

  /** Whether so many nodes may be computed. @param {number} count */
  affords(count) {
    return count <= MOST_NODES && this.of.cost(this.c) * count <= this.of.budget.left;
  }

  /** The sum over both halves of the line, without M(c)e^{-cε}. @param {number} eps */
  sum(eps) {
    // turned as the laws' nodes are, without a call for each: it is done for every ε
    const { re, im } = this;
    const step = this.h * eps;
    const [cos, sin] = [Math.cos(step), Math.sin(step)];
    let [total, x, y] = [0, 1, 0];
    for (let k = 0; k < re.length; k++) {
      if ((k & 255) === 0) [x, y] = [Math.cos(k * step), Math.sin(k * step)];
      total += re[k] * x + im[k] * y;
      [x, y] = [x * cos - y * sin, x * sin + y * cos];
    }
    return (total * this.h) / Math.PI;
  }
}

/**
 * M/M(c) of several runs at the nodes c + ikh, and at most what its size is beyond them: where a
 * law falls for ever, as if it went on with the largest of the last quarter.
 * @param {Part[]} parts @param {number} c @param {number} h @param {number} count @param {boolean} back
 */
function product(parts, c, h, count, back) {
  const re = new Float64Array(count).fill(1);
  const im = new Float64Array(count);
  let most = 1;
  for (const { law, times } of parts) {
    const one = law.line(c, h, count, back);
    let last = law.most ? law.most(c, h * count) : 0;
    for (let k = law.most ? count : (3 * count) >> 2; k < count; k++) last = Math.max(last, Math.hypot(one.re[k], one.im[k]));
    most *= last ** times;
    for (let k = 0; k < count; k++) {
      // by squaring: cheaper than a logarithm and an angle
      let [x, y, a, b] = [one.re[k], one.im[k], re[k], im[k]];
      for (let left = times; ; ) {
        if (left & 1) [a, b] = [a * x - b * y, a * y + b * x];
        left >>= 1;
        if (!left) break;
        [x, y] = [x * x - y * y, 2 * x * y];
      }
      [re[k], im[k]] = [a, b];
    }
  }
  return { re, im, most };
}

/** Several runs in one order of the pair: D(ε), and H(ε) = M(0) - D(ε) near 1. */
export class Composition {
  /** @param {Part[]} parts @param {boolean} back @param {{ left: number }} budget */
  constructor(parts, back, budget) {
    this.parts = parts;
    this.back = back;
    this.budget = budget;
    /** @type {Map<number, number>} */
    this.known = new Map();
    /** @type {Line[]} */
    this.lines = [];
    /** a moment function is off by some units, and its power by so many times that */
    this.unit = parts.reduce((sum, part) => sum + 5e-15 * part.times, 1e-15);
    /** the atoms of what has no smooth part are taken out, and added exactly */
    this.atoms = parts.some((part) => part.law.smooth) ? null : jointAtoms(parts);
    this.exact = this.atoms && atomCurve(this.atoms, 0);
    /** the atoms' own laws, whose product is theirs @type {Part[]} */
    this.alone = parts.flatMap(({ law: { atoms }, times }) =>
      this.atoms && atoms ? [{ law: finiteLaw(atoms.losses, atoms.masses), times }] : [],
    );
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

  /** What product() has, less that of the atoms. @param {number} c @param {number} h @param {number} count */
  values(c, h, count) {
    const all = product(this.parts, c, h, count, this.back);
    if (this.atoms) {
      const atoms = product(this.alone, c, h, count, false);
      const log = this.alone.reduce((sum, { law, times }) => sum + times * law.logM(c, false), 0);
      const share = Math.exp(log - this.logM(c));
      for (let k = 0; k < count; k++) {
        all.re[k] -= share * atoms.re[k];
        all.im[k] -= share * atoms.im[k];
      }
      all.most -= share;
    }
    return all;
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

  /** log of the integrand on the real axis. @param {number} c @param {number} eps */
  height(c, eps) {
    return this.logM(c) - c * eps - Math.log(Math.abs(c * (c + 1)));
  }

  /** What a node of a line costs. @param {number} c */
  cost(c) {
    return this.parts.reduce((sum, { law }) => sum + (law.points?.(c, this.back) ?? 20), 60);
  }

  /**
   * log D(ε), or log H(ε) where `tilts` are in (-1, 0), and the share that it may be off by.
   * @param {number} eps
   * @param {number[]} tilts
   * @returns {[number, number]}
   */
  onLines(eps, tilts) {
    // the tilt whose integrand is least
    let [place, least] = [0, Infinity];
    for (let k = 0; k < tilts.length; k++) {
      const c = tilts[k];
      const value = this.height(c, eps);
      if (value < least) [place, least] = [k, value];
      // convex in c: it only rises from here
      else if (value > least + 60) break;
    }
    // M may rise at once beyond c, where few steps of many see a record
    const near = tilts.slice(0, Math.min(place + 30, tilts.length));
    const c = tilts[place];
    const others = c > 0 ? [0, ...near, 1.02 * c, 1.08 * c] : [-0.999, ...near, -0.001, 0];
    let wanted = least - 12;
    for (let level = 0; ; ) {
      const enough = wanted + Math.log(SHARE);
      let line = this.lines.find((one) => one.c * c > 0 && this.height(one.c, eps) < least + 3
        && this.aliases(one.c, one.period, eps, others) <= enough);
      if (!line) {
        while (level < 40 && this.aliases(c, periodOf(level), eps, others) > enough) level++;
        line = new Line(this, c, periodOf(level));
        this.lines.push(line);
      }
      const factor = line.log - line.c * eps;
      const beside = Math.exp(this.ofAtoms(eps, c) - factor);
      const sum = line.enough(eps, beside);
      const found = factor + Math.log(sum);
      const aliased = Math.exp(this.aliases(line.c, line.period, eps, others) - logAdd(found, factor + Math.log(beside)));
      // the aliases are to be small beside what was found, and what was found may be aliases
      if (found >= wanted || aliased <= SHARE || level >= 40 || !line.affords(4 * line.re.length)) {
        const off = line.cut + this.unit / Math.abs(line.c * (line.c + 1));
        return [found, Math.max(off / (sum + beside), Math.min(aliased, 1))];
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
    const [above, error] = this.onLines(eps, this.tilts);
    const log = logAdd(above, this.ofAtoms(eps, 1)) - this.base;
    if (log < -0.5) return { ...deltaOf(log), error };
    const [below, off] = this.onLines(eps, BELOW);
    const rest = Math.min(logAdd(below, this.ofAtoms(eps, -1)) - this.base, 0);
    return { log: Math.log1p(-Math.exp(rest)), rest, error: off };
  }
}

/** tilts in (-1, 0), from the one near 0 on */
const BELOW = [-0.02, -0.05, -0.1, -0.2, -0.35, -0.5, -0.65, -0.8, -0.9, -0.95, -0.98];

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
  const budget = { left: MOST_WORK };
  const forth = new Composition(parts, false, budget);
  const back = parts.some((part) => part.law.twoSided) ? new Composition(parts, true, budget) : null;
  const ends = parts.map(({ law, times }) =>
    law.atoms ? times * law.atoms.losses[law.atoms.losses.length - 1] : Infinity,
  );
  const end = ends.reduce((sum, one) => sum + one, 0);
  const most = (/** @type {number} */ eps) => Math.max(forth.least(eps), back?.least(eps) ?? -Infinity);
  return {
    end,
    infinite,
    most,
    delta(eps) {
      if (eps >= end) return deltaOf(Math.log(infinite));
      const bound = most(eps);
      // shown as being below
      if (!infinite && bound < Math.log(LEAST)) return deltaOf(bound);
      let found = forth.delta(eps);
      if (back) {
        // mostly far below, which Chernoff's bound tells at once
        const other = back.least(eps) < found.log - 40 ? found : back.delta(eps);
        if (other.log > found.log || other.rest < found.rest) found = other;
      }
      if (!infinite) return found;
      // p + (1 - p)·D/(1 - p), the rest (1 - p)(1 - D/(1 - p))
      const rest = found.rest + kept;
      const whole = rest > -0.69 ? deltaOf(logAdd(Math.log(infinite), found.log + kept)) : { log: Math.log1p(-Math.exp(rest)), rest };
      return { ...whole, error: (found.error ?? 0) * Math.min(Math.exp(found.log) / infinite, 1) };
    },
  };
}

/** @param {number} level */
const periodOf = (level) => 0.05 * Math.SQRT2 ** level;
