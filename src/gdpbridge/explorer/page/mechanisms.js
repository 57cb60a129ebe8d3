// From what a person chose to a curve: one entry a kind.

import { atomCurve } from "./atoms.js";
import { composedCurve } from "./composed.js";
import { deltaOf, gaussianDelta } from "./gaussian.js";
import { log1mexp } from "./special.js";
import { finiteLaw, gaussianLaw, laplaceLaw, sampledGaussianLaw } from "./laws.js";

/** @typedef {import("./atoms.js").Curve} Curve */
/** @typedef {import("./atoms.js").Part} Part */
/** @typedef {import("./gaussian.js").Delta} Delta */
/** @typedef {Record<string, number>} Values */
/** @typedef {{ kind: string, values: Values, count: number, text?: string }} Step */

/** An input that cannot be: said beside its field. */
export class Refused extends Error {}

/**
 * @typedef {object} Kind
 * @property {(values: Values) => Part[]} [parts] the laws of one run, where runs compose
 * @property {(values: Values, text: string) => Curve} [curve] the curve of one run, where they do not
 * @property {string | null} relation the neighbours it is stated for, or null where it is the user's
 */

/** A loss of ±ε₀ as randomized response has it. @param {number} eps @param {number} [infinite] */
const twoLosses = (eps, infinite = 0) => {
  const high = 1 / (1 + Math.exp(-eps));
  return finiteLaw([-eps, eps], [(1 - infinite) * (1 - high), (1 - infinite) * high], infinite);
};

/** Rate and steps, from whatever words. @param {Values} values */
export function trainingRun(values) {
  const rate = values.batch_size / values.records;
  if (rate > 1) throw new Refused("the batch size must be at most the number of records");
  // as the command does: epochs·records/batch size, rounded up
  const steps = Math.ceil((values.epochs * values.records) / values.batch_size - 1e-9);
  return { rate, steps };
}

/** @type {Record<string, Kind>} */
export const KINDS = {
  laplace: {
    relation: null,
    parts: (v) => [{ law: laplaceLaw(v.sensitivity / v.scale), times: 1 }],
    curve: (v) => laplace(v.sensitivity / v.scale),
  },
  gaussian: {
    relation: null,
    parts: (v) => [{ law: gaussianLaw(v.sensitivity / v.sigma), times: 1 }],
  },
  gdp: { relation: null, parts: (v) => [{ law: gaussianLaw(v.mu), times: 1 }] },
  "pure-dp": { relation: null, parts: (v) => [{ law: twoLosses(v.epsilon), times: 1 }] },
  "approx-dp": {
    relation: null,
    parts: (v) => [{ law: twoLosses(v.epsilon, v.delta), times: 1 }],
  },
  "randomized-response": {
    relation: "replace-one",
    parts(v) {
      if (v.noise_parameter === 1) return [];
      const share = v.noise_parameter / v.buckets;
      const top = Math.log1p((1 - v.noise_parameter) / share);
      const law =
        v.buckets > 2
          ? finiteLaw([-top, 0, top], [share, (v.buckets - 2) * share, share + 1 - v.noise_parameter])
          : twoLosses(top);
      return [{ law, times: 1 }];
    },
  },
  "discrete-laplace": {
    relation: null,
    parts(v) {
      const [n, rate] = [v.sensitivity, 1 / v.scale];
      const fall = Math.exp(-rate);
      const order = Array.from({ length: n + 1 }, (_, k) => n - k);
      const masses = order.map((x) => {
        const share = Math.exp(-rate * x) / (1 + fall);
        return x === 0 || x === n ? share : share * -Math.expm1(-rate);
      });
      return [{ law: finiteLaw(order.map((x) => (n - 2 * x) * rate), masses), times: 1 }];
    },
  },
  "discrete-gaussian": { relation: null, curve: discreteGaussian },
  dpsgd: {
    relation: "add-remove",
    parts(v) {
      const { rate, steps } = trainingRun(v);
      if (rate === 1) return [{ law: gaussianLaw(1 / v.noise_multiplier), times: steps }];
      return [{ law: sampledGaussianLaw(v.noise_multiplier, rate), times: steps }];
    },
  },
  table: { relation: null, curve: (_, text) => tableCurve(pairsOf(text)) },
};

/**
 * δ = 1 - e^{(ε - a)/2}.
 * @param {number} a
 * @returns {Curve}
 */
const laplace = (a) => ({
  end: a,
  infinite: 0,
  delta(eps) {
    const rest = Math.min((eps - a) / 2, 0);
    return { log: log1mexp(rest), rest };
  },
});

/**
 * The discrete Gaussian: losses Δ(Δ - 2x)/(2σ²) at whole x.
 * @param {Values} values
 * @returns {Curve}
 */
function discreteGaussian({ sigma, sensitivity }) {
  const reach = Math.ceil(38 * sigma) + sensitivity;
  const losses = new Float64Array(2 * reach + 1);
  const masses = new Float64Array(2 * reach + 1);
  let norm = 0;
  for (let j = 0; j <= 2 * reach; j++) {
    const x = reach - j;
    losses[j] = (sensitivity * (sensitivity - 2 * x)) / (2 * sigma * sigma);
    masses[j] = Math.exp((-x * x) / (2 * sigma * sigma));
    norm += masses[j];
  }
  const curve = atomCurve({ losses, masses: masses.map((mass) => mass / norm) }, 0);
  return { ...curve, end: Infinity };
}

/**
 * Rows of ε and δ, separated by commas, tabs or spaces; a head line is passed over.
 * @param {string} text
 * @returns {[number, number][]}
 */
export function pairsOf(text) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (const [number, line] of text.split(/\r?\n/).entries()) {
    const cells = line.trim().split(/[\s,;]+/);
    if (cells[0] === "" || (number === 0 && Number.isNaN(Number(cells[0])))) continue;
    const [eps, delta] = cells.map(Number);
    if (cells.length !== 2 || !(eps >= 0 && eps < 1e5) || !(delta >= 0 && delta <= 1)) {
      throw new Refused(`line ${number + 1} is "${line.trim()}": must be ε ≥ 0 and δ in [0, 1]`);
    }
    pairs.push([eps, delta]);
  }
  if (!pairs.length) throw new Refused("paste rows of ε and δ, such as 1, 1e-5");
  return pairs;
}

/**
 * The tightest curve that guarantees imply: the lower convex envelope, in t = e^ε, of the pairs and
 * (-1, 1), through which the line from a pair to its mirror image passes.
 * @param {[number, number][]} pairs
 * @returns {Curve}
 */
export function tableCurve(pairs) {
  const rows = [...pairs].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  /** @type {[number, number][]} corners as t and δ */
  const hull = [[-1, 1]];
  let least = 1;
  for (const [eps, delta] of rows) {
    if (delta >= least) continue;
    least = delta;
    const point = /** @type {[number, number]} */ ([Math.exp(eps), delta]);
    while (hull.length > 1) {
      const [a, b] = [hull[hull.length - 2], hull[hull.length - 1]];
      if ((b[1] - a[1]) * (point[0] - a[0]) < (point[1] - a[1]) * (b[0] - a[0])) break;
      hull.pop();
    }
    hull.push(point);
  }
  const segments = [];
  for (let k = 1; k < hull.length; k++) {
    const [[t0, d0], [t1, d1]] = [hull[k - 1], hull[k]];
    const b = (d0 - d1) / (t1 - t0);
    const a = d1 + b * t1;
    const low = k > 1 ? Math.log(t0) : 0;
    segments.push({ low, high: Math.log(t1), a: deltaOf(Math.log(Math.min(a, 1))), b: deltaOf(Math.log(b)) });
  }
  const [last, rest] = hull[hull.length - 1];
  const covered = rest > 0;
  return {
    end: Math.log(Math.max(last, 1)),
    infinite: 0,
    segments,
    ...(covered ? { known: Math.log(Math.max(last, 1)) } : {}),
    delta(eps) {
      const t = Math.exp(eps);
      const k = hull.findIndex(([corner], j) => j > 0 && corner >= t);
      if (k < 0) return deltaOf(Math.log(rest));
      const [[t0, d0], [t1, d1]] = [hull[k - 1], hull[k]];
      return deltaOf(Math.log(Math.max(d1 + ((d0 - d1) * (t1 - t)) / (t1 - t0), 0)));
    },
  };
}

/**
 * The curve of one step, or of several run one after another.
 * @param {Step[]} steps
 * @returns {Curve}
 */
export function curveOf(steps) {
  const relations = new Set(steps.map((step) => KINDS[step.kind].relation).filter(Boolean));
  if (relations.size > 1) {
    throw new Refused(`a sequence is stated for one neighbouring relation, not for ${[...relations].join(" and ")}`);
  }
  const [{ kind, values, count, text }] = steps;
  const single = KINDS[kind].curve;
  if (steps.length === 1 && single && count === 1) return single(values, text ?? "");
  /** @type {Part[]} */
  const parts = [];
  for (const step of steps) {
    const one = KINDS[step.kind].parts;
    if (!one) throw new Refused(`${step.kind} is not composed on this page: it stands alone, once`);
    for (const part of one(step.values)) parts.push({ ...part, times: part.times * step.count });
  }
  const mu = gaussianOf(parts);
  if (mu !== null) return { end: Infinity, infinite: 0, mu, delta: (eps) => (mu ? gaussianDelta(eps, mu) : deltaOf(-Infinity)) };
  const { once } = parts[0].law;
  if (once && parts.length === 1 && parts[0].times === 1) return { end: Infinity, infinite: 0, delta: once };
  return composedCurve(parts);
}

/** The μ of parts that are all Gaussian, else null. @param {Part[]} parts */
function gaussianOf(parts) {
  let square = 0;
  for (const { law, times } of parts) {
    if (law.mu === undefined) return null;
    square += times * law.mu * law.mu;
  }
  return Math.sqrt(square);
}
