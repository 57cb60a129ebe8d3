"""Pictures: what is drawn, in which formats, and what is refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gdpbridge as gdp
from gdpbridge import plot
from gdpbridge.errors import InputError
from gdpbridge.plot.labels import Canvas, places
from gdpbridge.plot.lines import Point, Rule, Series, lines

LAPLACE = gdp.profiles.Laplace(scale=0.5)
APPROX = gdp.profiles.ApproxDP(epsilon=1, delta=1e-6)
ICEA = gdp.profiles.ICEA(messages=20, users=4)
RUN = gdp.profiles.DPSGD(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
NETWORK = re.compile(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?http""")


def line_of(picture: plot.Picture, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The points of a line of a picture."""
    rows = [row for row in picture.data if row["name"] == name]
    return np.array([row["x"] for row in rows]), np.array([row["y"] for row in rows])


@pytest.fixture(scope="module")
def measured_run() -> gdp.Measurement:
    """The measurement of a run, which takes its time."""
    return gdp.measure(RUN)


@pytest.fixture(scope="module")
def tradeoff() -> plot.Picture:
    """Trade-off functions, with a slider."""
    return plot.tradeoff(LAPLACE, mu=[1.0, 1.8], names=["a release"])


def test_profile_lines() -> None:
    """The lines are the profiles, with their corners, and the Gaussian curves."""
    picture = plot.profile(LAPLACE, ICEA, mu=[2], log=False, names=["one", "two"])
    for name, profile in (("one", LAPLACE), ("two", ICEA)):
        eps, delta = line_of(picture, name)
        np.testing.assert_array_equal(delta, profile.delta(eps))
    assert 2.0 in line_of(picture, "one")[0]
    eps, delta = line_of(picture, "δ_μ, μ = 2")
    np.testing.assert_allclose(delta, gdp.delta(eps, 2), rtol=1e-13)
    assert all(name in picture.alt_text for name in ("one", "two", "Gaussian curve, μ = 2"))


def test_logarithmic_profile_leaves_nothing_in() -> None:
    """A logarithmic axis has no zeros, and bounds of composed losses become a band."""
    picture = plot.profile(LAPLACE, RUN, log=True, eps_max=3)
    assert all(row["y"] > 0 for row in picture.data)
    bands = [row for row in picture.data if "low" in row]
    assert bands
    assert all(0 < row["low"] <= row["y"] == row["high"] for row in bands)


def test_gdpt_marks(measured_run: gdp.Measurement) -> None:
    """The supremum of a whole statement, the end of a head, and p are marked and said."""
    whole = plot.gdpt(LAPLACE, measured=gdp.measure(LAPLACE))
    assert "sup G ≤ 1.80091" in whole.alt_text
    head = plot.gdpt(ICEA, measured=gdp.measure(ICEA, eps_h=10))
    assert "the head ends at ε = 10" in head.alt_text
    assert "sup G ≤ 3.31243" in head.alt_text
    rare = plot.gdpt(RUN, measured=measured_run)
    assert re.search(r"μ ≤ 0\.51\d+ with p = 1e-10", rare.alt_text)
    family = gdp.profiles.SGDFamily(A=2, B=1, sigma=2)
    picture = plot.gdpt(family, measured=[gdp.measure(family)])
    assert "the tail parameter, 0.7071" in picture.alt_text


def test_staircases_enclose_the_transform() -> None:
    """G lies between the steps, and their maxima are those of the method."""
    picture = plot.staircase(LAPLACE, widths=[0.25], names=["g"], eps_max=2)
    eps, transform = line_of(picture, "G, g")
    places, upper = line_of(picture, "upper staircase, d = 0.25")
    _, lower = line_of(picture, "lower staircase, d = 0.25")
    step = np.minimum((eps / 0.25).astype(int), upper.size - 2)
    assert (transform <= upper[step] + 1e-12).all()
    # at the end of the range the last step is that of the cell before
    inside = eps < places[-1]
    assert (lower[step][inside] <= transform[inside] + 1e-12).all()
    assert lower.max() <= 1.8009051932756 <= upper.max()


def test_tradeoff_lines(tradeoff: plot.Picture) -> None:
    """Trade-off functions, chance as the diagonal, and β at α = 0.1 in words."""
    alpha, beta = line_of(tradeoff, "a release")
    np.testing.assert_array_equal(beta, LAPLACE.tradeoff(alpha))
    alpha, beta = line_of(tradeoff, "chance alone")
    np.testing.assert_allclose(alpha + beta, 1)
    assert "a release: 0.338" in tradeoff.alt_text
    assert "low" in plot.tradeoff(gdp.profiles.Laplace(scale=50).compose(300)).data[0]


def test_corners_are_not_cut_off() -> None:
    """Between drawn points no chord is far above the trade-off function."""
    for profile in (gdp.profiles.ApproxDP(epsilon=1, delta=1e-6), LAPLACE):
        alpha, beta = line_of(plot.tradeoff(profile, names=["p"]), "p")
        between = np.linspace(0, 1, 5001)
        chord = np.interp(between, alpha, beta)
        assert (chord - np.asarray(profile.tradeoff(between)) < 5e-4).all()


def test_descriptions_are_on_the_safe_side() -> None:
    """Errors in words are rounded down, rates and δ up."""
    low, high = RUN.tradeoff_bounds(0.1)
    said = re.search(r"run: (0\.\d+)", plot.tradeoff(RUN, names=["run"]).alt_text)
    assert said is not None
    assert float(said[1]) <= low < high < float(said[1]) + 1e-3
    rate = re.search(r"run: (0\.\d+)", plot.attack(RUN, names=["run"]).alt_text)
    assert rate is not None
    assert float(rate[1]) >= 1 - float(RUN.tradeoff_bounds(0.001)[0])


def test_marks_are_named_where_there_are_several() -> None:
    """Each mark says whose it is; a mechanism that is not GDP is said to be none."""
    both = [gdp.measure(LAPLACE), gdp.measure(ICEA)]
    picture = plot.gdpt(LAPLACE, ICEA, measured=both, names=["one", "two"])
    assert "one: sup G ≤ 1.80091" in picture.alt_text
    assert "two: the head ends at ε = 100" in picture.alt_text
    assert "two: no finite μ covers every ε" in picture.alt_text


def test_attack_is_the_complement() -> None:
    """True-positive rates are 1 - f(α), and those of a Gaussian are known."""
    picture = plot.attack(LAPLACE, mu=1, names=["l"])
    rate, hits = line_of(picture, "l")
    np.testing.assert_allclose(hits, 1 - np.asarray(LAPLACE.tradeoff(rate)))
    rate, hits = line_of(picture, "G_μ, μ = 1")
    np.testing.assert_allclose(hits, 1 - np.asarray(gdp.beta(rate, 1)), rtol=1e-9)


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")]
)
def test_still_formats(tradeoff: plot.Picture, tmp_path: Path, ending: str, start: bytes) -> None:
    """Each format is written and is what its ending says."""
    content = tradeoff.save(tmp_path / f"picture.{ending}").read_bytes()
    assert content.startswith(start)
    assert len(content) > 5000


def test_svg_is_described(tradeoff: plot.Picture) -> None:
    """The SVG is well formed and carries its description and role."""
    root = ElementTree.fromstring(tradeoff.to_svg())
    assert root.get("role") == "img"
    assert root.get("aria-label") == tradeoff.alt_text
    assert root[0].tag.endswith("desc")


def test_page_needs_no_network(tradeoff: plot.Picture, tmp_path: Path) -> None:
    """The page loads nothing, names its language, and has the slider at the last μ."""
    page = tradeoff.save(tmp_path / "picture.html").read_text(encoding="utf-8")
    assert not NETWORK.search(page)
    assert '<html lang="en">' in page
    assert '"input": "range"' in page
    assert '"value": 1.8' in page


def test_names_cannot_leave_their_script() -> None:
    """A name with tags in it is text, in the page's script and in the SVG."""
    evil = "const spec = </script><script>alert(1)</script>const embedOpt"
    picture = plot.tradeoff(LAPLACE, names=[evil], title=evil)
    page = picture.to_html()
    assert "<script>alert(1)" not in page
    assert page.count("</script>") == plot.tradeoff(LAPLACE, names=["a"]).to_html().count(
        "</script>"
    )
    ElementTree.fromstring(picture.to_svg())


@pytest.mark.parametrize("count", [2, 7, 20])
def test_lines_differ_without_colour(count: int) -> None:
    """Up to seven lines have different dashes and colours, and no two of more have both."""
    some = [Series(f"line {number}", [0, 1], [0, number]) for number in range(count)]
    chart: Any = lines(some, title="t", x_title="x", y_title="y", alt_text="a").chart
    encoding = chart.to_dict()["layer"][0]["encoding"]
    looks = [encoding[channel]["scale"]["range"] for channel in ("color", "strokeDash")]
    assert len({str(look) for look in zip(*looks, strict=True)}) == count
    if count <= 7:
        assert [len({str(one) for one in channel}) for channel in looks] == [count, count]


def test_names_have_room() -> None:
    """Names of a few lines stand beside them, on no line and on no other name."""
    x = np.linspace(0, 10, 101)
    flat = [(x, np.full(101, height)) for height in (1.0, 1.05, 9.0)]
    steep = (np.array([5.0, 5.0]), np.array([0.0, 10.0]))
    canvas = Canvas(480, 360, (0, 10), (0, 10), log_x=False, log_y=False)
    lines_ = [*flat, steep]
    found = places(["a line", "another", "the highest", "upright"], lines_, canvas)
    boxes = []
    for place, name in zip(found, ["a line", "another", "the highest", "upright"], strict=True):
        across, down = canvas.pixels(np.array([place.x]), np.array([place.y]))
        left, base = across[0] + place.dx, down[0] + place.dy
        boxes.append((left, base - 10, left + 6.2 * len(name), base + 3))
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 480
        assert not left < 240 < right
        for height in (1.0, 1.05, 9.0):
            assert not top < 360 * (1 - height / 10) < bottom
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


@pytest.mark.parametrize(
    ("draw", "title"),
    [
        (lambda: plot.profile(LAPLACE), "At δ = 1e-5: ε ≤ 2"),
        (lambda: plot.profile(APPROX, names=["a"], eps_max=3), "At δ = 1e-5: ε ≤ 1"),
        (lambda: plot.gdpt(LAPLACE, measured=gdp.measure(LAPLACE)), "μ ≤ 1.80091 covers every ε"),
        (lambda: plot.tradeoff(LAPLACE), "At 10 % false alarms an attack misses at least 33.8 %"),
        (lambda: plot.attack(LAPLACE), "At 0.1 % false alarms an attack finds at most 0.739 %"),
        (
            lambda: plot.gdpt(APPROX, measured=gdp.measure(APPROX)),
            "μ ≤ 1.23204, but for a failure of probability 1e-06",
        ),
    ],
)
def test_titles_say_the_finding(draw: Callable[[], plot.Picture], title: str) -> None:
    """A title is the finding, on the safe side."""
    assert draw().title == title


def test_floor_is_marked() -> None:
    """A δ that does not fall to 0 is marked, and called not GDP."""
    assert "δ stays at 1e-6: not GDP" in plot.profile(APPROX).to_svg()


def test_rise_after_the_supremum(measured_run: gdp.Measurement) -> None:
    """G goes on past the ε at which it is largest with p taken off."""
    picture = plot.gdpt(RUN, measured=measured_run, names=["g"])
    eps, _ = line_of(picture, "g")
    past, left = line_of(picture, "with p taken off, p = 1e-10")
    assert eps.max() > measured_run.attained_at
    assert left.max() <= measured_run.mu.upper
    assert past[left.argmax()] == pytest.approx(measured_run.attained_at, rel=0.1)


def test_marks_and_infinite_points() -> None:
    """Points that are not finite are left out; marked points and rules are drawn."""
    picture = lines(
        [Series("a", [0, 1, 2], [0, np.inf, np.nan])],
        title="t",
        x_title="x",
        y_title="y",
        alt_text="a",
        points=[Point(0, 0, "here <b>")],
        rules=[Rule("level", y=1.0), Rule("upright", x=1.0)],
    )
    assert len(picture.data) == 1
    svg = picture.to_svg()
    assert "here &lt;b&gt;" in svg
    assert "level" in svg
    assert "upright" in svg


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: plot.gdpt(
                gdp.profiles.Callable(
                    lambda eps: 1.0 + 0 * eps, trusted=["non-increasing", "upper bound"], name="c"
                )
            ),
            "with δ(ε) < 1 for some ε shown",
        ),
        (lambda: plot.gdpt(LAPLACE, measured=gdp.measure(ICEA, eps_h=1)), "measured is 'icea'"),
        (lambda: plot.tradeoff("laplace"), "profiles is 'str'"),
        (plot.profile, "profiles: give at least one mechanism"),
        (plot.gdpt, "profiles: give at least one mechanism"),
        (plot.tradeoff, "profiles: give at least one mechanism"),
        (lambda: plot.profile(LAPLACE, eps_max=0), "eps_max is 0"),
        (lambda: plot.profile(LAPLACE, mu=[0]), "mu is 0"),
        (lambda: plot.profile(LAPLACE, mu=[float("nan")]), "mu is nan"),
        (lambda: plot.profile(LAPLACE, names=["a", "b"]), "names is 'a, b'"),
        (lambda: plot.staircase(LAPLACE, widths=[0]), "widths is 0"),
        (lambda: plot.profile(LAPLACE).save("picture.gif"), "output is 'picture.gif'"),
        (lambda: plot.profile(LAPLACE).save("no/such/folder/a.png"), "a folder that exists"),
        (
            lambda: lines(
                [Series("a", [0], [0]), Series("a", [0], [1])],
                title="",
                x_title="",
                y_title="",
                alt_text="",
            ),
            "series is",
        ),
        (lambda: Series("a", [0, 1], [0]).rows(), "y is"),
    ],
    ids=range(15),
)
def test_refusals(draw: Callable[[], object], message: str) -> None:
    """What cannot be drawn is refused by name."""
    with pytest.raises(InputError, match=re.escape(message)):
        draw()


def _row(batch: int, epochs: int, noise: float) -> gdp.PlanRow:
    given = {"batch_size": batch, "epochs": epochs}
    return gdp.PlanRow(
        given, "noise_multiplier", noise_multiplier=noise, noise_per_sample=noise / batch
    )


def test_plan() -> None:
    """A plan shows a line for each other parameter, and names the least."""
    rows = [_row(batch, epochs, batch**0.3 + epochs) for batch in (128, 512) for epochs in (1, 2)]
    failed = gdp.PlanRow({"batch_size": 9, "epochs": 1}, "noise_multiplier", error="none")
    picture = plot.plan(gdp.Plan([failed, *rows]))
    assert picture.title == "Least noise per sample σ/(q·records): 0.01464, with batch size 512"
    x, y = line_of(picture, "epochs 2")
    assert x.tolist() == [128, 512]
    assert y.tolist() == [one.noise_per_sample for one in rows if one.given["epochs"] == 2]
    assert "noise multiplier" in plot.plan(rows, "noise_multiplier").title
    alike = [_row(batch, 1, 2.0) for batch in (128, 512)]
    title = plot.plan(alike, "noise_multiplier").title
    assert title == "noise multiplier σ 2 in each setting"
    for bad, shown in ((rows[:1], None), (rows, "mu")):
        with pytest.raises(InputError):
            plot.plan(bad, shown)
