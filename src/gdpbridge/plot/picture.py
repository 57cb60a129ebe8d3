"""A picture: one chart, what it says in words, and the numbers in it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from gdpbridge.errors import InputError, MissingExtraError
from gdpbridge.files import write_bytes
from gdpbridge.plot.style import DARK

if TYPE_CHECKING:
    import altair

__all__ = ["FORMATS", "Picture", "charts", "checked_path"]

FORMATS = ("png", "svg", "pdf", "html")
_SCALE = 2.0
_HEAD = f"""
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <style>
    :root {{ color-scheme: light dark; }}
    body {{ margin: 1rem auto; padding: 0 1rem; font: 16px/1.45 Helvetica, Arial, sans-serif;
      max-width: 60rem; }}
    h1 {{ font-size: 1.1rem; margin: 0 0 .5rem; }}
    /* more than the library's own rule, which comes later */
    html #vis.vega-embed {{ display: block; width: 100%; }}
    html #vis svg.marks {{ background: transparent !important; }}
    ul.names {{ display: none; list-style: none; padding: 0; }}
    ul.names svg {{ width: 34px; height: 10px; margin-right: .6rem; }}
    /* on a phone no name has room beside its line */
    @media (max-width: 34rem) {{
      #vis [class*="beside_"] {{ display: none; }}
      ul.names {{ display: block; }}
    }}
    #vis form.vega-bindings {{ margin: .5rem 0; font-size: 1rem; }}
    #vis .vega-bind label {{ display: flex; gap: .6rem; align-items: center; }}
    #vis input[type=range] {{ flex: 1; min-width: 8rem; }}
{DARK}  </style>"""
# what the page's script has around the chart
_SPECIFICATION, _SPECIFICATION_END = "const spec = ", "const embedOpt"
_PLACE = '<div class="vega-visualization"'
# no menu that leads to the network, and lines that stay sharp
_EMBEDDED = {"actions": False, "renderer": "svg"}


def charts() -> Any:
    """Return the charting library.

    Raises:
        MissingExtraError: if it, or what renders its charts, is not installed.
    """
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise MissingExtraError("charts", "a picture") from None
    return altair


def checked_path(
    path: str | os.PathLike[str], formats: Sequence[str] = FORMATS
) -> tuple[Path, str]:
    """Return a file to write, and the format that its ending names.

    Args:
        path: the file.
        formats: the formats that there are.

    Raises:
        InputError: for another ending, or a folder that does not exist.
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in formats:
        endings = ", ".join(f".{one}" for one in formats)
        raise InputError("output", str(path), f"a file that ends in one of {endings}")
    if not target.parent.is_dir():
        raise InputError("output", str(path), "a file in a folder that exists")
    return target, kind


@dataclass(frozen=True)
class Picture:
    """A picture, to save or to show.

    Attributes:
        chart: the Altair chart.
        title: its title.
        alt_text: what the picture shows, in words, for those who do not see it.
        data: the points of its lines: ``name`` of the line, ``x`` and ``y``.
        beside: what is written beside lines: the text, and the colour and dashes of its line.
    """

    chart: altair.TopLevelMixin = field(repr=False)
    title: str
    alt_text: str
    data: tuple[dict[str, Any], ...] = field(repr=False)
    beside: tuple[tuple[str, str, tuple[int, ...]], ...] = field(default=(), repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file.

        Args:
            path: the file; its ending says the format: .png, .svg, .pdf or .html.

        Raises:
            InputError: for another ending, or a file that cannot be written.
        """
        target, kind = checked_path(path)
        content = self._rendered(kind)
        try:
            write_bytes(target, content)
        except OSError as error:
            raise InputError(
                "output", str(path), f"a file that can be written ({error.strerror})"
            ) from None
        return target

    def _rendered(self, kind: str) -> bytes:
        match kind:
            case "svg":
                return self.to_svg().encode()
            case "html":
                return self.to_html().encode()
            case _:
                return self._converted(kind)

    def _converted(self, kind: str) -> bytes:
        import vl_convert

        spec = self._spec()
        if kind == "png":
            return bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
        return bytes(vl_convert.vegalite_to_pdf(spec))

    def to_svg(self, *, prefix: str = "") -> str:
        """Return the picture as SVG, with its description inside.

        Args:
            prefix: put before the names inside, which must differ between pictures on one page.
        """
        import vl_convert

        svg: str = vl_convert.vegalite_to_svg(self._spec())
        svg = re.sub(r'(\bid="|url\(#)', rf"\g<1>{prefix}", svg)
        start, _, rest = svg.partition(">")
        label = f' role="img" aria-label={quoteattr(self.alt_text)}'
        return f"{start}{label}><desc>{escape(self.alt_text)}</desc>{rest}"

    def to_html(self) -> str:
        """Return the picture as a page of its own that needs no network.

        A trade-off picture has a slider for μ there.
        """
        chart: Any = self.chart
        fit = {"type": "fit-x", "contains": "padding"}
        # a title in the page can wrap
        wide = chart.copy().properties(width="container", autosize=fit, title="")
        page: str = wide.to_html(inline=True, embed_options=_EMBEDDED)
        # a name must not end the script that it stands in
        before, start, rest = page.partition(_SPECIFICATION)
        inside, end, after = rest.rpartition(_SPECIFICATION_END)
        page = before + start + inside.replace("<", "\\u003c") + end + after
        named = f"<head>\n  <title>{escape(self.title)}</title>{_HEAD}"
        page = page.replace("<html>", '<html lang="en">', 1).replace("<head>", named, 1)
        # the library inside the page has that tag in a text, too
        before, _, after = page.rpartition("</body>")
        before = before.replace(_PLACE, f"<h1>{escape(self.title)}</h1>\n{_PLACE}")
        return f"{before}{self._names()}<p>{escape(self.alt_text)}</p>\n</body>{after}"

    def _names(self) -> str:
        """What stands beside the lines, as a list for a page that is too narrow for it."""
        names = "".join(
            f'<li><svg aria-hidden="true"><path d="M0 5H34" stroke="{colour}" stroke-width="2.4" '
            f'stroke-dasharray="{" ".join(map(str, dashes)) or "none"}"/></svg>{escape(text)}</li>'
            for text, colour, dashes in self.beside
        )
        return f'<ul class="names">{names}</ul>\n' if names else ""

    def _spec(self) -> dict[str, Any]:
        # what this package draws is valid, and to check it takes longer than to draw it
        return dict(self.chart.to_dict(validate=False))
