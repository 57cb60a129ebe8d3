"""Privacy profile of DP-SGD by contour integration, with no discretised loss distribution.

The pair is P = (1-q) N(0, sigma^2) + q N(1, sigma^2) against Q = N(0, sigma^2), T times over, and
Y = log dP/dQ = log(1 - q + q exp(z/sigma - 1/(2 sigma^2))) with z standard normal under Q. Put
M(s) = E_Q[exp(sY)]^T, an entire function of s. The Laplace transforms of the two payoffs give

    delta_rem(eps) = 1/(2 pi i) * integral over Re s = c of M(s) e^{eps(1-s)} / (s(s-1)) ds,  c > 1
    delta_add(eps) = 1/(2 pi i) * integral over Re s = c of M(s) e^{eps s}    / (s(s-1)) ds,  c < 0

The path goes through the real saddle of the whole integrand, so that as a rule nothing cancels and
log delta keeps its digits however small delta is, and bends to the right far from it, where the
lower end of the loss would make a straight line oscillate without decay. Where log delta is not
concave (small q, large sigma: between "no step drew far" and "one step did") the integrand does
cancel; the loss is measured and made up by more digits. Both integrals, over s and (for M) over z,
are trapezoidal sums of analytic integrands, which converge geometrically; the sum over s is
refined until two step sizes agree. For large Im s the z line is shifted into the complex plane,
short of the branch point of Y, where the integrand decays instead of oscillating. Arithmetic: Arb
balls (python-flint).
The balls carry rounding only; truncation is judged by the agreement of two runs that share no node.

One step has a closed form; two steps are that form averaged over the other step's loss, so that
both are checks of another kind. `python make_dpsgd_reference.py` writes dpsgd_reference.json next
to itself, a setting at a time (those already in the file are kept: delete it to start afresh). It
takes about half an hour and needs numpy, scipy and python-flint.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from flint import acb, arb, ctx
from scipy.optimize import brentq

REMOVE, ADD = "remove", "add"
MAX_NODES = 9_000


class Unsettled(ArithmeticError):
    """The sum over s did not settle within MAX_NODES nodes."""


def log_ratio(z: np.ndarray, sigma: float, q: float) -> np.ndarray:
    """Y at real or complex z, in double precision: only used to place nodes."""
    step = z / sigma - 0.5 / sigma**2
    if q == 1.0:
        return step
    big = step.real > 0
    low = np.log((1 - q) + q * np.exp(np.where(big, 0, step)))
    high = step + np.log(q + (1 - q) * np.exp(-np.where(big, step, 0)))
    return np.where(big, high, low)


def reach(c: float, sigma: float, q: float) -> float:
    """A distance from 0 beyond which the mass of z tilted by exp(cY) does not count."""
    far = abs(c) / sigma
    if c < 0 and q < 1:  # Y goes flat on the left, so that a stronger tilt pulls z no further
        far = min(far, sigma * math.log1p(-c * q / (1 - q)) + 1 / sigma)
    return 15.0 + far


def tilted(c: float, sigma: float, q: float) -> tuple[float, float, float, float]:
    """log E[exp(cY)], and under that tilt the mean and variance of Y and the mean slope of Y."""
    span = reach(c, sigma, q) - 1
    lower, upper = (-14.0, span) if c > 0 else (-span, 14.0)
    z = np.linspace(lower, upper, 1 + int((upper - lower) / min(0.1, 0.05 * sigma)))
    y = log_ratio(z, sigma, q)
    log_w = c * y - 0.5 * z * z
    top = log_w.max()
    w = np.exp(log_w - top)
    total = w.sum()
    log_m = top + math.log(total * (z[1] - z[0]) / math.sqrt(2 * math.pi))
    mean = float((w * y).sum() / total)
    var = float((w * (y - mean) ** 2).sum() / total)
    log_slope = math.log(q) + z / sigma - 0.5 / sigma**2 - y
    return log_m, mean, var, float((w * np.exp(log_slope)).sum() / total)


def saddle(sigma: float, q: float, steps: int, eps: float, direction: str) -> tuple[float, float]:
    """The real saddle c of the integrand and its width there."""
    remove = direction == REMOVE

    def place(x: float) -> float:
        return 1 + math.exp(x) if remove else -math.exp(x)

    def slope(x: float) -> float:
        c = place(x)
        drift = -eps if remove else eps
        return steps * tilted(c, sigma, q)[1] + drift - 1 / c - 1 / (c - 1)

    low, high = -25.0, 0.0
    while slope(high) * (1 if remove else -1) < 0:
        high += 1.0
        if high > 30:
            raise ArithmeticError("no saddle: delta is zero or too close to it")
    c = place(brentq(slope, low, high, xtol=1e-6))
    var = tilted(c, sigma, q)[2]
    return c, 1 / math.sqrt(steps * var + 1 / c**2 + 1 / (c - 1) ** 2)


class Moment:
    """E_Q[exp(sY)] near s = c + it, by the trapezoidal rule on a line of complex z."""

    def __init__(self, sigma: str, q: str, c: float, fine: float, cut: float, prec: int) -> None:
        """Fix the setting, the saddle c, the step's refinement and the working precision."""
        self.sigma, self.q, self.c, self.fine, self.prec = sigma, q, c, fine, prec
        self.cut = cut
        self.s, self.rate = float(arb(sigma)), float(arb(q))
        self.level, _, _, self.slope = tilted(c, self.s, self.rate)
        self.reach = reach(c, self.s, self.rate)

    def size(self, s: complex, z: np.ndarray) -> np.ndarray:
        """log |integrand| relative to E[exp(cY)], in double precision."""
        with np.errstate(invalid="ignore", over="ignore"):
            value = (s * log_ratio(z, self.s, self.rate) - 0.5 * z * z).real
        return value - self.level

    def line(self, s: complex) -> tuple[float, float]:
        """The height of the z line and the step on it.

        The step's error is exp(-2 pi d/step) times the integrand's size at distance d above and
        below, so the height taken is the one that allows the longest step.
        """
        roof = 0.95 * math.pi * self.s if self.rate < 1 else math.inf
        top = min(roof, 12.0 + 1.5 * s.imag * (self.slope if self.rate < 1 else 1.0) / self.s)
        heights = np.linspace(-min(roof, 12.0), top, 41)
        far = self.reach + 3.0
        x = np.linspace(-far, far, 1 + int(2 * far / min(0.2, 0.2 * self.s)))
        peaks = np.array([self.size(s, x + 1j * y).max() for y in heights]) + self.cut
        gaps = 2 * math.pi * (heights[:, None] - heights[None, :])
        allowed = gaps / np.maximum(peaks, 1.0)[None, :]  # [here, there]
        below = np.where(gaps > 0, allowed, 0).max(axis=1)
        above = np.where(gaps < 0, -allowed, 0).max(axis=1)
        steps = np.where(peaks < self.cut + 30, np.minimum(below, above), 0)
        best = int(steps.argmax())
        return float(heights[best]), min(0.5, float(steps[best])) / self.fine

    def __call__(self, s: acb) -> acb:
        """The moment at s."""
        point = complex(float(s.real), float(s.imag))
        height, step = self.line(point)
        k = np.arange(-int(self.reach / step), int(self.reach / step) + 1)
        keep = k[self.size(point, k * step + 1j * height) > -self.cut]
        total = acb(0)
        if keep.size == 0:
            return total
        ctx.prec = self.prec
        sigma, rate, offset = arb(self.sigma), arb(self.q), 1 / (2 * arb(self.sigma) ** 2)
        whole = self.rate == 1.0
        for i in range(int(keep[0]), int(keep[-1]) + 1):
            z = acb(arb(step) * i, arb(height))
            y = z / sigma - offset
            if not whole:
                y = ((1 - rate) + rate * y.exp()).log()
            total += (s * y - z * z / 2).exp()
        return total * step / (2 * arb.pi()).sqrt()


def log_delta(
    sigma: str,
    q: str,
    steps: int,
    eps: str,
    direction: str,
    *,
    shift: float = 0.0,
    fine: float = 1.0,
    cut: float = 42.0,
    prec: int = 160,
    lost: float = 0.0,
) -> arb | None:
    """log delta(eps) in one direction, None where delta is zero.

    sigma, q and eps are exact decimal strings. shift moves the line off the saddle by that many
    widths (away from the poles) and rescales the path, and fine divides the step in z: two calls
    that differ in both share no node. Terms below exp(-cut) of the largest are left out, and fewer
    within the moment, which enters to the power steps. lost is for the function's own use.
    """
    ctx.prec = prec
    inner_cut = cut + 10.0 + math.log(steps)
    remove = direction == REMOVE
    s_float, q_float, e_float = float(arb(sigma)), float(arb(q)), float(arb(eps))
    if not remove and q_float < 1 and arb(eps) >= -steps * (1 - arb(q)).log():
        return None
    c, width = saddle(s_float, q_float, steps, e_float, direction)
    c = c + shift * width * (1 if remove else -1)
    moment = Moment(sigma, q, c, fine, inner_cut, prec)
    e_exact = arb(eps)
    bend = arb(4 * max(width, s_float**2)) if q_float < 1 else None

    def at(t: arb) -> acb:
        """The integrand times (ds/dt)/i."""
        if bend is None:
            s, slope = acb(arb(c), t), acb(1)
        else:
            root = (t * t + bend * bend).sqrt()
            s = acb(c + s_float * (root.sqrt() - bend.sqrt()), t)
            slope = acb(1, -s_float * t / (2 * root.sqrt() * root))
        tilt = (1 - s) * e_exact if remove else s * e_exact
        return moment(s) ** steps * tilt.exp() / (s * (s - 1)) * slope

    # The path's unit of length. Where the mass of the loss has a far second mode, the width at the
    # saddle is much less than the integrand's reach.
    top, far = abs(at(arb(0))), width
    while 6 * far < abs(c) and abs(at(arb(6 * far))) > top * arb(-20).exp():
        far *= 1.5
    scale = far * (1 - 0.9 * shift)

    def term(u: float) -> acb:
        """The integrand times (ds/du)/i at t = scale*sinh(u)."""
        return at(scale * arb(u).sinh()) * (scale * arb(u).cosh())

    peak = term(0.0).real
    floor = abs(peak) * (arb(6 - cut).exp())
    nodes = 1

    def half_sum(first: float, step: float) -> arb:
        """Real parts summed over u = first, first + step, ..., until they no longer count."""
        nonlocal nodes
        total, small, i = arb(0), 0, 0
        while small < 4:
            value = term(first + i * step)
            total += value.real
            small = small + 1 if abs(value) < floor else 0
            i += 1
            nodes += 1
            if nodes > MAX_NODES:
                raise Unsettled(f"{sigma} {q} {steps} {eps} {direction}")
        return total

    step = 0.1875  # dyadic, so that every node is exact
    total = peak / 2 + half_sum(step, step)
    value = total * step / arb.pi()
    while True:
        total += half_sum(step / 2, step)
        step /= 2
        finer = total * step / arb.pi()
        change = abs(float((finer / value - 1).mid()))
        value = finer
        # Between the modes the integrand cancels; the digits lost are bought with a lower cut.
        loss = float((peak / abs(value)).log().mid()) - lost
        settled = change < math.exp(6 - cut + lost) and step * scale < 0.2 * width
        if loss > 4 and (settled or nodes > 600):
            if lost + loss > 150:
                raise Unsettled(f"{sigma} {q} {steps} {eps} {direction}: cancels")
            return log_delta(
                sigma,
                q,
                steps,
                eps,
                direction,
                shift=shift,
                fine=fine,
                cut=cut + loss + 2,
                prec=prec + int(3 * loss),
                lost=lost + loss + 2,
            )
        if settled:
            return value.log()


def normal_tail(x: arb) -> arb:
    """The upper tail of the standard normal distribution."""
    return (x / arb(2).sqrt()).erfc() / 2


def one_step(rate: arb, mu: arb, eps: arb, direction: str) -> arb:
    """delta of one step at any real eps, in closed form."""
    x = eps.exp()
    over = x if direction == REMOVE else 1 / x
    if not over > 1 - rate:  # the loss is certain to pass eps, or certain not to
        return 1 - x if direction == REMOVE else arb(0)
    cut = ((over - 1 + rate) / rate).log()
    if direction == REMOVE:
        # dP/dQ > e^eps exactly when mu z - mu^2/2 > cut; P gives the mixture, Q the second term
        above_q, above_p = normal_tail(cut / mu + mu / 2), normal_tail(cut / mu - mu / 2)
        return (1 - rate) * above_q + rate * above_p - x * above_q
    # dP/dQ < e^-eps exactly when mu z - mu^2/2 < cut
    below_q, below_p = normal_tail(-cut / mu - mu / 2), normal_tail(mu / 2 - cut / mu)
    return below_q - x * ((1 - rate) * below_q + rate * below_p)


def one_step_log_delta(sigma: str, q: str, eps: str, direction: str, prec: int) -> arb | None:
    """log delta(eps) of one step, with the precision to outlast the cancellation."""
    ctx.prec = prec
    delta = one_step(arb(q), 1 / arb(sigma), arb(eps), direction)
    return delta.log() if delta > 0 else None


def two_step_log_delta(
    sigma: str, q: str, eps: str, direction: str, step: float, prec: int
) -> arb | None:
    """log delta(eps) of two steps: the closed form of one, averaged over the other's loss."""
    ctx.prec = prec
    mu, rate, bound = 1 / arb(sigma), arb(q), arb(eps)
    total = arb(0)
    far = 16.0 + 3.0 * float(bound) * float(arb(sigma))
    for k in range(-int(far / step), int(far / step) + 1):
        z = arb(step) * k
        ratio = (1 - rate) + rate * (mu * z - mu * mu / 2).exp()
        weight = (-z * z / 2).exp()
        if direction == REMOVE:
            total += weight * ratio * one_step(rate, mu, bound - ratio.log(), direction)
        else:
            total += weight * one_step(rate, mu, bound + ratio.log(), direction)
    delta = total * step / (2 * arb.pi()).sqrt()
    return delta.log() if delta > 0 else None


def guess(sigma: float, q: float, steps: int, eps: float) -> float:
    """log delta_rem(eps) by the saddle's height and width alone, good to a per cent."""
    c, width = saddle(sigma, q, steps, eps, REMOVE)
    height = steps * tilted(c, sigma, q)[0] + eps * (1 - c) - math.log(c * (c - 1))
    return height + math.log(width / math.sqrt(2 * math.pi))


def choose(sigma: str, q: str, steps: int) -> list[str]:
    """Zero, a small eps, and eps where log delta_rem is near each target, to three digits."""
    s, rate = float(sigma), float(q)
    found = []
    for target in TARGETS:
        high = 1e-3
        while guess(s, rate, steps, high) > target:
            high *= 2
        root = (
            brentq(lambda e, t=target: guess(s, rate, steps, e) - t, 0.0, high, xtol=1e-5)
            if guess(s, rate, steps, 0.0) > target
            else 0.0
        )
        if root > 0:
            found.append(f"{root:.3g}")
    small = f"{0.02 * float(found[min(1, len(found) - 1)]):.1g}" if found else "0.01"
    return list(dict.fromkeys(["0", small, *found]))


TARGETS = (-5.0, -11.5, -30.0, -100.0, -1000.0, -10000.0)
SETTINGS = (
    # sigma, q, steps
    ("9.4", "0.328", 2000),
    ("1", "0.01", 10000),
    ("0.8", "0.125", 1000),
    ("3", "0.2", 50),
    ("2", "1", 4),
    ("1", "0.1", 1),
    ("1", "0.00105", 1),
    ("1.1", "0.01", 500),
    ("1.1", "0.01", 1000),
    ("0.776436406179471783", "0.01", 1),
    ("1", "0.08", 100),
    ("1", "0.01", 100),
    ("10", "0.08192", 725),
    ("21.1", "0.32768", 250),
    ("4", "0.01", 10000),
    ("20", "1", 60),
    ("20", "0.2", 60),
    ("50", "1", 1000000),
    ("50", "0.001", 1000000),
    ("50", "0.00001", 1),
    ("2", "0.3", 2),
    ("0.7", "0.001", 100000),
    ("0.3", "0.00001", 1000000),
    ("0.3", "0.5", 10),
    ("4", "0.00033", 10000),
    ("4", "0.01", 10),
)
EXTRA = {  # eps that published values name
    ("9.4", "0.328", 2000): ("7.4330656", "10"),
    ("1", "0.01", 10000): ("5", "6.1877123", "10"),
    ("1", "0.1", 1): ("2", "10", "200", "1000"),
    ("0.776436406179471783", "0.01", 1): ("1",),
    ("0.8", "0.125", 1000): ("56.72595",),
    ("3", "0.2", 50): ("1.96081134",),
    ("2", "1", 4): ("4.37717809568122463",),
    ("1.1", "0.01", 500): ("1.08259167",),
    ("1.1", "0.01", 1000): ("1.51536192",),
    ("1", "0.08", 100): ("5.61341863",),
    ("1", "0.01", 100): ("0.71803566",),
    ("10", "0.08192", 725): ("0.81484512",),
    ("21.1", "0.32768", 250): ("0.91211616",),
    ("4", "0.01", 10000): ("0.9468668",),
    ("20", "1", 60): ("0.902939643005531088",),
    ("20", "0.2", 60): ("0.12316346",),
}


BY_HAND = {  # where the saddle misleads the choice, or some eps take minutes
    ("50", "0.00001", 1): ("0", "1e-7", "3e-7", "1e-6", "3e-6", "1e-5", "0.0001", "0.001"),
    ("0.3", "0.5", 10): ("0", "1", "10", "40", "100", "300"),
    ("4", "0.00033", 10000): ("0", "0.0005", "0.002", "0.005", "0.01", "0.0672135"),
    ("4", "0.01", 10): ("0", "0.003", "0.01", "0.02"),
}


def pair(sigma: str, q: str, steps: int, eps: str, direction: str) -> tuple[arb | None, arb | None]:
    """log delta(eps) twice, at two resolutions."""
    if q == "1":  # steps of rate 1 are one step of noise sigma/sqrt(steps), in closed form
        ctx.prec = 3000
        delta = one_step(arb(1), arb(steps).sqrt() / arb(sigma), arb(eps), direction)
        return delta.log(), log_delta(sigma, q, steps, eps, direction)
    if steps == 1:
        first, second = (
            one_step_log_delta(sigma, q, eps, direction, bits) for bits in (2000, 3000)
        )
        return first, second
    if steps == 2:
        grids = (0.05, 0.0371)
        first, second = (two_step_log_delta(sigma, q, eps, direction, grid, 600) for grid in grids)
        return first, second
    return (
        log_delta(sigma, q, steps, eps, direction),
        log_delta(sigma, q, steps, eps, direction, shift=-0.12, fine=1.27, cut=45.0),
    )


def method(q: str, steps: int) -> str:
    """What the two values of a setting are."""
    if q == "1":
        return "closed form; contour integral"
    if steps == 1:
        return "closed form at 2000 bits; at 3000 bits"
    if steps == 2:
        return "closed form of one step averaged over the other, two grids"
    return "contour integral at two resolutions"


def values(sigma: str, q: str, steps: int, eps: str) -> dict[str, object] | None:
    """One row: both directions at one eps, None if a sum does not settle."""
    row: dict[str, object] = {"eps": eps}
    for direction in (REMOVE, ADD):
        try:
            first, second = pair(sigma, q, steps, eps, direction)
        except ArithmeticError as error:
            print(f"  left out: {error}", file=sys.stderr, flush=True)
            return None
        if first is None or second is None:
            row[f"log_delta_{direction}"] = None
            continue
        ctx.prec = 256
        gap = float(abs((first - second).mid()))
        size = max(1.0, float(abs(first.mid())))
        if not gap < 1e-12 * size:
            print(f"  left out: {direction} {eps} gap {gap:.1e}", file=sys.stderr, flush=True)
            return None
        row[f"log_delta_{direction}"] = first.mid().str(20, radius=False)
        row[f"gap_{direction}"] = f"{gap:.1e}"
    return row


def main(target: Path) -> None:
    """Write the table, setting by setting; settings already in the file are kept."""
    table = {
        "about": "log delta(eps) of DP-SGD, remove and add direction, to 20 digits. null: delta "
        "is 0. gap: difference of the two values computed; the accuracy is that or 1e-15, "
        "absolute, if that is more. Made by make_dpsgd_reference.py.",
        "settings": [],
    }
    if target.exists():
        table["settings"] = json.loads(target.read_text(encoding="utf-8"))["settings"]
    done = {(entry["sigma"], entry["q"], entry["steps"]) for entry in table["settings"]}
    for sigma, q, steps in (setting for setting in SETTINGS if setting not in done):
        start = time.monotonic()
        chosen = BY_HAND.get((sigma, q, steps)) or (
            {*choose(sigma, q, steps), *EXTRA.get((sigma, q, steps), ())}
        )
        rows = [values(sigma, q, steps, eps) for eps in sorted(chosen, key=float)]
        table["settings"].append(
            {
                "sigma": sigma,
                "q": q,
                "steps": steps,
                "method": method(q, steps),
                "values": [row for row in rows if row is not None],
            }
        )
        target.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        spent = time.monotonic() - start
        print(f"{sigma} {q} {steps}: {len(rows)} eps, {spent:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(__file__).with_name("dpsgd_reference.json"))
