"""What pictures have in common: the plotting library, loaded when a picture is asked for, and the colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLORS = {"staged": "#2a6fbb", "operand": "#d9822b", "scratch": "#7a5aa8", "barrier": "#4f7f4f", "call": "#808080"}
"""Fill of each kind of buffer; white text is readable on all of them."""
LINES = ("#2a6fbb", "#d9822b", "#3f8f5f", "#7a5aa8", "#b5495b", "#5b6770", "#a08a1f", "#1f9ba0")
LIMITS = ("#c01c28", "#6b7280")


class NotDrawn(Exception):
    """A picture that cannot be made; the message says why, in one line."""


def new_figure(width: float, height: float, layout: Any = "constrained") -> Any:
    """An empty figure of so many inches, without any display. Raises NotDrawn where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401 - its parts may be loaded where it is not
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotDrawn("pictures need matplotlib: pip install 'smem-lint[report]'") from error
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, file: Path) -> None:
    """The same bytes for the same picture. Raises OSError."""
    from matplotlib import rc_context

    metadata = {"Date": None, "Creator": "smem-lint"} if file.suffix.lower() == ".svg" else {"Software": "smem-lint"}
    with rc_context({"svg.hashsalt": "smem-lint", "svg.fonttype": "path"}):
        figure.savefig(file, dpi=144, metadata=metadata)
