"""The explorer in a real browser: its answers are the library's, and people can use it."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import gdpbridge as gdp
from gdpbridge.cli.main import main
from gdpbridge.explorer import explorer_page

Browser = Any
REFERENCE = Path(__file__).parents[1] / "data" / "explorer_reference.json"
# the library's ends are proved; the page's sums are floats
CLOSE = 1e-6
# a smaller δ is only said to be below it
LEAST = 1e-30

NAMES = ("mu", "epsilon", "delta")

READ = """(() => [...document.querySelectorAll('#answers .card')].map((card) => ({
  text: card.innerText,
  values: [...card.querySelectorAll('strong')].map((one) => one.dataset.value),
  errors: [...card.querySelectorAll('strong')].map((one) => Number(one.dataset.error)),
  complaint: card.querySelector('.complaint')?.textContent ?? null,
})))()"""
GO = """(async (hashes) => {
  const read = () => %s[0];
  const found = [];
  for (const hash of hashes) {
    const changed = new Promise((done) => addEventListener('hashchange', done, { once: true }));
    location.hash = hash;
    await changed;
    await new Promise((done) => setTimeout(done, %s));
    found.push(read());
  }
  return found;
})(%s)"""
# Chromium refuses more than 200 changes of the URL in ten seconds
PAUSE = 100 if os.environ.get("EXPLORER_SETTINGS") == "all" else 0

LOOK = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = (one) => getComputedStyle(one);
  const paper = light(style(document.body).backgroundColor);
  const contrast = (text) => {
    const [low, high] = [light(text), paper].sort();
    return (high + 0.05) / (low + 0.05);
  };
  const all = (select) => [...document.querySelectorAll(select)];
  const texts = all('body *').filter((one) => one.checkVisibility() && one.textContent.trim()
    && one.childElementCount === 0 && !['SCRIPT', 'OPTION'].includes(one.tagName));
  const ink = (one) => one.closest('svg') ? style(one).fill : style(one).color;
  const html = (one) => one.outerHTML;
  return {
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    small: texts.filter((one) => parseFloat(style(one).fontSize) < 12).map(html),
    faint: texts.filter((one) => contrast(ink(one)) < 4.5).map(html),
    lines: all('svg .line').map((one) => contrast(style(one).stroke)),
    charts: all('figure svg').map((one) => one.getBoundingClientRect().width),
    dark: paper < 0.2,
  };
})()"""


def hash_of(steps: list[dict[str, Any]]) -> str:
    words = []
    for one in steps:
        values = "".join(f";{name}={value!r}" for name, value in one["values"].items())
        count = f";count={one['count']}" if one["count"] > 1 else ""
        text = f";text={quote(one['text'], safe='')}" if "text" in one else ""
        words.append(f"{one['kind']}{values}{count}{text}")
    return urlencode({"m": "|".join(words)})


def test_answers_are_the_librarys(browser: Browser, page_url: str) -> None:
    """μ, ε at δ and δ at ε of random settings lie in the library's intervals, to 1e-6.

    Or to the share that the page says a number may be off by, or it says that it has none: of no
    more than one number in fifty. A share of the stored settings; all with EXPLORER_SETTINGS=all.
    """
    stored = json.loads(REFERENCE.read_text(encoding="utf-8"))
    assert len(stored) == 200
    if os.environ.get("EXPLORER_SETTINGS") != "all":
        stored = stored[::4]
    browser.open(page_url)
    hashes = [hash_of(one["steps"]) for one in stored]
    shown = [
        one for hash_ in hashes for one in browser.run(GO % (READ, PAUSE, json.dumps([hash_])))
    ]
    rough = 0
    for one, page in zip(stored, shown, strict=True):
        assert page["complaint"] is None, (one, page)
        for name, text, error in zip(NAMES, page["values"], page["errors"], strict=False):
            value = float(text)
            low, high = (math.inf if end == "inf" else end for end in one[name])
            rough += error > CLOSE
            if math.isnan(value):
                assert "not computed here" in page["text"]
                continue
            assert error <= CLOSE or "perhaps off by a share of" in page["text"]
            if name == "delta" and value < LEAST:
                assert low < LEAST
                continue
            # a bracket that ends where the table does is "no ε" on the page
            slack = max(CLOSE, error) * (1 if name == "mu" else max(abs(low), 1e-300))
            assert low - slack <= value <= high + slack or high == value == math.inf, (one, page)
    assert 0 < rough <= len(NAMES) * len(stored) / 50


def test_commands_prove_what_is_shown(
    browser: Browser, page_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every number says that it is not proved, and its command's answer is that number."""
    browser.open(page_url + "#m=approx-dp;epsilon=0.5;delta=1e-6;count=3")
    (page,) = browser.run(READ)
    assert page["text"].count("computed, not proved") == 4
    commands = browser.run(
        "[...document.querySelectorAll('#answers code')].map((one) => one.textContent)"
    )
    mu, epsilon, delta, _ = (float(value) for value in page["values"])
    for command, value, name in zip(commands, (mu, epsilon, delta), NAMES, strict=False):
        assert main([*command.split()[1:], "--json"]) == 0
        found = json.loads(capsys.readouterr().out)[name]
        assert found["low"] * (1 - CLOSE) <= value <= found["high"] * (1 + CLOSE)
    assert main(commands[3].split()[1:]) == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_fits(browser: Browser, page_url: str, width: int, dark: bool) -> None:
    """At every size nothing sticks out, no type is below 12 px, and texts stand out."""
    browser.show(width, dark=dark)
    browser.open(page_url + "#m=dpsgd&m=laplace|gaussian&m=approx-dp&m=table")
    found = browser.run(LOOK)
    assert (found["over"], found["small"], found["faint"]) == (0, [], [])
    assert len(found["charts"]) == 3
    assert min(found["charts"]) >= min(width, 430) - 60
    assert len(found["lines"]) >= 12
    assert min(found["lines"]) >= 3
    assert found["dark"] is dark


def test_keyboard(browser: Browser, page_url: str) -> None:
    """Every control is reached with Tab; arrows move a slider and the URL keeps it."""
    browser.show(1440)
    browser.open(page_url)
    controls = browser.run(
        "[...document.querySelectorAll('input, select, button, textarea, summary')]"
        ".filter((one) => one.checkVisibility() && !one.disabled).length"
    )
    browser.run("window.seen = new Set(); addEventListener('focusin', (e) => seen.add(e.target))")
    browser.press("Tab", controls)
    assert browser.run("seen.size") == controls
    browser.run("document.querySelector('#s0-0-scale + input').focus()")
    before = browser.run(READ)[0]["values"][0]
    browser.press("ArrowRight", 3)
    browser.settle()
    assert float(browser.run(READ)[0]["values"][0]) < float(before)
    browser.run("new Promise((done) => setTimeout(done, 500))")
    kept = browser.run("location.hash")
    browser.run("document.querySelector('#compare').focus()")
    browser.press("Enter")
    browser.settle()
    assert len(browser.run(READ)) == 2
    browser.open(page_url + kept)
    assert browser.run("location.hash") == kept


def test_no_request(browser: Browser, page_url: str) -> None:
    """The page loads nothing, not even from its own folder, and logs no error."""
    browser.open(page_url + "#m=dpsgd&m=gaussian")
    browser.settle()
    asked = [
        one["params"]["request"]["url"].partition("#")[0]
        for one in browser.events
        if one["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [page_url]
    assert [
        one
        for one in browser.events
        if one["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
    ] == []
    assert len(explorer_page().encode()) <= 1_500_000


def test_asks_backwards(browser: Browser, page_url: str) -> None:
    """ε = 3 at δ = 1e-5: the scale found meets it by the library, and a smaller one would not."""
    browser.open(page_url + "#m=laplace|gaussian")
    browser.run("document.querySelector('#ask-target').focus()")
    browser.write("3")
    browser.press("Enter")
    scale = float(browser.run("document.querySelector('#s0-0-scale').value"))
    assert "computed, not proved" in browser.run("document.querySelector('#ask-answer').innerText")
    gaussian = gdp.profiles.Gaussian(sigma=2)
    good, less = (
        gdp.profiles.Sequence(parts=(gdp.profiles.Laplace(scale=one), gaussian)).delta_bounds(3)
        for one in (scale, scale * (1 - 1e-4))
    )
    assert good[1] <= 1e-5 < less[0]


@pytest.mark.parametrize(
    ("id_", "text", "complaint"),
    [
        ("s0-0-scale", "-1", "must be a finite number > 0"),
        ("s0-0-scale", "two", "must be a finite number > 0"),
        ("s0-0-count", "1.5", "must be a whole number"),
    ],
)
def test_bad_input(browser: Browser, page_url: str, id_: str, text: str, complaint: str) -> None:
    """What cannot be is said beside its field, and the answer stays that of the last good value."""
    browser.open(page_url)
    before = browser.run(READ)
    browser.run(f"document.getElementById('{id_}').focus()")
    browser.write(text)
    browser.settle()
    assert complaint in browser.run(f"document.getElementById('{id_}-complaint').textContent")
    assert browser.run(READ) == before


def test_texts_are_no_markup(browser: Browser, page_url: str) -> None:
    """A pasted table, in the URL too, is a text."""
    text = quote("eps,delta\n<img src=x onerror=document.title='run'>,1\n")
    browser.open(f"{page_url}#{urlencode({'m': f'table;text={text}'})}")
    (page,) = browser.run(READ)
    assert 'line 2 is "<img' in page["complaint"]
    assert browser.run("document.images.length") == 0


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ("dpsgd|randomized-response", "one neighbouring relation"),
        ("dpsgd;batch_size=70000;records=60000", "at most the number of records"),
        ("discrete-gaussian;count=2", "not composed on this page"),
    ],
)
def test_refuses(browser: Browser, page_url: str, steps: str, says: str) -> None:
    """What the library does not answer the page does not either, and it says what it cannot."""
    browser.open(f"{page_url}#{urlencode({'m': steps})}")
    assert says in browser.run(READ)[0]["complaint"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the page, and refuses another ending."""
    target = tmp_path / "explorer.html"
    assert main(["explore", "-o", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == explorer_page()
    assert main(["explore", "-o", str(tmp_path / "explorer.pdf")]) == 2
    assert "must be a file that ends in one of .html" in capsys.readouterr().err
