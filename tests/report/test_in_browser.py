"""Pages in a real browser: headless Chromium, where one is installed."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import gdpbridge as gdp
from gdpbridge import plot
from gdpbridge.specification.release import Release

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")

PHONE, LAPTOP = (390, 844), (1280, 800)

# what a frame of a given size shows of a page
LOOK = """
const page = document.querySelector('iframe').contentDocument;
const view = page.defaultView;
const room = page.documentElement.clientWidth;
const bottom = (select) => Math.max(...[...page.querySelectorAll(select)]
  .map((one) => one.getBoundingClientRect().bottom));
const wide = [...page.querySelectorAll('body *')].filter((one) => !one.closest('svg')
  && !one.closest('.wide') && one.getBoundingClientRect().right > room + 1);
document.querySelector('#found').textContent = JSON.stringify({
  overflow: page.documentElement.scrollWidth - room,
  wide: wide.map((one) => one.outerHTML.slice(0, 80)),
  statement: bottom('.statement'),
  attacker: bottom('.attacker'),
  scale: bottom('.scale'),
  pictures: [...page.querySelectorAll('figure svg')]
    .map((one) => one.getBoundingClientRect().width),
  small: [...page.querySelectorAll('body *')].filter((one) => !one.closest('svg')
    && one.children.length === 0 && parseFloat(view.getComputedStyle(one).fontSize) < 11).length,
});
"""


def browse(*words: str) -> str:
    """What Chromium prints, without a network."""
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--proxy-server=127.0.0.1:9",
        "--virtual-time-budget=5000",
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, check=True).stdout


@pytest.fixture
def look(tmp_path: Path) -> Callable[[str, tuple[int, int]], dict]:
    """Shows a page in a frame of some size, and measures what is there."""

    def looked(page: str, size: tuple[int, int]) -> dict:
        frame = f'<iframe width="{size[0]}" height="{size[1]}" style="border:0" srcdoc="{{}}">'
        outer = (
            f'<!DOCTYPE html><meta charset="utf-8">{frame.format(html.escape(page))}</iframe>'
            f'<pre id="found"></pre><script>window.onload = () => {{{LOOK}}};</script>'
        )
        file = tmp_path / "outer.html"
        file.write_text(outer, encoding="utf-8")
        shown = browse("--dump-dom", "--window-size=1400,1000", file.as_uri())
        found = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
        assert found is not None
        return json.loads(html.unescape(found[1]))

    return looked


@pytest.mark.parametrize("size", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_page_fits(pages: dict[str, str], look: Callable, size: tuple[int, int]) -> None:
    """Nothing sticks out sideways, pictures have room, and no text is tiny."""
    found = look(pages["dpsgd"], size)
    assert (found["overflow"], found["wide"], found["small"]) == (0, [], 0)
    assert len(found["pictures"]) == 4
    assert min(found["pictures"]) > 300


def test_first_screen(pages: dict[str, str], look: Callable) -> None:
    """Without scrolling, a laptop shows the statement, the attacker's table and the scale."""
    found = look(pages["laplace"], LAPTOP)
    assert max(found["statement"], found["attacker"], found["scale"]) <= LAPTOP[1]
    assert look(pages["laplace"], PHONE)["statement"] <= PHONE[1]


@pytest.mark.parametrize("sort", ["laplace", "dpsgd", "icea"])
def test_print(reports: dict[str, gdp.PrivacyReport], tmp_path: Path, sort: str) -> None:
    """With pictures, and every field of the release filled in, the page prints on three sheets."""
    said = dict.fromkeys(Release.model_fields, "what the organisation says of it, in some words")
    report = dataclasses.replace(reports[sort], release=said)
    file, target = tmp_path / "report.html", tmp_path / "report.pdf"
    file.write_text(report.to_html(), encoding="utf-8")
    browse("--no-pdf-header-footer", f"--print-to-pdf={target}", file.as_uri())
    sheets = len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))
    assert 2 <= sheets <= 3


@pytest.mark.parametrize(("width", "names"), [(500, "list"), (1400, "beside")])
def test_slider(tmp_path: Path, width: int, names: str) -> None:
    """Without a network the page draws its lines, and the slider moves the Gaussian curve.

    Names stand beside their lines, or in a list where there is no room.
    """
    file = tmp_path / "tradeoff.html"
    page = plot.tradeoff(gdp.profiles.Laplace(scale=0.5), mu=1.0).to_html()
    moved = """<script>
    const curve = () => [...document.querySelectorAll('svg.marks .mark-line path')]
      .map((one) => one.getAttribute('d')).join();
    const wait = setInterval(() => {
      const slider = document.querySelector('input[type=range]');
      if (!slider || !curve()) return;
      clearInterval(wait);
      const before = curve();
      slider.value = 3;
      slider.dispatchEvent(new Event('input'));
      setTimeout(() => {
        const texts = document.querySelector('svg.marks').textContent;
        const legend = texts.includes('Gaussian curve, μ = 3');
        const seen = (select) => [...document.querySelectorAll(select)]
          .some((one) => one.getBoundingClientRect().width > 0);
        const names = [['list', 'ul.names'], ['beside', '[class*=beside_] text']]
          .filter(([, select]) => seen(select)).map(([name]) => name);
        document.title = `curve ${before !== curve()}, legend ${legend}, names ${names}`;
      }, 500);
    }, 50);
    </script></body>"""
    # the library inside the page has that tag in a text, too
    body, _, end = page.rpartition("</body>")
    file.write_text(f"{body}{moved}{end}", encoding="utf-8")
    shown = browse("--dump-dom", f"--window-size={width},900", file.as_uri())
    assert f"<title>curve true, legend true, names {names}</title>" in shown
