"""What ``explain`` starts from: the config that the host code launches, or what is given and assumed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smem_lint.cli.errors import UsageError
from smem_lint.cli.files import python_files
from smem_lint.cli.scenarios import resolved
from smem_lint.config import Settings
from smem_lint.devices import Device
from smem_lint.explain import changed, is_type
from smem_lint.host.config import Config
from smem_lint.source.modules import Repository, SourceModule, dotted_name, jit_kind
from smem_lint.specialization import Specialization

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_POINTER = "*bf16"
_LARGEST = 1 << 20
_MOST_FILES = 24
_MOST_BASES = 32


@dataclass(frozen=True, slots=True)
class Base:
    """``assumed`` says, in words, what neither the source nor the command line gave; ``declared`` the arguments' own types;
    ``agreement`` how many of the values that were given the launch has itself, and ``constexprs`` its own values."""

    specialization: Specialization
    assumed: tuple[str, ...]
    declared: Mapping[str, str]
    origin: str = ""
    agreement: int = 0
    constexprs: Mapping[str, Any] = field(default_factory=dict)


def find_bases(
    repository: Repository, path: Path, kernel: str, values: Mapping[str, Any], settings: Settings, device: Device,
) -> list[Base]:  # fmt: skip
    """The launches of ``kernel``, with ``values`` set: those first that agree with most of them. Raises UsageError."""
    file = repository.relative(path)
    module = repository.module(file)
    if module is None:
        problem = repository.problems.get(file)
        raise UsageError(f"{path}:{(problem.line if problem else 0) or 1}: {problem.message if problem else 'cannot be read'}")
    function = module.find_function(kernel)
    if function is None:
        raise UsageError(f"{path}: no kernel is called {kernel!r}; it has {', '.join(_kernels(module)) or 'none'}")
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    unknown = [name for name in values if name not in names and name not in _OPTIONS]
    if unknown:
        raise UsageError(f"{kernel} has no argument or option called {unknown[0]!r}; it has {', '.join(names)}")
    launched = _launched(repository, file, kernel, values, settings, device)
    if launched:
        return [_base(one, specialization, values) for one in launched if (specialization := one.specialization(device.capability))]
    if jit_kind(function, module, repository) is None:
        raise UsageError(f"{path}: {kernel} is no Triton kernel; the file has {', '.join(_kernels(module)) or 'none'}")
    return [_assumed(file, function, names, values, device)]


def _base(launched: Config, specialization: Specialization, values: Mapping[str, Any]) -> Base:
    told = tuple(launched.when), specialization.signature, _origin(launched)
    agreement = -1 if launched.pruned else _agreement(launched, values)
    return Base(changed(specialization, values), *told, agreement=agreement, constexprs=launched.constexprs)


def _origin(launched: Config) -> str:
    entry = "" if launched.origin == "launch" else f", entry {launched.index + 1} of {launched.of} of its autotune list"
    return f"{launched.file}:{launched.line}{entry}"


def _kernels(module: SourceModule) -> list[str]:
    return [entry.node.name for entry in module.functions if jit_kind(entry.node, module, module.repository) == "jit"]


def _launched(
    repository: Repository, file: str, kernel: str, values: Mapping[str, Any], settings: Settings, device: Device
) -> list[Config]:
    """The configs that the file's own host code can launch, else those of files that name the kernel, the best first."""
    for files in ([file], _naming(repository, file, kernel)):
        found = [
            one
            for one in resolved(repository, files, device.capability, settings)
            if isinstance(one, Config) and (one.kernel, one.kernel_file) == (kernel, file) and not one.unresolved
        ]
        if found:
            kinds: dict[str, Config] = {}
            for one in sorted(found, key=lambda one: (-_agreement(one, values), one.pruned, len(one.when))):
                kinds.setdefault(repr((sorted(one.types.items()), _flags(one))), one)
            return list(kinds.values())[:_MOST_BASES]
    return []


def launched_at(repository: Repository, file: str, line: int, settings: Settings, device: Device) -> list[Config]:
    """What can be launched, or tried by an autotuner, at a line of a file; nothing that a condition on bytes keeps from it."""
    found = _stands_at(repository, [file], file, line, settings, device)
    module = repository.module(file) if not found else None
    for entry in module.functions if module is not None else ():
        first = min([entry.node.lineno, *(decorator.lineno for decorator in entry.node.decorator_list)])
        if first <= line <= (entry.node.end_lineno or line):
            # A list that an autotuner tries stands with the kernel, which other files may launch.
            found = found or _stands_at(repository, _naming(repository, file, entry.node.name), file, line, settings, device)
    return found


def _stands_at(
    repository: Repository, files: Sequence[str], file: str, line: int, settings: Settings, device: Device
) -> list[Config]:  # fmt: skip
    return [
        one
        for one in resolved(repository, files, device.capability, settings)
        if isinstance(one, Config) and (one.file, one.line) == (file, line) and not one.unresolved and not one.pruned
        and one.specialization(device.capability) is not None
    ]  # fmt: skip


def _flags(config: Config) -> list[Any]:
    """What makes it another kernel rather than another tile: with the types, what decides whether Triton takes it."""
    return sorted((name, value) for name, value in config.constexprs.items() if isinstance(value, bool))


def _naming(repository: Repository, file: str, kernel: str) -> list[str]:
    """Other files below the roots in which the kernel's name stands; the nearest folders first."""
    name, found = kernel.encode(), []
    for root in repository.roots:
        for path in python_files([root], [root], ()):
            try:
                named = path.suffix == ".py" and path.stat().st_size < _LARGEST and name in path.read_bytes()
            except OSError:
                continue
            if named and repository.relative(path) != file:
                found.append(repository.relative(path))
    folder = file.rpartition("/")[0]
    return sorted(found, key=lambda one: (one.rpartition("/")[0] != folder, one))[:_MOST_FILES]


def _agreement(config: Config, values: Mapping[str, Any]) -> int:
    known = {**config.types, **config.constexprs, **config.options}
    return sum(known.get(name) == value for name, value in values.items())


def _assumed(file: str, function: ast.FunctionDef, names: Sequence[str], values: Mapping[str, Any], device: Device) -> Base:
    constant, defaults = _constants(function)
    signature: dict[str, str] = {}
    constexprs: dict[str, Any] = {}
    attrs: dict[str, dict[str, int]] = {}
    pointers = _pointers(function)
    assumed = []
    for name in names:
        value = values.get(name, defaults.get(name))
        if name in constant or (name in values and not isinstance(value, str)) or (name in defaults and value is None):
            if name not in values and name not in defaults:
                raise UsageError(f"{function.name}: no launch was found that tells {name}; give {name}=VALUE")
            signature[name], constexprs[name] = "constexpr", value
            continue
        kind = value if isinstance(value, str) else (_POINTER if name in pointers else "i32")
        signature[name] = kind
        attrs[name] = {"tt.divisibility": 16} if kind.startswith("*") or kind in ("i32", "i64") else {}
        if name not in values:
            assumed.append(f"{name}: {kind}")
    options = {name: values[name] for name in _OPTIONS if name in values}
    base = Specialization(file, function.name, signature, constexprs, attrs, capability=device.capability)
    note = f"no launch was found: {', '.join(assumed)}, aligned to 16" if assumed else "no launch was found"
    declared = {name: "constexpr" if name in constant else _declared(name, kind, pointers) for name, kind in signature.items()}
    return Base(changed(base, options), (note,), declared)


def _declared(name: str, kind: str, pointers: set[str]) -> str:
    if name in pointers:
        return _POINTER
    return kind if is_type(kind) else "i32"


def _constants(function: ast.FunctionDef) -> tuple[set[str], dict[str, Any]]:
    """The arguments that are annotated ``constexpr``, and the literal defaults."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    pairs = list(zip(reversed(arguments), reversed(function.args.defaults), strict=False))
    keywords = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    pairs += [(one, default) for one, default in keywords if default is not None]
    every = [*arguments, *function.args.kwonlyargs]
    constant = {one.arg for one in every if (dotted_name(one.annotation) or "").endswith("constexpr")}
    return constant, {one.arg: default.value for one, default in pairs if isinstance(default, ast.Constant)}


def _pointers(function: ast.FunctionDef) -> set[str]:
    """Arguments that something is loaded from or stored to: the base of the address in ``tl.load(base + …)``, through names."""
    reached: set[str] = set()
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
        if isinstance(node, ast.Call) and node.args and (dotted_name(node.func) or "").rpartition(".")[2] in _ACCESS:
            reached |= _leftmost(node.args[0])
    pending = list(reached)
    while pending:
        for value in assigned.get(pending.pop(), ()):
            new = _leftmost(value) - reached
            reached |= new
            pending += new
    return reached


_ACCESS = (
    "load", "store", "make_block_ptr", "make_tensor_descriptor", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg",
)  # fmt: skip


def _leftmost(node: ast.expr) -> set[str]:
    while isinstance(node, ast.BinOp):
        node = node.left
    return {node.id} if isinstance(node, ast.Name) else set()
