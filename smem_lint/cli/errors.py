"""The one exception that ends a command with exit code 2 and one line of text."""

from __future__ import annotations


class UsageError(Exception):
    """Bad input or a missing piece; the message says which, and where."""
