// The Gaussian curve δ_μ(ε) = Φ(-ε/μ + μ/2) - e^ε·Φ(-ε/μ - μ/2) and its inverses.

import { log1mexp, logDensity, logPhi, mills, phi, quantile, root } from "./special.js";

/**
 * log δ and log(1 - δ), each without cancellation, and the share of δ that it may be off by.
 * @typedef {{ log: number, rest: number, error?: number }} Delta
 */

/**
 * δ of its logarithm.
 * @param {number} log
 * @returns {Delta}
 */
export const deltaOf = (log) => ({ log, rest: log < 0 ? log1mexp(log) : -Infinity });

/**
 * δ_μ(ε).
 * @param {number} eps ≥ 0
 * @param {number} mu > 0
 * @returns {Delta}
 */
export function gaussianDelta(eps, mu) {
  const x = eps / mu - mu / 2;
  const y = eps / mu + mu / 2;
  const far = mills(y);
  if (x >= 0) return deltaOf(logDensity(x) + Math.log(mills(x) - far));
  const rest = Math.exp(logDensity(x)) * (mills(-x) + far);
  return { log: Math.log1p(-rest), rest: Math.log(rest) };
}

/**
 * The μ with δ_μ(ε) = δ: G at one ε.
 * @param {number} eps ≥ 0
 * @param {Delta} delta
 * @returns {number}
 */
export function muOf(eps, delta) {
  if (delta.log === -Infinity) return 0;
  if (delta.rest === -Infinity) return Infinity;
  const upper = delta.log > -0.6931471805599453;
  /** @param {number} mu */
  const above = (mu) => {
    const at = gaussianDelta(eps, mu);
    return upper ? delta.rest - at.rest : at.log - delta.log;
  };
  let high = 1;
  while (above(high) < 0 && high < 1e9) high *= 2;
  let low = high / 2;
  while (above(low) > 0 && low > 1e-300) {
    high = low;
    low /= 2;
  }
  return root(above, low, high);
}

/**
 * The ε with δ_μ(ε) = δ, 0 where δ_μ(0) is less.
 * @param {number} mu
 * @param {number} logDelta
 */
export function epsilonOf(mu, logDelta) {
  return falling((eps) => gaussianDelta(eps, mu).log, logDelta);
}

/**
 * Where a falling function of ε ≥ 0 comes down to a value; 0 where it starts below.
 * @param {(eps: number) => number} f
 * @param {number} value
 * @param {number} [end] where the function ends
 */
export function falling(f, value, end = Infinity) {
  if (f(0) <= value) return 0;
  let high = Math.min(1, end);
  let low = 0;
  while (high < end && f(high) > value && high < 1e9) {
    low = high;
    high = Math.min(2 * high, end);
  }
  return root((eps) => value - f(eps), low, high, 1e-12);
}

/**
 * G_μ(α) = Φ(Φ⁻¹(1-α) - μ), all but a share p of it: p ↦ the attacker has won already.
 * @param {number} alpha
 * @param {number} mu
 * @param {number} p
 */
export function gaussianTradeoff(alpha, mu, p) {
  if (alpha >= 1 - p) return 0;
  if (alpha <= 0) return 1 - p;
  return (1 - p) * phi(-quantile(alpha / (1 - p)) - mu);
}

export { logPhi };
