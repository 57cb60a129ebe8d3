// Moment functions M(s) = E_P[e^{sL}; L < ∞] of the privacy loss L of one run, on lines Re s = c.
//
// A law answers at c + iy, y = 0, h, 2h, …: log M(c), and M/M(c) there. `back` asks for the loss of
// the pair in the other order, which only the sampled Gaussian tells apart.

import { deltaOf, gaussianDelta } from "./gaussian.js";

/** @typedef {import("./gaussian.js").Delta} Delta */

/**
 * @typedef {object} Law
 * @property {boolean} smooth whether |M| falls along a line for ever, faster than any power
 * @property {{ losses: number[], masses: number[] } | null} atoms what P has of single losses, if it
 *   is all (`whole`) or part of it
 * @property {boolean} whole whether the atoms are all there is
 * @property {number} infinite P(L = ∞)
 * @property {number} [mu] if it is that of N(μ, 1) against N(0, 1)
 * @property {boolean} [twoSided] whether the other order of the pair is another law
 * @property {(eps: number) => Delta} [once] δ(ε) of a single run, where a formula has it
 * @property {(c: number, back: boolean) => number} logM log M(c)
 * @property {(c: number, y: number) => number} [most] of |M/M(c)| beyond c + iy: it need not fall steadily
 * @property {(c: number, back: boolean) => number} [points] how many a node takes, where there are many
 * @property {(c: number, h: number, count: number, back: boolean) => { re: Float64Array, im: Float64Array }} line
 */

const MOST_POINTS = 20000;

/** What the page does not compute: said to the reader. */
export class Unable extends Error {}

/**
 * Cosine and sine of 0, step, 2·step, …: turned on from one to the next, and anew now and then.
 * @param {number} step @param {number} count @param {(k: number, cos: number, sin: number) => void} visit
 */
function turning(step, count, visit) {
  const [cos, sin] = [Math.cos(step), Math.sin(step)];
  let [x, y] = [1, 0];
  for (let k = 0; k < count; k++) {
    if ((k & 255) === 0) [x, y] = [Math.cos(k * step), Math.sin(k * step)];
    visit(k, x, y);
    [x, y] = [x * cos - y * sin, x * sin + y * cos];
  }
}

/**
 * A finite law: Σ p·e^{sL}.
 * @param {number[]} losses
 * @param {number[]} masses of P, of finite losses
 * @param {number} [infinite]
 * @returns {Law}
 */
export function finiteLaw(losses, masses, infinite = 0) {
  /** @param {number} c */
  const logM = (c) => {
    const top = Math.max(...losses.map((loss) => c * loss));
    return top + Math.log(losses.reduce((sum, l, j) => sum + masses[j] * Math.exp(c * l - top), 0));
  };
  return {
    smooth: false,
    atoms: { losses, masses },
    whole: true,
    infinite,
    logM,
    most: () => 1,
    line(c, h, count) {
      const log = logM(c);
      const re = new Float64Array(count);
      const im = new Float64Array(count);
      losses.forEach((loss, j) => {
        const weight = masses[j] * Math.exp(c * loss - log);
        turning(h * loss, count, (k, cos, sin) => {
          re[k] += weight * cos;
          im[k] += weight * sin;
        });
      });
      return { re, im };
    },
  };
}

/**
 * N(μ, 1) against N(0, 1): M(s) = e^{μ²s(s+1)/2}.
 * @param {number} mu
 * @returns {Law}
 */
export function gaussianLaw(mu) {
  const square = mu * mu;
  return {
    mu,
    smooth: true,
    atoms: null,
    whole: false,
    infinite: 0,
    logM: (c) => (square * c * (c + 1)) / 2,
    line(c, h, count) {
      const re = new Float64Array(count);
      const im = new Float64Array(count);
      for (let k = 0; k < count; k++) {
        const y = k * h;
        const size = Math.exp((-square * y * y) / 2);
        re[k] = size * Math.cos(square * (c + 0.5) * y);
        im[k] = size * Math.sin(square * (c + 0.5) * y);
      }
      return { re, im };
    },
  };
}

/**
 * Laplace noise, Δ/b = a: half of P at L = a, e^{-a}/2 at -a, and between them ½e^{-u} at a - 2u.
 * @param {number} a
 * @returns {Law}
 */
export function laplaceLaw(a) {
  /** log of the atoms and the density's share at a real c @param {number} c */
  const logs = (c) => {
    const z = (1 + 2 * c) * a;
    const mean = Math.abs(z) < 1e-8 ? 1 - z / 2 : -Math.expm1(-z) / z;
    return [c * a - Math.LN2, -a * (1 + c) - Math.LN2, c * a - Math.LN2 + Math.log(a * mean)];
  };
  /** @param {number} c */
  const logM = (c) => {
    const found = logs(c);
    const top = Math.max(...found);
    return top + Math.log(found.reduce((sum, one) => sum + Math.exp(one - top), 0));
  };
  return {
    smooth: false,
    atoms: { losses: [-a, a], masses: [Math.exp(-a) / 2, 0.5] },
    whole: false,
    infinite: 0,
    logM,
    // the atoms do not fall, and the rest is at most their share of 1/|1 + 2s|
    most(c, y) {
      const [top, bottom] = logs(c);
      const atoms = Math.exp(top - logM(c)) + Math.exp(bottom - logM(c));
      return Math.min(1, atoms * (1 + 1 / Math.hypot(1 + 2 * c, 2 * y)));
    },
    line(c, h, count) {
      const log = logM(c);
      const top = 0.5 * Math.exp(c * a - log);
      const bottom = 0.5 * Math.exp(-a * (1 + c) - log);
      const re = new Float64Array(count);
      const im = new Float64Array(count);
      re[0] = 1;
      turning(h * a, count, (k, cos, sin) => {
        if (k === 0) return;
        const y = k * h;
        // ½(e^{sa} - e^{-(1+s)a})/(1 + 2s), both terms over M(c)
        const [up, vp] = [(top - bottom) * cos, (top + bottom) * sin];
        const [zr, zi] = [1 + 2 * c, 2 * y];
        const square = zr * zr + zi * zi;
        re[k] = (top + bottom) * cos + (up * zr + vp * zi) / square;
        im[k] = (top - bottom) * sin + (vp * zr - up * zi) / square;
      });
      return { re, im };
    },
  };
}

/**
 * The Gaussian on a Poisson sample: q·N(1/σ, 1) + (1-q)·N(0, 1) against N(0, 1).
 *
 * F(w) = ∫ φ(u)·z(u)^w du with z = 1 - q + q·e^{(2uσ-1)/(2σ²)}, by the trapezoid rule on Im u = b, on
 * which z^{iy} does not grow with y (docs/composition.md). M(s) is F(1 + s), or F(-s) `back`.
 * @param {number} sigma
 * @param {number} q in (0, 1)
 * @returns {Law}
 */
export function sampledGaussianLaw(sigma, q) {
  /** The line of points, for Re w = w. @param {number} w */
  const extent = (w) => {
    const shift = Math.min(0.49 * Math.PI * sigma, 1.5);
    const b = w < 0 ? Math.min(shift, sigma * Math.sqrt(6 / -w)) : shift;
    const step = (2 * Math.PI * b) / (42 + 2 * b * b);
    const left = Math.min(0, w / sigma) - 9.5;
    const right = Math.max(0, w / sigma) + 9.5;
    return { b, step, left, count: Math.ceil((right - left) / step) + 1 };
  };
  /**
   * log z and the logarithm of the weight of each point, for Re w = w.
   * @param {number} w
   */
  const points = (w) => {
    const { b, step, left, count } = extent(w);
    if (count > MOST_POINTS) return null;
    const [angle, logRate] = [b / sigma, Math.log(q)];
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const size = new Float64Array(count);
    const turn = new Float64Array(count);
    const logR = new Float64Array(count);
    const logI = new Float64Array(count);
    let top = -Infinity;
    for (let j = 0; j < count; j++) {
      const u = left + j * step;
      const t = (2 * u * sigma - 1) / (2 * sigma * sigma);
      if (t + logRate < 30) {
        const grown = q * Math.exp(t);
        const [re, im] = [1 - q + grown * cos, grown * sin];
        // near 1 the logarithm is that of 1 + (z - 1)
        const less = q * (Math.exp(t) * cos - 1);
        logR[j] = 0.5 * Math.log1p(less * (2 + less) + im * im);
        logI[j] = Math.atan2(im, re);
      } else {
        const less = Math.exp(-t - logRate) * (1 - q);
        logR[j] = t + logRate + less * cos;
        logI[j] = angle - less * sin;
      }
      size[j] = (b * b - u * u) / 2 + w * logR[j];
      turn[j] = -u * b + w * logI[j];
      top = Math.max(top, size[j]);
    }
    return { size, turn, logR, logI, top, logStep: Math.log(step) - 0.9189385332046727 };
  };
  /** @param {number} w */
  const logF = (w) => {
    const at = points(w);
    if (!at) return Infinity;
    let sum = 0;
    for (let j = 0; j < at.size.length; j++) {
      sum += Math.exp(at.size[j] - at.top) * Math.cos(at.turn[j]);
    }
    return at.top + at.logStep + Math.log(sum);
  };
  return {
    smooth: true,
    atoms: null,
    whole: false,
    infinite: 0,
    twoSided: true,
    once(eps) {
      // the larger of q·δ_G(ln(1 + (e^ε - 1)/q)) and c·δ_G(ln(q·e^ε/c)), c = 1 - (1 - q)e^ε
      const mu = 1 / sigma;
      const forth = gaussianDelta(Math.log1p(Math.expm1(eps) / q), mu);
      const c = q - (1 - q) * Math.expm1(eps);
      const back = c > 0 ? Math.log(c) + gaussianDelta(eps + Math.log(q / c), mu).log : -Infinity;
      const log = Math.max(Math.log(q) + forth.log, back);
      return log < -0.5 ? deltaOf(log) : { log, rest: Math.log(1 - q + q * Math.exp(forth.rest)) };
    },
    logM: (c, back) => logF(back ? -c : 1 + c),
    points: (c, back) => extent(back ? -c : 1 + c).count,
    line(c, h, count, back) {
      const w = back ? -c : 1 + c;
      const at = points(w);
      if (!at) throw new Unable("with so little noise there are more points than this page computes");
      const re = new Float64Array(count);
      const im = new Float64Array(count);
      for (let j = 0; j < at.size.length; j++) {
        const weight = Math.exp(at.size[j] - at.top);
        if (weight < 1e-19) continue;
        const fall = Math.exp(-h * at.logI[j]);
        // until it has fallen out of sight
        const last = Math.min(count, Math.ceil((at.size[j] - at.top + 44) / (h * at.logI[j])));
        const [cos, sin] = [fall * Math.cos(h * at.logR[j]), fall * Math.sin(h * at.logR[j])];
        let [x, y] = [weight * Math.cos(at.turn[j]), weight * Math.sin(at.turn[j])];
        for (let k = 0; k < last; k++) {
          re[k] += x;
          im[k] += y;
          [x, y] = [x * cos - y * sin, x * sin + y * cos];
        }
      }
      const norm = re[0];
      for (let k = 0; k < count; k++) {
        re[k] /= norm;
        im[k] = (back ? -im[k] : im[k]) / norm;
      }
      im[0] = 0;
      return { re, im };
    },
  };
}
