"""HTML that is escaped unless it was made here.

Text from linted code (file names, kernel names, source lines, values) can hold anything. ``tag`` escapes every child and attribute
that is not ``Safe``, and nothing but ``tag`` and ``raw`` makes ``Safe``; what does not print (terminal codes, marks that turn the
direction of text) is written as Python would.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Union

from smem_lint.report.style import printable


class Safe(str):
    """Markup: already escaped."""

    __slots__ = ()


Child = Union[str, int, float, None, "Iterable[Child]"]
_VOID = {"meta", "input", "br", "rect", "line", "circle", "path"}


def raw(text: str) -> Safe:
    """Our own style sheet and script, as they are; never for text from outside."""
    return Safe(text)


def escaped(value: object) -> Safe:
    return value if isinstance(value, Safe) else Safe(html.escape(printable(str(value).expandtabs(4)), quote=True))


def tag(name: str, /, *children: Child, **attributes: object) -> Safe:
    """An element. Attributes: ``class_`` and ``for_`` lose their underscore, others become ``-``; None and False leave one out."""
    told = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name_of = key.rstrip("_").replace("_", "-")
        told.append(f" {name_of}" if value is True else f' {name_of}="{escaped(value)}"')
    inner = "".join(_inner(children))
    closing = "" if name in _VOID and not inner else f"</{name}>"
    end = "/" if name in _VOID and not inner and name not in ("meta", "input", "br") else ""
    return Safe(f"<{name}{''.join(told)}{end}>{inner}{closing}")


def _inner(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, (str, int, float)):
            yield escaped(child)
        else:
            yield from _inner(child)
