"""What all functions of one kernel's compilation share."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from smem_lint.source.modules import Repository, SourceModule
from smem_lint.tile.frontend.names import Scope
from smem_lint.tile.ir import Builder, Module, Op
from smem_lint.tile.semantic.context import Options
from smem_lint.tile.unsupported import TooLarge
from smem_lint.tile.values import FunctionRef

if TYPE_CHECKING:
    from smem_lint.host.program import Program


def _program(repository: Repository, capability: int) -> Program:
    """The repository evaluated for a target, kept with its syntax trees."""
    key = ("program", capability)
    found: Program | None = repository.derived.get(key)
    if found is None:
        from smem_lint.host.program import Program

        found = repository.derived[key] = Program(repository, capability)
    return found


class _Limited(Builder):
    """A builder that makes up to ``most`` operations."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = self.left = most

    def insert(self, op: Op) -> Op:
        self.left -= 1
        if self.left < 0:
            raise TooLarge(self.most)
        return super().insert(op)


class Session:
    """One compilation: the module being built, the builder, the scopes of the files and the functions that were called.

    ``functions`` maps a function and the types of its arguments to the ``tt.func`` made of it and what it returns. ``largest``: the
    operations that may be made, 0 for any number; the builder raises TooLarge beyond.
    """

    __slots__ = (
        "_scopes",
        "builder",
        "functions",
        "kernel_module",
        "module",
        "options",
        "references",
        "repository",
    )

    def __init__(self, repository: Repository, options: Options, kernel_module: SourceModule, module: Module, largest: int = 0) -> None:
        self.repository = repository
        self.options = options
        self.kernel_module = kernel_module
        self.module = module
        self.builder = _Limited(largest) if largest else Builder()
        self.functions: dict[Any, tuple[str, Any]] = {}
        self.references: dict[Any, FunctionRef] = {}
        self._scopes: dict[Any, Scope] = {}

    @property
    def program(self) -> Program:
        """The repository's host code, of which few kernels ask anything: it is not even imported before."""
        return _program(self.repository, self.options.capability)

    def scope(self, module: SourceModule, function: ast.FunctionDef | None = None) -> Scope:
        """The names that a function of ``module`` sees beside its own."""
        key = (module, function)
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = Scope(self, module, function)
        return found
