"""The visitor: the state in which one function's syntax tree becomes operations, and the ways to move through the tree.

What each kind of statement and expression does stands in the sibling files, which enter their functions in ``STATEMENTS`` and
``EXPRESSIONS``. The rules are those of ``CodeGenerator`` in ``triton/compiler/code_generator.py``, 3.8.0.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from smem_lint.tile.frontend.session import Session
from smem_lint.tile.ir import Block, Builder, Region, Value
from smem_lint.tile.semantic.context import Options
from smem_lint.tile.unsupported import KernelError, Unsupported

EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {}
STATEMENTS: dict[type, Callable[[Any, Any], None]] = {}

ABSENT = object()


class NeedsRegion(Exception):
    """The function being inlined has several blocks: it must become a function of its own."""


class Visitor:
    """Visits the body of one function.

    ``names`` are the variables in sight, ``defined`` those assigned since the innermost branch or loop was entered.
    ``region`` is None while the body goes straight into a caller's block. ``returns`` holds each returned value with the
    block that the return ends. ``foreign`` are the values that come from other functions: the arguments of this one, unless it is
    the kernel, and the results of those that it called.
    """

    __slots__ = (
        "builder",
        "call_line",
        "dead",
        "default_values",
        "defined",
        "depth",
        "foreign",
        "function",
        "module",
        "names",
        "options",
        "pending",
        "region",
        "returns",
        "scf_depth",
        "session",
    )  # fmt: skip

    def __init__(self, session: Session, module: Any, function: ast.FunctionDef, depth: int, call_line: int | None) -> None:
        self.session = session
        self.builder: Builder = session.builder
        self.options: Options = session.options
        self.module = module
        self.function = function
        self.names: dict[str, Any] = {}
        self.defined: dict[str, Any] = {}
        self.foreign: set[Value] = set()
        self.pending: dict[str, Any] = {}
        self.returns: list[tuple[Any, Block]] = []
        self.region: Region | None = None
        self.scf_depth = 0
        self.depth = depth
        self.call_line = call_line
        self.dead: list[Block] = []
        self.default_values = False

    # where we are

    @property
    def line(self) -> int | None:
        return self.builder.line

    @property
    def file(self) -> str | None:
        return getattr(self.module, "file", None)

    def refuse(self, message: str, node: ast.AST | None = None) -> NoReturn:
        """Triton rejects this."""
        raise KernelError(message, getattr(node, "lineno", None), self.file)

    def unsupported(self, what: str, node: ast.AST | None = None) -> NoReturn:
        raise Unsupported(what, getattr(node, "lineno", None), self.file)

    # the tree

    def evaluate(self, node: ast.expr) -> Any:
        visit = EXPRESSIONS.get(node.__class__)
        if visit is None:
            self.refuse(f"unsupported expression {type(node).__name__}", node)
        return visit(self, node)

    def run(self, statements: Iterable[ast.stmt]) -> None:
        """Visit statements up to the first ``return``; what follows that is dead and never looked at."""
        builder = self.builder
        for statement in statements:
            if self.call_line is None:
                builder.line = statement.lineno
            visit = STATEMENTS.get(statement.__class__)
            if visit is None:
                self.refuse(f"unsupported statement {type(statement).__name__}", statement)
            try:
                visit(self, statement)
            except (KernelError, Unsupported) as error:
                if error.line is None or error.file is None:
                    error.line, error.file = error.line or statement.lineno, self.file
                raise
            except (ValueError, ArithmeticError) as error:  # a shape that no tile can have, a division by zero
                raise KernelError(str(error), statement.lineno, self.file) from error
            if statement.__class__ is ast.Return:
                break

    # names

    def lookup(self, name: str) -> Any:
        value = self.names.get(name, ABSENT)
        if value is not ABSENT:
            return value
        return self.session.scope(self.module, self.function).lookup(name, self.default_values)

    def define(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.defined[name] = value

    # blocks

    def new_block(self) -> Block:
        """A block of the function; while inlining there is none to be had."""
        if self.region is None:
            raise NeedsRegion
        return self.region.add_block()

    def dead_block(self) -> Block:
        """A block that nothing reaches, for what stands after a ``return``."""
        if self.region is not None:
            return self.region.add_block()
        block = Block()
        self.dead.append(block)
        return block

    def call_function(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a jit function or a builtin at the builder's place; the result as ``values`` describes it."""
        from smem_lint.tile.frontend.calls import call

        return call(self, function, args, kwargs, None)


def expression(*kinds: type) -> Callable[[Callable[[Visitor, Any], Any]], Callable[[Visitor, Any], Any]]:
    """Enter a function as what evaluates these kinds of nodes."""

    def enter(function: Callable[[Visitor, Any], Any]) -> Callable[[Visitor, Any], Any]:
        for kind in kinds:
            EXPRESSIONS[kind] = function
        return function

    return enter


def statement(*kinds: type) -> Callable[[Callable[[Visitor, Any], None]], Callable[[Visitor, Any], None]]:
    """Enter a function as what visits these kinds of statements."""

    def enter(function: Callable[[Visitor, Any], None]) -> Callable[[Visitor, Any], None]:
        for kind in kinds:
            STATEMENTS[kind] = function
        return function

    return enter
