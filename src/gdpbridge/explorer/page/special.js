// The normal distribution, to some 14 digits also far out, and a bracketed root finder.

/** log √(2π) */
const LOG_ROOT_2PI = 0.9189385332046727;

/**
 * Mills' ratio Φ(-x)/φ(x), for x ≥ 0.
 * @param {number} x
 * @returns {number}
 */
export function mills(x) {
  if (x < 2) {
    // Φ(x) - 1/2 = φ(x)·(x + x³/3 + x⁵/15 + …)
    let term = x;
    let sum = x;
    for (let k = 3; term > 1e-18 * sum; k += 2) {
      term *= (x * x) / k;
      sum += term;
    }
    return 0.5 * Math.exp((x * x) / 2 + LOG_ROOT_2PI) - sum;
  }
  // the continued fraction 1/(x + 1/(x + 2/(x + …))), from the end
  const depth = 12 + Math.ceil(171 / (x * x));
  let tail = x;
  for (let k = depth; k > 0; k--) tail = x + k / tail;
  return 1 / tail;
}

/** log φ(x) @param {number} x */
export const logDensity = (x) => -0.5 * x * x - LOG_ROOT_2PI;

/**
 * log Φ(x).
 * @param {number} x
 * @returns {number}
 */
export function logPhi(x) {
  if (x > 0) return Math.log1p(-Math.exp(logDensity(x)) * mills(x));
  return logDensity(x) + Math.log(mills(-x));
}

/** Φ(x) @param {number} x */
export const phi = (x) =>
  x > 0 ? 1 - Math.exp(logDensity(x)) * mills(x) : Math.exp(logDensity(x)) * mills(-x);

/**
 * The x with log Φ(x) = logp, for logp < 0, by Newton's method on the logarithm.
 * @param {number} logp
 * @returns {number}
 */
export function quantileOfLog(logp) {
  if (logp === -Infinity) return -Infinity;
  if (logp >= 0) return Infinity;
  if (logp > -0.6931471805599453) {
    return -quantileOfLog(Math.log(-Math.expm1(logp)));
  }
  // log Φ is concave: from the left, Newton's steps come from below
  let x = -Math.sqrt(-2 * logp);
  for (let k = 0; k < 60; k++) {
    const step = (logp - logPhi(x)) * mills(-x);
    x = Math.min(x + step, 0.001);
    if (Math.abs(step) < 1e-14 * (1 + Math.abs(x))) break;
  }
  return x;
}

/** Φ⁻¹(p) @param {number} p */
export const quantile = (p) =>
  p <= 0.5 ? quantileOfLog(Math.log(p)) : -quantileOfLog(Math.log1p(-p));

/**
 * Where an increasing function passes 0, by secant steps kept inside a bracket.
 * @param {(x: number) => number} f
 * @param {number} low f(low) ≤ 0
 * @param {number} high f(high) ≥ 0
 * @param {number} [tol] relative to the larger end
 * @returns {number}
 */
export function root(f, low, high, tol = 1e-13) {
  let atLow = f(low);
  let atHigh = f(high);
  if (!(atLow < 0)) return low;
  if (!(atHigh > 0)) return high;
  let x = low;
  for (let k = 0; k < 200; k++) {
    // halving every third time makes an end of a bent function come along
    const share = k % 3 === 2 || !Number.isFinite(atLow - atHigh) ? 0.5 : atLow / (atLow - atHigh);
    const next = low + (high - low) * Math.min(Math.max(share, 0), 1);
    if (Math.abs(next - x) <= tol * Math.abs(next) && k % 3 !== 2) return next;
    x = next;
    const value = f(x);
    if (value === 0) return x;
    if (value < 0) [low, atLow] = [x, value];
    else [high, atHigh] = [x, value];
    if (high - low <= tol * Math.max(Math.abs(low), Math.abs(high))) break;
  }
  return (low + high) / 2;
}

/**
 * log(1 - e^x) for x ≤ 0.
 * @param {number} x
 */
export const log1mexp = (x) =>
  x > -0.6931471805599453 ? Math.log(-Math.expm1(x)) : Math.log1p(-Math.exp(x));

/** log(e^a + e^b) @param {number} a @param {number} b */
export function logAdd(a, b) {
  const top = Math.max(a, b);
  return top === -Infinity ? top : top + Math.log1p(Math.exp(-Math.abs(a - b)));
}
