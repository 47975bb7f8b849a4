"""One run through host code along one path: the state that expressions, statements and calls share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from smem_lint.host import attributes, calls, expressions, statements
from smem_lint.host.limits import TooMuch
from smem_lint.host.paths import Path, Strict
from smem_lint.host.values import Function, Kernel, Scope, Symbol
from smem_lint.source.modules import SourceModule

if TYPE_CHECKING:
    from smem_lint.host.program import Program


@dataclass(eq=False, slots=True)
class Launch:
    """A kernel launched on a path, with all that the launch was given. ``guard`` is what catches a failure to launch."""

    kernel: Kernel | Symbol
    module: SourceModule
    node: ast.Call
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    complete: bool
    """False where ``*args`` or ``**kwargs`` of the launch could not be taken apart."""
    guarded: bool
    when: tuple[str, ...] = ()
    method: str = "[]"


@dataclass(eq=False, slots=True)
class Evaluation:
    """Everything one run needs. ``launches`` collects the launches that the run came by, in order."""

    program: Program
    path: Path
    steps: int = 0
    depth: int = 0
    launches: list[Launch] = field(default_factory=list)
    guards: int = 0
    active: list[ast.AST] = field(default_factory=list)
    yields: list[list[Any]] = field(default_factory=list)
    chain: frozenset[ast.AST] = frozenset()
    """Functions on the way to the launch that is looked for; calls of others are put off where they would force a decision."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Values for arguments and local names of the function that the run starts in, where they would not be known; ``local name``
    for a local name in any case."""
    watch: Callable[[Launch], None] | None = None

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.path.limits.steps:
            raise TooMuch(f"more than {self.path.limits.steps:,} steps")

    def expr(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression."""
        return expressions.evaluate(self, node, scope)

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> tuple[str, Any] | None:
        """Run statements; returns None, or the signal that left them."""
        return statements.block(self, body, scope)

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call | None, scope: Scope) -> Any:
        """Call a value."""
        return calls.call(self, function, args, kwargs, node, scope)

    def attribute(self, value: Any, name: str, line: int = 0) -> Any:
        """``value.name``."""
        return attributes.attribute(self, value, name, line)

    def call_function(self, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return calls.call_function(self, function, args, kwargs)

    @property
    def inner(self) -> bool:
        """Whether a caller waits for the value of the function that is being run."""
        return self.depth > 1 or isinstance(self.path, Strict)

    def definite(self, value: Any) -> Any:
        """A value that depends on a condition, decided; any other as it is."""
        if isinstance(value, Symbol):
            settled = self.path.value(value)
            while isinstance(settled, Symbol) and settled.kind in ("if", "later"):
                settled = self.path.later(settled) if settled.kind == "later" else self.path.concrete(settled)
            return settled
        return value
