"""Source text made shorter without cutting a name or a number in two."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[^\W\d][\w.]*|\d[\w.]*|\s+|.")
_LOOSE = " \t.,=+-*/%&|<>!:@"


def shortened(text: str, longest: int) -> str:
    """At most so many characters, with ``…`` where something is missing: cut between tokens, within one only if it is too long alone."""
    if len(text) <= longest:
        return text
    end = 0
    for token in _TOKEN.finditer(text):
        if token.end() > longest - 1:
            break
        end = token.end()
    kept = text[:end].rstrip(_LOOSE)
    return (kept or text[: longest - 1]) + "…"
