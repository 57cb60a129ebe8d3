"""Every statement of the paper, its table and its figures."""

from __future__ import annotations

import csv
import dataclasses
import doctest
import html
import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from gdpbridge.interval import Interval
from gdpbridge.paper.figures import FIGURES
from gdpbridge.paper.finding import Finding, Status, check
from gdpbridge.paper.record import shown, to_text
from gdpbridge.paper.reproduce import ALL_CLAIMS, Reproduction, reproduce
from gdpbridge.paper.tables import PRINTED, TABLE, TABLE_CLAIMS
from gdpbridge.paper.write import prepared_folder, write_folder
from gdpbridge.plot import Picture

FLAGGED = {
    "combinations",
    "cloak-meets-1",
    "example-scale",
    "limit-in-lemma",
    "listing-accuracy",
    "naive-listing",
    "optimised-listing",
    "order-of-guarantees",
    "order-of-tail",
    "range-of-listings",
    "searches-naive",
    "searches-optimised",
    "sign-of-refinement",
    "slope",
    "staircase-gap",
    "table1/optimal/0.0001",
    "table1/optimal/0.001",
    "tail-theorem",
    "terms-tend-to-one",
}


@pytest.fixture(scope="module")
def findings(made: tuple[Reproduction, Path]) -> dict[str, Finding]:
    """Every finding, by name."""
    return {one.name: one for one in made[0].findings}


def test_each_claim_is_checked_once(findings: dict[str, Finding]) -> None:
    """The run has a finding for each claim, by its name."""
    assert list(findings) == [claim.name for claim in ALL_CLAIMS]


def test_names_differ() -> None:
    """No two claims or figures share a name, which files and programs go by."""
    assert len({claim.name for claim in ALL_CLAIMS}) == len(ALL_CLAIMS)
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)


def test_nothing_disagrees(findings: dict[str, Finding]) -> None:
    """Each printed value agrees with ours, or is shown to be wrong."""
    assert not [one for one in findings.values() if one.status is Status.DISAGREES]


def test_what_is_flagged(findings: dict[str, Finding]) -> None:
    """The flagged statements are those known to be wrong or loose, each with figures."""
    flagged = {name for name, one in findings.items() if one.status is Status.FLAGGED}
    assert flagged == FLAGGED
    assert all(findings[name].facts and findings[name].wrong for name in flagged)


def test_questions_left_open(findings: dict[str, Finding]) -> None:
    """What the paper could not tell from its figure: SGD crosses the 1-GDP curve alone."""
    answers = {mu: findings[f"sgd-meets-{mu}"] for mu in (1, 2, 4)}
    assert all(one.status is Status.ANSWERED for one in answers.values())
    assert [one.ours for one in answers.values()] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("laplace-mu", "1.8009051932755807"),
        ("laplace-50", "0.97827839833"),
        ("laplace-10", "0.27731184393"),
        ("pure-mu", "0.2504839053"),
        ("laplace-02-mu", "0.2391055840"),
        ("pure-mu-50", "1.77118868"),
        ("laplace-mu-50", "1.69073180"),
        ("summary", "1.42007917667459628"),
        ("noise-refined", "8.0857178545"),
        ("slope", "1.2533141373155002512"),
        ("tail-sgd", "0.70710678118654752440"),
    ],
)
def test_our_numbers(findings: dict[str, Finding], name: str, value: str) -> None:
    """Ours are narrow intervals about values known from elsewhere."""
    ours = findings[name].ours
    assert isinstance(ours, Interval)
    assert ours.width < 1e-8
    assert abs(ours.low - Decimal(value)) < Decimal("1e-8")


def test_noise_of_refinement(findings: dict[str, Finding]) -> None:
    """The pair found for projected noisy SGD does imply (0.2, e⁻²)-DP, with the noise found."""
    noise, eps, delta = (
        float(findings[f"noise-{part}"].ours.high) for part in ("refined", "epsilon", "delta")
    )
    assert -np.log(delta) / eps == pytest.approx(noise, rel=1e-8)
    implied = delta + (1 - delta) * (np.exp(eps) - np.exp(0.2)) / (1 + np.exp(eps))
    assert implied == pytest.approx(np.exp(-2), rel=1e-8)


@pytest.mark.parametrize("name", ["laplace-mu", "summary", "laplace-2-gdp", "tail-sgd"])
def test_another_printed_value_disagrees(name: str) -> None:
    """A claim with another printed value does not pass."""
    claim = next(claim for claim in ALL_CLAIMS if claim.name == name)
    other = {"value": not claim.value} if isinstance(claim.value, bool) else {"value": "1.77"}
    assert check(dataclasses.replace(claim, **other)).status is Status.DISAGREES


def test_table_has_every_cell(findings: dict[str, Finding]) -> None:
    """Table 1 has 28 cells, of which 26 agree."""
    cells = [one for one in findings.values() if one.where == TABLE]
    assert len(cells) == 28 == sum(map(len, PRINTED.values()))
    assert sum(one.status is Status.AGREES for one in cells) == 26


def test_unsafe_cell(findings: dict[str, Finding]) -> None:
    """The printed 5.28 is no guarantee: there, δ is proved to be above 1e-4; 4.76 is safe."""
    unsafe, safe = (findings[f"table1/optimal/{delta}"] for delta in ("0.0001", "0.001"))
    assert unsafe.facts[0].value.low > Decimal("1e-4")
    assert "no guarantee" in unsafe.wrong
    assert safe.facts[0].value.high < Decimal("1e-3")
    assert "safe" in safe.wrong
    assert (str(safe.facts[1].value), str(unsafe.facts[1].value)) == ("4.76", "5.6")


def _drawn(name: str) -> Picture:
    return next(figure for figure in FIGURES if figure.name == name).draw()


def _line(picture: Picture, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = [(row["x"], row["y"]) for row in picture.data if row["name"] == name]
    assert rows, name
    x, y = np.array(rows).T
    return x, y


def test_figure_of_profiles() -> None:
    """Naive profiles start at 1 and lie above the refined ones, which they join."""
    picture = _drawn("figure-1-left")
    for name in ("SGD", "ICEA"):
        _, naive = _line(picture, f"{name}, naive")
        _, refined = _line(picture, f"{name}, refined")
        assert naive[0] == 1 > refined[0]
        assert (naive >= refined - 1e-12).all()
        assert naive[-1] == pytest.approx(refined[-1], rel=1e-9)


def test_figure_of_methods() -> None:
    """At each δ the exact ε is the least, and that by its one μ is close above it."""
    picture = _drawn("figure-3")
    lines = {name: _line(picture, name)[0] for name in PRINTED}
    for name, eps in lines.items():
        assert (eps >= lines["Optimal"]).all(), name
    assert (lines["GDP summary"] < 1.1 * lines["Optimal"]).all()


def test_figure_of_pure_and_laplace() -> None:
    """Laplace lies below ε₀-DP, and both vanish at ε₀."""
    picture = _drawn("figure-laplace")
    for eps0 in (0.5, 1.0, 2.0):
        eps, pure = _line(picture, f"all {eps0:g}-DP")
        _, noise = _line(picture, f"Laplace, {eps0:g}-DP")
        inside = eps < eps0
        assert (noise[inside] < pure[inside]).all()
        assert not noise[~inside].any()
        assert not pure[~inside].any()


@pytest.mark.parametrize(
    "name", ["figure-sampled-laplace", "figure-sampled-icea", "figure-sampled-gaussian"]
)
def test_figures_of_samples(name: str) -> None:
    """A smaller rate gives a lower transform at every ε."""
    picture = _drawn(name)
    last = None
    for rate in ("0.1", "0.25", "0.5", "1"):
        eps, values = _line(picture, f"γ = {rate}")
        grid = np.linspace(0, eps[-1], 50)
        values = np.interp(grid, eps, values)
        if last is not None:
            assert (last <= values + 1e-9).all()
        last = values


class _Page(HTMLParser):
    """What a page loads, links to and names."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.names: list[str] = []
        self.tags: list[str] = []
        self.labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from one tag."""
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "srcset", "data", "poster"} or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            elif name == "href":
                self.links.append(value or "")
            elif name == "id":
                self.names.append(value or "")
            elif name == "aria-label" and tag == "svg":
                self.labels.append(value or "")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reproduction, Path]:
    """The whole run, written into a folder that holds another file already."""
    folder = tmp_path_factory.mktemp("reproduced")
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    prepared_folder(folder)
    shares: list[float] = []
    done = reproduce(progress=lambda _, share: shares.append(share))
    write_folder(done, folder, progress=lambda _, share: shares.append(share))
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    return done, folder


def test_folder(made: tuple[Reproduction, Path]) -> None:
    """The whole run fills the folder: page, numbers, table, and three files for each figure."""
    done, folder = made
    assert (folder / "mine.txt").read_text(encoding="utf-8") == "mine"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    figures = {f"figures/{one.name}.{end}" for one in FIGURES for end in ("svg", "png", "csv")}
    assert files == {"mine.txt", "index.html", "numbers.json", "table1.csv"} | figures

    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    assert numbers["schema"] == {"name": "gdpbridge.paper", "version": 1}
    assert len(numbers["findings"]) == len(ALL_CLAIMS) == sum(numbers["counts"].values())
    assert numbers["counts"]["disagrees"] == 0
    summary = next(one for one in numbers["findings"] if one["name"] == "summary")
    assert summary["printed"] == "1.420"
    assert summary["ours"]["low"] <= 1.4200791766746 <= summary["ours"]["high"]
    assert {file for one in numbers["figures"] for file in one["files"]} == figures

    with (folder / "table1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(TABLE_CLAIMS)
    unsafe = next(row for row in rows if row["printed"] == "5.28")
    assert (unsafe["method"], unsafe["delta"], unsafe["status"]) == ("Optimal", "0.0001", "flagged")
    assert float(unsafe["low"]) <= float(unsafe["high"])
    assert float(unsafe["low"]) == pytest.approx(5.564056308036, abs=1e-11)

    with (folder / "figures" / "figure-3.csv").open(encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    assert len(points) == len(next(o for o in done.figures if o.name == "figure-3").picture.data)

    text = (folder / "index.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.loaded == []
    assert "script" not in page.tags
    assert not re.search(r"@import|url\((?!#)", text)
    outside = [link for link in page.links if re.match(r"[a-z]+:", link)]
    assert outside == ["https://arxiv.org/abs/2210.09269"]
    assert {link for link in page.links if "/" in link and link not in outside} == figures
    # names are unique, so that pictures do not take each other's parts, and every link has a goal
    assert len(set(page.names)) == len(page.names)
    goals = re.findall(r"url\(#([^)]+)\)", text) + [x[1:] for x in page.links if x[0] == "#"]
    assert set(goals) <= set(page.names)
    assert page.labels == [one.picture.alt_text for one in done.figures]
    for one in done.findings:
        assert one.printed in text


def test_the_summary_is_as_documented(made: tuple[Reproduction, Path], root: Path) -> None:
    """What docs/using.md shows of the command is what this run prints."""
    done, folder = made
    page = (root / "docs" / "using.md").read_text(encoding="utf-8")
    _, _, shown = page.partition("$ gdpbridge paper -o paper\n")
    printed = to_text(done, folder, 100, colour=False).replace(str(folder), "paper")
    block = shown.partition("```")[0]
    # lines break elsewhere where the folder's name is longer
    ways = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(block, f"{printed.rstrip()}\n", ways)


def test_page_leads_with_what_is_reproduced(made: tuple[Reproduction, Path]) -> None:
    """Table 1 and the figures come before what is wrong; nothing disagrees in this run."""
    text = (made[1] / "index.html").read_text(encoding="utf-8")
    sections = re.findall(r'<section id="([^"]+)"', text)
    assert sections == ["table1", "figures", "flagged", "numbers", "rule"]
    assert 'href="#flagged"' in text[: text.index("<main>")]


def test_flags_are_marked_as_printed(made: tuple[Reproduction, Path]) -> None:
    """No heading of a flag reads as ours: it starts with "Printed:", and ours follows at once."""
    done, folder = made
    text = (folder / "index.html").read_text(encoding="utf-8")
    articles = re.findall(r'<article class="flag".*?</article>', text, re.DOTALL)
    flagged = done.of_status(Status.FLAGGED)
    assert len(articles) == len(flagged)
    for article, one in zip(articles, flagged, strict=True):
        plain = html.unescape(re.sub(r"<[^>]+>", "", article)).strip()
        assert plain.startswith(f"Printed: {one.what}")
        said = plain.splitlines()[2]
        assert said.startswith("Not so." if one.ours is False else f"Ours: {shown(one.ours)}")


def test_table_is_rounded_as_printed(made: tuple[Reproduction, Path]) -> None:
    """Ours in table 1 has the places of the printed number, cut nowhere; the CSV has all digits."""
    text = (made[1] / "index.html").read_text(encoding="utf-8")
    table = text[text.index('id="table1"') : text.index('id="figures"')]
    cells = re.findall(r'<td class="number">([^<]+)<small class="\w+">([^<]+)<', table)
    assert len(cells) == len(TABLE_CLAIMS)
    for ours, printed in cells:
        assert len(ours.partition(".")[2]) == len(printed.partition(".")[2])
    assert ("5.56", "5.28") in cells
    assert ("10", "10") in cells
