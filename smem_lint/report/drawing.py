"""What pictures have in common: the plotting library, loaded when a picture is asked for, and the colours."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

COLORS = {"staged": "#2a6fbb", "operand": "#a85a12", "scratch": "#7a5aa8", "barrier": "#4a774a", "call": "#6a717c"}
"""Fill of each kind of buffer; white text has a contrast of 4.5 : 1 or more on all of them."""
LINES = ("#2a6fbb", "#a85a12", "#2c7f52", "#7a5aa8", "#b02a7a", "#5b6770", "#8a6d00", "#0f7b83")
"""Colours of a plot's lines, which their labels have too: as readable on white."""
LIMITS = ("#c01c28", "#4b5160")


class NotDrawn(Exception):
    """A picture that cannot be made; the message says why, in one line."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches, without any display. Raises NotDrawn where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401 - its parts may be loaded where it is not
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotDrawn("pictures need matplotlib: pip install 'smem-lint[report]'") from error
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, file: Path) -> None:
    """The same bytes for the same picture. Raises OSError."""
    from matplotlib import rc_context

    metadata = {"Date": None, "Creator": "smem-lint"} if file.suffix.lower() == ".svg" else {"Software": "smem-lint"}
    with rc_context({"svg.hashsalt": "smem-lint", "svg.fonttype": "path"}):
        figure.savefig(file, dpi=144, metadata=metadata)


def drawable(text: str, bold: bool = False) -> str:
    """Text that matplotlib reads as no formula, and all of whose letters its font has: others are written as Python would."""
    known = _letters(bold)
    told = "".join(one if ord(one) in known else one.encode("unicode_escape").decode() for one in text)
    return told.replace("$", r"\$")


@functools.cache
def _letters(bold: bool) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(weight="bold" if bold else "normal")))
    return frozenset(font.get_charmap())
