"""What the pictures within a page share: two widths of each, of which the page's style shows the one that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lint.report.html_tags import Child, Safe, tag

WIDE, NARROW = 720, 360
"""Widths in pixels: a narrow picture is drawn anew, with text of the same size, not a wide one made smaller."""


def both(draw: Callable[[int], Safe]) -> Safe:
    """A picture for wide and for narrow windows; the other is not displayed, nor read out."""
    return tag("div", tag("div", draw(WIDE), class_="wide"), tag("div", draw(NARROW), class_="narrow"), class_="picture")


def svg(label: str, parts: Sequence[Child], kind: str, width: float, height: float) -> Safe:
    return tag("svg", parts, viewBox=f"0 0 {number(width)} {number(height)}", role="img", aria_label=label, class_=kind)


def text(told: str, x: float, y: float, kind: str, anchor: str | None = None, title: str = "") -> Safe:
    """Text whose middle stands at ``y``."""
    hint = tag("title", title) if title else None
    return tag("text", hint, told, class_=kind, x=number(x), y=number(y + 4), text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Safe:
    return tag("line", class_=kind, x1=number(x1), x2=number(x2), y1=number(y1), y2=number(y2))


def rectangle(left: float, top: float, right: float, bottom: float, kind: str | None = None) -> Safe:
    return tag("rect", class_=kind, x=number(left), y=number(top), width=number(right - left), height=number(bottom - top))


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
