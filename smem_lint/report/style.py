"""Colour for terminals, and bytes for people."""

from __future__ import annotations

_CODES = {"bold": "1", "red": "31;1", "yellow": "33;1", "blue": "34;1", "cyan": "36", "dim": "2", "green": "32"}
SEVERITY_COLOR = {"error": "red", "warning": "yellow", "info": "blue"}


class Style:
    """``paint("text", "red")`` where colour is wanted, the text alone where it is not."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def paint(self, text: str, name: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color else text


def printable(text: str) -> str:
    """Text of linted code without what could steer a terminal: what does not print is written as Python would."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
