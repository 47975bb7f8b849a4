"""A kernel with what it needs, cut out of its package, so that the compiler can be asked without importing the package.

Each file that holds something needed becomes a small module in which every kept line stands at its own line number. Of the linted
code only ``def`` statements of jit functions remain, without decorators, annotations (but ``constexpr``) and computed defaults:
loading such a module runs nothing of it. Module constants are written as values that ``host`` found.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smem_lint.host.globals import UNKNOWN, DType, global_value
from smem_lint.host.program import Program
from smem_lint.host.values import Kernel, Outside
from smem_lint.source.modules import Definition, External, Repository, SourceModule, dotted_name, jit_kind

_SAFE_OUTSIDE = ("triton", "math")
_HEADER = "import triton, triton.language as tl; from smem_lint_cut import outside as _outside"


class CannotCut(ValueError):
    """The kernel is not where the specialization says it is."""


@dataclass(frozen=True, slots=True)
class Cut:
    """``modules``: generated module name to text; the kernel is ``kernel`` of module ``main``. ``missing``: names left out."""

    modules: dict[str, str]
    main: str
    kernel: str
    missing: tuple[str, ...]


def cut(repository: Repository, file: str, kernel: str, capability: int, *, run_host_functions: bool = False) -> Cut:
    """Cut ``kernel`` out of ``file``; raises CannotCut.

    ``run_host_functions`` also keeps ``@constexpr_function`` code, which the compiler then executes.
    """
    module = repository.module(file)
    if module is None:
        problem = repository.problems.get(file)
        raise CannotCut(f"{file}: {problem.message if problem else 'no such file under the roots'}")
    function = module.find_function(kernel)
    if function is None:
        raise CannotCut(f"{file}: no function is called {kernel}")
    cutter = _Cutter(repository, capability, run_host_functions)
    cutter.keep_function(module, function, is_kernel=True)
    modules = {cutter.name(piece.module): piece.text() for piece in cutter.pieces.values()}
    return Cut(modules, cutter.name(module), kernel, tuple(cutter.missing))


@dataclass(eq=False)
class _Piece:
    """What is kept of one file."""

    module: SourceModule
    header: list[str] = field(default_factory=lambda: [_HEADER])
    lines: dict[int, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def text(self) -> str:
        last = max(self.lines, default=1)
        body = [self.lines.get(number, "") for number in range(1, last + 1)]
        free = next((index for index, line in enumerate(body) if line), len(body))
        head = "; ".join(dict.fromkeys(self.header))
        if free == 0:
            return "\n".join([head, *body]) + "\n"
        body[0] = head
        return "\n".join(body) + "\n"


class _Cutter:
    def __init__(self, repository: Repository, capability: int, run_host_functions: bool) -> None:
        self.repository, self.capability, self.run_host_functions = repository, capability, run_host_functions
        self.pieces: dict[str, _Piece] = {}
        self.kept: set[tuple[str, int]] = set()
        self.missing: list[str] = []

    def name(self, module: SourceModule) -> str:
        return "cut_" + "".join(char if char.isalnum() else "_" for char in module.file.removesuffix(".py"))

    def piece(self, module: SourceModule) -> _Piece:
        return self.pieces.setdefault(module.file, _Piece(module))

    def keep_function(self, module: SourceModule, function: ast.FunctionDef, is_kernel: bool = False) -> None:
        if (module.file, function.lineno) in self.kept:
            return
        self.kept.add((module.file, function.lineno))
        piece = self.piece(module)
        kind = jit_kind(function, module, self.repository) or "jit"
        _write(piece, module, function, kind, is_kernel)
        for dotted in _free_names(function):
            self.keep_name(module, piece, dotted)

    def keep_name(self, module: SourceModule, piece: _Piece, dotted: str) -> None:
        first = dotted.partition(".")[0]
        if dotted in piece.names or (hasattr(builtins, first) and first not in module.bindings):
            return
        piece.names.add(dotted)
        meanings = self.repository.resolve_all(module, first)
        meaning = meanings[0] if meanings else None
        if len(meanings) > 1 and self._decided(module, piece, first):
            return
        if isinstance(meaning, External):
            self._external(module, piece, first)
        elif isinstance(meaning, SourceModule):
            self._of_module(module, piece, dotted, meaning)
        elif isinstance(meaning, Definition):
            self._definition(module, piece, first, meaning)
        else:
            self._local(module, piece, first)

    def _decided(self, module: SourceModule, piece: _Piece, name: str) -> bool:
        """Of several definitions under conditions, keep the one that the conditions choose for the target; whether they do."""
        value = self._program.module_value(module, name)
        if isinstance(value, Kernel):
            self._keep_called(module, piece, name, value.module, value.node)
            return True
        if isinstance(value, Outside) and value.dotted.partition(".")[0] in _SAFE_OUTSIDE:
            piece.header.append(f"{name} = _outside({value.dotted!r})")
            return True
        return False

    @cached_property
    def _program(self) -> Program:
        return Program(self.repository, self.capability)

    def _external(self, module: SourceModule, piece: _Piece, name: str) -> None:
        """A name from outside; of several that branches of the source choose between, the first that the compiler has."""
        dotted = [one.dotted for one in self.repository.resolve_all(module, name) if isinstance(one, External)]
        safe = [one for one in dotted if one.partition(".")[0] in _SAFE_OUTSIDE]
        if safe:
            piece.header.append(f"{name} = _outside({', '.join(map(repr, safe))})")
        else:
            self.missing.append(f"{name} ({dotted[0]})")

    def _of_module(self, module: SourceModule, piece: _Piece, dotted: str, meaning: SourceModule) -> None:
        name, _, rest = dotted.partition(".")
        if not rest:
            return
        inner = self.piece(meaning)
        self.keep_name(meaning, inner, rest)
        piece.header.append(f"import {self.name(meaning)} as {name}")

    def _definition(self, module: SourceModule, piece: _Piece, name: str, meaning: Definition) -> None:
        node = meaning.node
        if isinstance(node, ast.FunctionDef):
            self._keep_called(module, piece, name, meaning.module, node)
        elif meaning.binding.kind == "assign":
            self._constant(module, piece, name, meaning)
        else:
            self.missing.append(name)

    def _keep_called(self, module: SourceModule, piece: _Piece, name: str, home: SourceModule, node: ast.FunctionDef) -> None:
        kind = jit_kind(node, home, self.repository)
        if kind is None or (kind == "constexpr_function" and not self.run_host_functions):
            self.missing.append(name)
            return
        self.keep_function(home, node)
        if home is not module or node.name != name:
            self._import(piece, module, home, node.name, name)

    def _import(self, piece: _Piece, here: SourceModule, there: SourceModule, original: str, name: str) -> None:
        if there is here:
            self.missing.append(f"{name} (an alias of {original})")
        else:
            piece.header.append(f"from {self.name(there)} import {original} as {name}")

    def _constant(self, module: SourceModule, piece: _Piece, name: str, meaning: Definition) -> None:
        value = global_value(self.repository, module, name, self.capability)
        text = _spelled(value)
        if text is None:
            self.missing.append(name)
            return
        if _is_constexpr(meaning, self.repository):
            text = f"tl.constexpr({text})"
        piece.header.append(f"{name} = {text}")

    def _local(self, module: SourceModule, piece: _Piece, name: str) -> None:
        """A function beside a nested kernel, which no module-level name reaches."""
        function = module.find_function(name)
        if function is not None and jit_kind(function, module, self.repository):
            self.keep_function(module, function)


def _spelled(value: Any) -> str | None:
    if value is UNKNOWN:
        return None
    if isinstance(value, DType):
        return f"tl.{value.name}"
    if isinstance(value, tuple):
        parts = [_spelled(one) for one in value]
        return None if None in parts else "(" + "".join(f"{part}, " for part in parts) + ")"
    if isinstance(value, float):
        return f"float({str(value)!r})"
    return repr(value) if value is None or isinstance(value, (bool, int, str)) else None


def _is_constexpr(meaning: Definition, repository: Repository) -> bool:
    node, value = meaning.node, meaning.binding.value
    if isinstance(node, ast.AnnAssign) and (dotted_name(node.annotation) or "").endswith("constexpr"):
        return True
    return isinstance(value, ast.Call) and (dotted_name(value.func) or "").endswith("constexpr")


def _free_names(function: ast.FunctionDef) -> Iterator[str]:
    """Names and attribute chains that the body reads and does not bind as a parameter; each once, in order."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]
    bound = {argument.arg for argument in every}
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    seen: dict[str, None] = {}
    for statement in [*function.body, *arguments.defaults, *filter(None, arguments.kw_defaults)]:
        for node in ast.walk(statement):
            dotted = dotted_name(node) if isinstance(node, (ast.Attribute, ast.Name)) else None
            if dotted and dotted.partition(".")[0] not in bound:
                seen[dotted] = None
    for dotted in seen:
        if dotted.partition(".")[0] not in stored or "." not in dotted:
            yield dotted


def _write(piece: _Piece, module: SourceModule, function: ast.FunctionDef, kind: str, is_kernel: bool) -> None:
    """Place the function's text into the piece at its own lines, dedented, under a plain decorator."""
    start, first, last = function.lineno, function.body[0].lineno, function.end_lineno or function.lineno
    decorator = _decorator(function, kind, is_kernel)
    header = _header(function, is_kernel)
    at = start - 1 if start > 1 else start
    if first == start or at == start:
        lines = [decorator, *ast.unparse(ast.fix_missing_locations(_bare(function, is_kernel))).splitlines()]
        for offset, line in enumerate(lines):
            piece.lines[at + offset] = line
        return
    piece.lines[at], piece.lines[start] = decorator, header
    indent = function.col_offset
    for number in range(first, last + 1):
        piece.lines[number] = _dedented(module.lines[number - 1], indent)


def _dedented(line: str, indent: int) -> str:
    return line[indent:] if not line[:indent].strip() else line


def _decorator(function: ast.FunctionDef, kind: str, is_kernel: bool) -> str:
    if kind == "constexpr_function":
        return "@triton.constexpr_function"
    for node in function.decorator_list:
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg == "noinline" and isinstance(keyword.value, ast.Constant) and keyword.value.value and not is_kernel:
                return "@triton.jit(noinline=True)"
    return "@triton.jit"


def _bare(function: ast.FunctionDef, is_kernel: bool) -> ast.FunctionDef:
    """The function without decorators, with plain annotations and literal defaults."""
    old = function.args

    def argument(one: ast.arg | None) -> ast.arg | None:
        if one is None:
            return None
        kept = one.annotation if (dotted_name(one.annotation) or "").endswith("constexpr") else None
        return ast.arg(one.arg, ast.parse("tl.constexpr", mode="eval").body if kept is not None else None)

    def several(arguments: Iterable[ast.arg]) -> list[ast.arg]:
        return [made for one in arguments if (made := argument(one)) is not None]

    def default(node: ast.expr | None) -> ast.expr | None:
        if node is None or isinstance(node, ast.Constant):
            return node
        try:
            return ast.parse(repr(ast.literal_eval(node)), mode="eval").body
        except (ValueError, SyntaxError, TypeError):
            # The kernel's own arguments all come from the specialization; a callee's name is looked up when it is loaded.
            return ast.Constant(None) if is_kernel or not isinstance(node, (ast.Name, ast.Attribute)) else node

    made = ast.arguments(
        posonlyargs=several(old.posonlyargs), args=several(old.args), vararg=argument(old.vararg), kwonlyargs=several(old.kwonlyargs),
        kw_defaults=[default(one) for one in old.kw_defaults], kwarg=argument(old.kwarg),
        defaults=[one for one in map(default, old.defaults) if one is not None],
    )  # fmt: skip
    return ast.FunctionDef(function.name, made, function.body, [], None, None, lineno=1, col_offset=0)


def _header(function: ast.FunctionDef, is_kernel: bool) -> str:
    bare = _bare(function, is_kernel)
    bare.body = [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(bare)).splitlines()[0]
