"""Draws the report's charts as inline SVG; text stays text, and each chart has a title and description."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from pipelines.common.human import human_bytes
from pipelines.common.instants import format_instant

# the colours of Okabe and Ito, which people with any kind of colour vision can distinguish
PALETTE = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#999999")
DELETABLE_COLOUR = "#009E73"
INK, GRID = "#2b3440", "#dfe4ea"
"""Colours of text and of lines on paper."""
_THEME = {INK: "var(--soft)", GRID: "var(--line)"}
"""In the page, a variable of style.css, which follows the colour scheme, replaces each of these colours."""
SERIES = len(PALETTE)
"""Maximum number of curves in one chart; the smallest are summed into the last, so the chart stays readable."""
OTHERS = "others"
HALF, WHOLE = 5.2, 7.2


@dataclass(frozen=True, slots=True)
class Curves:
    """Bytes of several groups on several nights.

    Attributes:
        nights: ms since the epoch, oldest first.
        bytes_of: by group, one value for each night.
    """

    nights: tuple[int, ...]
    bytes_of: Mapping[str, tuple[int, ...]]

    def biggest(self) -> "Curves":
        """Returns at most `SERIES` groups, the largest of the last night; the rest are summed as `OTHERS`."""
        order = sorted(self.bytes_of, key=lambda group: (-self.bytes_of[group][-1], -max(self.bytes_of[group]), group))
        if len(order) <= SERIES:
            return Curves(self.nights, {group: self.bytes_of[group] for group in order})
        shown, rest = order[: SERIES - 1], order[SERIES - 1 :]
        others = tuple(sum(values) for values in zip(*(self.bytes_of[group] for group in rest), strict=True))
        return Curves(self.nights, {**{group: self.bytes_of[group] for group in shown}, OTHERS: others})


def stacked(curves: Curves, title: str, colours: Mapping[str, str]) -> Markup:
    """Draws bytes by group, one stacked bar for each night."""
    with _style(title):
        figure, axes = _canvas(HALF, 2.5)
        bottom = [0] * len(curves.nights)
        places = range(len(curves.nights))
        for group, values in curves.bytes_of.items():
            axes.bar(places, values, 0.62, bottom=bottom, color=colours[group])
            bottom = [low + value for low, value in zip(bottom, values, strict=True)]
        _night_axis(axes, curves.nights)
        _byte_axis(axes.yaxis, max(bottom, default=0))
        axes.set_ylim(bottom=0)
        last = ", ".join(f"{group} {human_bytes(values[-1])}" for group, values in curves.bytes_of.items())
        return _legend(curves, colours) + _svg(figure, title, f"{len(curves.nights)} nights; the last one: {last}.")


def lines(curves: Curves, title: str) -> Markup:
    """Draws bytes by group, one line for each group."""
    colours = dict(zip(curves.bytes_of, PALETTE, strict=False))
    with _style(title):
        figure, axes = _canvas(HALF, 2.5)
        for group, values in curves.bytes_of.items():
            axes.plot(range(len(values)), values, marker="o", markersize=4, linewidth=2, color=colours[group])
        _night_axis(axes, curves.nights)
        _byte_axis(axes.yaxis, max((max(values) for values in curves.bytes_of.values()), default=0))
        axes.set_ylim(bottom=0)
        last = ", ".join(f"{group} {human_bytes(values[-1])}" for group, values in curves.bytes_of.items())
        return _legend(curves, colours) + _svg(figure, title, f"{len(curves.nights)} nights; the last one: {last}.")


def bars(rows: Sequence[tuple[str, int, str]], title: str) -> Markup:
    """Draws one horizontal bar for each (label, bytes, colour), with its size beside it."""
    with _style(title):
        figure, axes = _canvas(WHOLE, 0.15 + 0.3 * len(rows))
        names = [label for label, _, _ in rows]
        sizes = [size for _, size, _ in rows]
        drawn = axes.barh(range(len(rows)), sizes, 0.62, color=[colour for _, _, colour in rows])
        axes.bar_label(drawn, labels=[human_bytes(size) for size in sizes], padding=5, fontsize=9, color=INK)
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.xaxis.set_visible(False)
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)
        axes.set_xlim(0, max(sizes, default=0) * 1.18 or 1)
        return _svg(figure, title, "; ".join(f"{label} {human_bytes(size)}" for label, size, _ in rows) + ".")


@contextmanager
def _style(title: str) -> Iterator[None]:
    """Sets matplotlib options for a chart.

    Text stays text, and `$` in names is literal. The salt keeps the ids of different charts distinct and the output of
    one page reproducible.
    """
    import matplotlib as mpl  # noqa: PLC0415 - a second to import

    with mpl.rc_context():
        mpl.rcParams["svg.fonttype"] = "none"
        mpl.rcParams["svg.hashsalt"] = title
        mpl.rcParams["text.parse_math"] = False
        yield


def _canvas(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - a second to import

    figure = Figure(figsize=(width, height), layout="constrained")
    axes: Any = figure.add_subplot()
    axes.set_facecolor("none")
    figure.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=9, colors=INK)
    return figure, axes


def _night_axis(axes: Any, nights: Sequence[int]) -> None:  # noqa: ANN401 - matplotlib's axes
    step = max(1, -(-len(nights) // 10))
    places = list(range(len(nights)))[::-1][::step][::-1]
    axes.set_xticks(places, [format_instant(nights[place])[5:10] for place in places])
    axes.set_xlim(-0.6, max(len(nights), 4) - 0.4)


def _byte_axis(axis: Any, most: int) -> None:  # noqa: ANN401 - matplotlib's axis
    unit = 1
    while most / unit >= 1024:
        unit *= 1024
    parts = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 256) if unit > 1 else (1, 2, 5, 10, 20, 50, 100, 200, 256)
    step = int(next(part for part in parts if most / (part * unit) <= 5) * unit)
    axis.set_ticks([number * step for number in range(int(most // step) + 2)])
    axis.set_major_formatter(lambda value, _: human_bytes(int(value)).replace(".0 ", " "))


def _legend(curves: Curves, colours: Mapping[str, str]) -> Markup:
    """Returns the legend as HTML, so that it wraps on a small screen."""
    entry = Markup('<li><i style="background:{}"></i>{} <span class="soft">{}</span></li>')
    entries = (
        entry.format(colours[group], group, human_bytes(values[-1])) for group, values in curves.bytes_of.items()
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup().join(entries))


def _svg(figure: Any, title: str, description: str) -> Markup:  # noqa: ANN401 - matplotlib's figure
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    width, height = (float(number) for number in re.findall(r'(?:width|height)="([\d.]+)pt"', svg[:400])[:2])
    head = f'<svg role="img" viewBox="0 0 {width:g} {height:g}" xmlns="http://www.w3.org/2000/svg" '
    head += (
        f'xmlns:xlink="http://www.w3.org/1999/xlink"><title>{escape(title)}</title><desc>{escape(description)}</desc>'
    )
    body = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index(">") + 1 :], flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # the ids repeat in every chart; nothing refers to them
    for colour, variable in _THEME.items():
        body = body.replace(colour, variable)
    return Markup(head + re.sub(r"font:\s*([\d.]+)px [^;\"]*", r"font-size: \1px", body))  # noqa: S704 - our own SVG


def trend(values: Sequence[tuple[int, int]], description: str) -> Markup:
    """Draws a line without axes through (ms since the epoch, bytes), oldest first; empty below two values."""
    if len(values) < 2:
        return Markup()
    first, last = values[0][0], values[-1][0]
    most = max(size for _, size in values) or 1
    points = " ".join(
        f"{1 + 130 * (at - first) / ((last - first) or 1):.1f},{32 - 30 * size / most:.1f}" for at, size in values
    )
    drawn = Markup(
        '<svg class="trend" role="img" viewBox="0 0 132 34" preserveAspectRatio="none"><title>{}</title>'
        '<polyline stroke="{}" points="{}"/></svg>'
    )
    return drawn.format(description, PALETTE[0], points)
