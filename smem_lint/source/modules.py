"""The modules of a repository, what their names mean across imports, and which functions are kernels.

Nothing is imported: a module is its syntax tree, a name is followed through ``import`` statements, ``__init__``
re-exports, star imports and plain aliases until it ends at a definition or leaves the repository.
"""

from __future__ import annotations

import ast
import os
import re
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from smem_lint.garbage import GarbageKept
from smem_lint.source.bindings import Binding, FunctionEntry, FunctionNode, bindings_of, functions_of
from smem_lint.source.mentions import calls
from smem_lint.source.reading import Problem, Unreadable, parse, read

CACHED_SOURCE_BYTES = 4_000_000
"""Trees are kept for about this much source text (a tree takes 20 to 40 times its text)."""

_SEARCHED_BYTES = 160_000_000
_LARGE = 4_000_000
_SKIPPED = frozenset({".git", "__pycache__", "node_modules", ".venv", "venv", "build", "dist", ".tox", ".mypy_cache"})
_MAX_HOPS = 24
_LONGEST_NAME = 255
"""Characters of a module's name: a file system takes no longer one."""

_WORD = re.compile(rb"\w+")
_OUTSIDE = ("triton", "torch", "numpy")
"""Top-level packages that are never looked for in the repository, even where a copy lies in it."""

JitKind = Literal["jit", "gluon", "constexpr_function"]


@dataclass(frozen=True, slots=True)
class External:
    """A name that an import takes out of the repository, as a canonical dotted path: ``triton.language``, ``torch.float16``.

    What a missing package re-exports as ``triton`` or ``tl`` is taken for Triton itself.
    """

    dotted: str

    @staticmethod
    def of(dotted: str) -> External:
        parts = dotted.split(".")
        if parts[0] not in _OUTSIDE:
            for place in range(1, len(parts)):
                if parts[place] == "triton":
                    parts = parts[place:]
                    break
                if parts[place] == "tl":
                    parts = ["triton", "language", *parts[place + 1 :]]
                    break
        return External(".".join(parts))

    def attribute(self, name: str) -> External:
        return External.of(f"{self.dotted}.{name}")


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """The place where a name is bound to something that is not an import."""

    module: SourceModule
    binding: Binding

    @property
    def node(self) -> ast.stmt:
        return self.binding.node


@dataclass(eq=False)
class SourceModule:
    """One file of a repository. ``file`` is relative to the root that holds it (``/`` separators), ``dotted`` its import name."""

    repository: Repository = field(repr=False)
    file: str
    path: Path
    base: Path = field(repr=False)
    dotted: str
    source: bytes = field(repr=False)
    tree: ast.Module = field(repr=False)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py" or self.path.is_dir()

    @cached_property
    def text(self) -> str:
        return self.source.decode("utf-8", "replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """Every module-level binding of each name, in order, with the conditions it stands under; ``*`` holds star imports."""
        return bindings_of(self.tree.body)

    @cached_property
    def functions(self) -> list[FunctionEntry]:
        """Every function of the file, in the order of the text, nested ones included."""
        return functions_of(self.tree)

    @cached_property
    def _functions_by_name(self) -> dict[str, list[FunctionEntry]]:
        table: dict[str, list[FunctionEntry]] = {}
        for entry in self.functions:
            table.setdefault(entry.node.name, []).append(entry)
            if entry.qualified_name != entry.node.name:
                table.setdefault(entry.qualified_name, []).append(entry)
        return table

    def function_entries(self, name: str) -> list[FunctionEntry]:
        """Functions of this plain or qualified name (``Class.method``, ``outer.<locals>.inner``)."""
        return self._functions_by_name.get(name, [])

    def find_function(self, name: str) -> ast.FunctionDef | None:
        """The function of this name; of several, the jit-decorated one, and of those the last that is no fallback branch."""
        entries = [entry for entry in self.function_entries(name) if isinstance(entry.node, ast.FunctionDef)]
        if not entries:
            return None
        if len(entries) > 1:
            kernels = [entry for entry in entries if jit_kind(entry.node, self, self.repository)]
            entries = kernels or entries
            preferred = [entry for entry in entries if all(g.taken and g.kind != "except" for g in entry.guards)]
            entries = preferred or entries
        node = entries[-1].node
        assert isinstance(node, ast.FunctionDef)
        return node


Meaning = Definition | External | SourceModule


class Repository:
    """Files under some roots, parsed when asked for. Trees are dropped, least recently used first, to bound memory.

    ``problems`` collects one message for each file that could not be read. ``edited`` holds what files are taken to contain
    in place of what stands on the disk. ``derived`` is for what others work out from the trees and hold on to them with; it is
    emptied whenever as much text has been read anew as trees are kept for.
    """

    def __init__(
        self, roots: Sequence[Path], *, cached_bytes: int = CACHED_SOURCE_BYTES, edited: Mapping[Path, bytes] | None = None
    ) -> None:
        self.edited = dict(edited or {})
        self.roots = tuple(dict.fromkeys(Path(root).resolve() for root in roots))
        self.problems: dict[str, Problem] = {}
        self.derived: dict[Any, Any] = {}
        self._cached_bytes = cached_bytes
        self._held_bytes = 0
        self._read_bytes = 0
        self._modules: OrderedDict[Path, SourceModule] = OrderedDict()
        self._calling: dict[str, tuple[Path, ...]] = {}
        self._sources: list[tuple[Path, bytes]] | None = None
        self._places: dict[bytes, array[int]] = {}
        self._located: dict[tuple[Path, str], Path | None] = {}
        self._bases: dict[Path, Path] = {}
        search = [place for root in self.roots for place in (root, root / "src", root / "python") if place.is_dir()]
        self._search = tuple(dict.fromkeys(search))
        self._added: tuple[Path, ...] = ()

    # files

    def module(self, file: str | Path) -> SourceModule | None:
        """The module of a file, given relative to one of the roots (or absolute); None where it cannot be read."""
        path = Path(file)
        if path.is_absolute():
            return self.module_at(path)
        for root in self.roots:
            if (root / path).exists():
                return self.module_at(root / path)
        return None

    def module_at(self, path: Path) -> SourceModule | None:
        """The module of a path; None where it cannot be read, with the reason in ``problems``."""
        held = self._modules.get(path)
        if held is not None:
            self._modules.move_to_end(path)
            return held
        file = self.relative(path)
        if file in self.problems:
            return None
        try:
            source = b"" if path.is_dir() else self.read(file, path)
            with GarbageKept():
                tree = parse(file, source)
        except Unreadable as unreadable:
            self.problems[file] = unreadable.problem
            return None
        base = self._base(path)
        module = SourceModule(self, file, path, base, _dotted(path, base), source, tree)
        self._modules[path] = module
        self._held_bytes += len(source)
        self._read_bytes += len(source)
        if self._read_bytes > self._cached_bytes:
            self.derived.clear()
            self._read_bytes = 0
        while self._held_bytes > self._cached_bytes and len(self._modules) > 1:
            _, dropped = self._modules.popitem(last=False)
            self._held_bytes -= len(dropped.source)
        return module

    def read(self, file: str, path: Path) -> bytes:
        """The bytes of a file, as edited; raises ``Unreadable``."""
        held = self.edited.get(path)
        return held if held is not None else read(file, path)

    def python_files_that_call(self, name: str) -> tuple[Path, ...]:
        """The Python files under the roots in whose text a function of this name is called, handed to a call, or decorates.

        The files are read once, up to 160 MB, with an index of their words, and searched once for each name.
        """
        found = self._calling.get(name)
        if found is None:
            word = name.encode()
            found = tuple(path for path, source in self._sources_with(word) if calls(source, word))
            self._calling[name] = found
        return found

    def _sources_with(self, word: bytes) -> Iterator[tuple[Path, bytes]]:
        """The files in which a word stands, in order."""
        if self._sources is None:
            self._sources = list(self._read_all())
            for place, (_, source) in enumerate(self._sources):
                for one in set(_WORD.findall(source)):
                    self._places.setdefault(one, array("I")).append(place)
        return (self._sources[place] for place in self._places.get(word, ()))

    def _read_all(self) -> Iterator[tuple[Path, bytes]]:
        held = 0
        for folder, folders, files in (step for root in self.roots for step in os.walk(root)):
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            for path in (Path(folder, file) for file in sorted(files) if file.endswith(".py") and held <= _SEARCHED_BYTES):
                try:
                    source = self.read(path.name, path) if path.stat().st_size < _LARGE else b""
                except (OSError, Unreadable):
                    continue
                held += len(source)
                yield path, source

    def _below(self, name: str) -> Iterator[Path]:
        """What is there under a path that is given relative to a root, by root; nothing that lies outside of its root."""
        for root in self.roots:
            try:
                path = (root / name).resolve()
                there = path.is_relative_to(root) and path.exists()
            except (OSError, ValueError):  # too long, or with a null byte
                continue
            if there:
                yield path

    def data(self, file: str) -> bytes | None:
        """The bytes of a file of any kind, given relative to one of the roots; None where it is not below one or cannot be read."""
        found = next((path for path in self._below(file) if path.is_file()), None)
        return self.source_of(found) if found is not None else None

    def kind_of(self, file: str) -> Literal["file", "folder"] | None:
        """What a path is that is given relative to one of the roots; None where nothing is there, or it leaves the root."""
        found = next(self._below(file), None)
        return None if found is None else "folder" if found.is_dir() else "file"

    def names_in(self, folder: str) -> list[str]:
        """What lies in a folder, given relative to one of the roots, by name; nothing where it cannot be read."""
        found = next((path for path in self._below(folder) if path.is_dir()), None)
        try:
            return sorted(os.listdir(found)) if found is not None else []
        except OSError:
            return []

    def search_too(self, folder: str) -> None:
        """Look for modules in a folder, given relative to a root, as well: what the program adds to ``sys.path``."""
        self._added += tuple(path for path in self._below(folder) if path.is_dir() and path not in self._added)

    def source_of(self, path: Path) -> bytes | None:
        """The bytes of a file, as edited; None where it cannot be read."""
        try:
            return self.read(path.name, path)
        except Unreadable:
            return None

    def relative(self, path: Path) -> str:
        """A path as findings name it: relative to the root that holds it, else to its outermost package's parent.

        It is whole where an earlier root has another file of that name, which ``module`` would take for it.
        """
        for place, root in enumerate(self.roots):
            if path.is_relative_to(root):
                name = path.relative_to(root)
                return path.as_posix() if any((other / name).exists() for other in self.roots[:place]) else name.as_posix()
        return path.relative_to(self._base(path)).as_posix()

    def _base(self, path: Path) -> Path:
        """The folder from which a file's package is imported: the first one above it without ``__init__.py``."""
        folder = path if path.is_dir() else path.parent
        found = self._bases.get(folder)
        if found is None:
            found = folder
            while (found / "__init__.py").is_file() and found.parent != found:
                found = found.parent
            for root in self._search:
                # Folders without __init__.py inside a package: the outermost package decides.
                if found.is_relative_to(root) and found != root:
                    top = root / found.relative_to(root).parts[0]
                    if (top / "__init__.py").is_file():
                        found = root
            self._bases[folder] = found
        return found

    # imports

    def module_for_import(self, from_module: SourceModule, dotted: str | None, level: int = 0) -> SourceModule | None:
        """The module that ``from <level dots><dotted> import`` in a module names, if it lies in the repository."""
        if level:
            folder = from_module.path if from_module.path.is_dir() else from_module.path.parent
            for _ in range(level - 1):
                folder = folder.parent
            path = self._locate(folder, dotted or "")
            return self.module_at(path) if path else None
        if not dotted or dotted.partition(".")[0] in _OUTSIDE:
            return None
        for base in dict.fromkeys((from_module.base, *self._search, *self._added)):
            path = self._locate(base, dotted)
            if path is not None:
                return self.module_at(path)
        return None

    def _locate(self, base: Path, dotted: str) -> Path | None:
        key = (base, dotted)
        if len(dotted) > _LONGEST_NAME:
            return None
        if key not in self._located:
            target = base.joinpath(*dotted.split(".")) if dotted else base
            init, plain = target / "__init__.py", target.with_name(target.name + ".py")
            if init.is_file():
                self._located[key] = init
            elif dotted and plain.is_file():
                self._located[key] = plain
            else:
                self._located[key] = target if target.is_dir() else None
        return self._located[key]

    # names

    def resolve(self, module: SourceModule, name: str) -> Meaning | None:
        """What a name, or a dotted one such as ``mod.fn``, means in a module: the last word of the preferred binding.

        Of several bindings the last one outside handlers and ``else`` branches is followed; ``resolve_all`` gives all.
        """
        found = self.resolve_all(module, name)
        return found[0] if found else None

    def resolve_all(self, module: SourceModule, name: str) -> list[Meaning]:
        """All that a (dotted) name may mean, preferred meaning first."""
        first, *attributes = name.split(".")
        meanings = self._meanings(module, first, 0)
        for attribute in attributes:
            meanings = [inner for meaning in meanings for inner in self._attribute(meaning, attribute, 0)]
        return meanings

    def resolve_expression(self, module: SourceModule, expression: ast.expr) -> Meaning | None:
        """What a name or an attribute chain means; None for any other expression."""
        dotted = dotted_name(expression)
        return self.resolve(module, dotted) if dotted else None

    def _meanings(self, module: SourceModule, name: str, hops: int) -> list[Meaning]:
        if hops > _MAX_HOPS:
            return []
        bindings = module.bindings.get(name)
        if not bindings:
            return self._from_stars(module, name, hops)
        ordered = [b for b in reversed(bindings) if not b.fallback] + [b for b in reversed(bindings) if b.fallback]
        return [meaning for binding in ordered for meaning in self._follow(module, binding, hops)]

    def _from_stars(self, module: SourceModule, name: str, hops: int) -> list[Meaning]:
        for star in module.bindings.get("*", ()):
            assert isinstance(star.node, ast.ImportFrom)
            source = self.module_for_import(module, star.node.module, star.node.level)
            if source is not None and source is not module:
                found = self._meanings(source, name, hops + 1)
                if found:
                    return found
        return []

    def _follow(self, module: SourceModule, binding: Binding, hops: int) -> list[Meaning]:
        node = binding.node
        if isinstance(node, ast.Import) and binding.alias is not None:
            dotted = binding.alias.name if binding.alias.asname else binding.alias.name.partition(".")[0]
            return [self.module_for_import(module, dotted) or External.of(dotted)]
        if isinstance(node, ast.ImportFrom) and binding.alias is not None:
            source = self.module_for_import(module, node.module, node.level)
            if source is None:
                prefix = f"{node.module}." if node.module else ""
                return [External.of(prefix + binding.alias.name)]
            return self._attribute(source, binding.alias.name, hops + 1, leaving=module)
        dotted_value = dotted_name(binding.value) if binding.value is not None and not binding.index else None
        if dotted_value and dotted_value != binding.name:
            first, *attributes = dotted_value.split(".")
            meanings = self._meanings(module, first, hops + 1)
            for attribute in attributes:
                meanings = [inner for meaning in meanings for inner in self._attribute(meaning, attribute, hops + 1)]
            if meanings:
                return meanings
        return [Definition(module, binding)]

    def _attribute(self, meaning: Meaning, name: str, hops: int, leaving: SourceModule | None = None) -> list[Meaning]:
        if isinstance(meaning, External):
            return [meaning.attribute(name)]
        if isinstance(meaning, SourceModule):
            found = self._meanings(meaning, name, hops) if meaning is not leaving else []
            if not found and meaning.is_package:
                folder = meaning.path if meaning.path.is_dir() else meaning.path.parent
                path = self._locate(folder, name)
                submodule = self.module_at(path) if path else None
                found = [submodule] if submodule is not None else []
            return found
        node = meaning.node
        if isinstance(node, ast.ClassDef):
            return [Definition(meaning.module, binding) for binding in reversed(bindings_of(node.body).get(name, []))]
        return []


def dotted_name(expression: ast.expr | None) -> str | None:
    """``a.b.c`` of a name or an attribute chain; None for anything else."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return None
    parts.append(expression.id)
    return ".".join(reversed(parts))


def jit_kind(function: FunctionNode, module: SourceModule, repository: Repository) -> JitKind | None:
    """How Triton sees a function: by any of its decorators, however spelled, imported, stacked or wrapped by the project."""
    for decorator in reversed(function.decorator_list):
        kind = decorator_kind(decorator, module, repository)
        if kind:
            return kind
    return None


def decorator_kind(decorator: ast.expr, module: SourceModule, repository: Repository, depth: int = 0) -> JitKind | None:
    """Whether a decorator makes a kernel; ``functools.partial(triton.jit, …)`` and wrappers of the project count."""
    while isinstance(decorator, ast.Call):
        for argument in decorator.args[:1]:
            if dotted_name(argument) and (kind := decorator_kind(argument, module, repository, depth + 1)):
                return kind
        decorator = decorator.func
    dotted = dotted_name(decorator)
    if dotted is None or depth > 4:
        return None
    for meaning in repository.resolve_all(module, dotted):
        if isinstance(meaning, External):
            kind = external_jit_kind(meaning.dotted)
        elif isinstance(meaning, Definition):
            kind = _defined_jit_kind(meaning, depth)
        else:
            kind = None
        if kind:
            return kind
    return None


def external_jit_kind(dotted: str) -> JitKind | None:
    """``triton.jit``, ``triton.runtime.jit.jit``, ``triton.experimental.gluon.jit`` … by dotted path."""
    parts = dotted.split(".")
    if parts[0] != "triton":
        return None
    if parts[-1] == "jit" and len(parts) > 1:
        return "gluon" if "gluon" in parts else "jit"
    return "constexpr_function" if parts[-1] in ("constexpr_function", "constexpr") else None


def _defined_jit_kind(definition: Definition, depth: int) -> JitKind | None:
    """A decorator of the project's own: an alias (``x = triton.jit(…)``) or a function that returns what jit makes."""
    module, binding = definition.module, definition.binding
    if binding.value is not None:
        candidates = _alternatives(binding.value)
    elif isinstance(binding.node, ast.FunctionDef):
        returned = [node.value for node in ast.walk(binding.node) if isinstance(node, ast.Return) and node.value is not None]
        candidates = [expression for value in returned for expression in _alternatives(value)]
    else:
        return None
    for candidate in candidates:
        if dotted_name(candidate) or isinstance(candidate, ast.Call):
            kind = decorator_kind(candidate, module, module.repository, depth + 1)
            if kind:
                return kind
    return None


def _alternatives(expression: ast.expr) -> list[ast.expr]:
    if isinstance(expression, ast.IfExp):
        return [*_alternatives(expression.body), *_alternatives(expression.orelse)]
    return [expression]


def _dotted(path: Path, base: Path) -> str:
    relative = path.relative_to(base)
    parts = list(relative.parts)
    if parts and parts[-1] == "__init__.py":
        parts.pop()
    elif parts and parts[-1].endswith(".py"):
        parts[-1] = parts[-1][:-3]
    return ".".join(parts)
