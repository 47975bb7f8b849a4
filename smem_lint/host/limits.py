"""What one evaluation may cost. Hostile and merely large input ends in an unknown value, soon."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """``steps`` are statements and expressions evaluated in one run; ``depth`` nested calls;
    ``items`` the length of a list. ``paths`` and ``site_steps`` bound all runs to one launch together."""

    steps: int = 400_000
    depth: int = 24
    items: int = 100_000
    characters: int = 1_000_000
    integer_bits: int = 4_096
    decisions: int = 48
    paths: int = 48
    site_steps: int = 300_000


class TooMuch(Exception):
    """An evaluation reached a limit; the message names it."""


class Undecided(Exception):
    """A branch depends on what is not known, where only one outcome is wanted. ``reason`` names it."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


class Abandoned(Exception):
    """This path cannot be taken on the target, or ended in an exception that nobody handles."""


class Raised(Exception):
    """An exception of the interpreted program, by the name of its class."""

    def __init__(self, name: str, value: object = None) -> None:
        super().__init__(name)
        self.name, self.value = name, value
