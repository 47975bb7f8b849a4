"""How the front end and the passes say that they cannot go on."""

from __future__ import annotations


class Unsupported(Exception):
    """The construct ``what`` (at ``line`` of ``file``, where known) is not modelled: no exact answer can be given."""

    def __init__(self, what: str, line: int | None = None, file: str | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.file = what, line, file

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return f"{where}: {self.what}" if where else self.what


class KernelError(Exception):
    """Triton refuses to compile the kernel: a false ``static_assert``, mismatched types, an unknown name …"""

    def __init__(self, message: str, line: int | None = None, file: str | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.file = message, line, file

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return f"{where}: {self.message}" if where else self.message


class TooLarge(Exception):
    """The front end was told to make a program of up to so many operations, and this one has more."""

    def __init__(self, most: int) -> None:
        super().__init__(f"its loops unroll to more than {most:,} operations")
        self.most = most
