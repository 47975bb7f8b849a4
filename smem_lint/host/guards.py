"""Hand-written guards: limits of shared memory written as numbers, and capability tests that stand in for asking the device.

What is found is where they stand and what they say; whether one is wrong for a config, the estimates tell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from smem_lint.devices import devices
from smem_lint.host.config import Guard
from smem_lint.source.modules import SourceModule, jit_kind

_MEMORY = re.compile(r"smem|shared_?mem|shmem|sram|max_shared|optin|opt_in", re.IGNORECASE)
_CAPABILITY = re.compile(r"capab|compute_cap|\bcc\b|sm_version|sm_arch|cuda_arch|\bmajor\b|device_arch|\bSM\b", re.IGNORECASE)
_ONE_GENERATION = re.compile(r"hopper|sm_?9\d|sm_?10\d|datacenter", re.IGNORECASE)
_AND_LATER = re.compile(r"plus|later|newer|above|at_least|and_up|or_up", re.IGNORECASE)
_CAPABILITY_CALLS = re.compile(r"has_device_capability|is_device_capability_at_least|is_sm\d+_or_later")
_MEMORY_BYTES = rb"(?i:smem|shared|sram|optin|opt_in|1024|<< *10|capab|compute_cap|major|sm_version|sm_arch|cuda_arch|device_arch|_sm\d)"
_SIZES = re.compile(r"stage|BLOCK|block|tile|config|warps", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HardCoded:
    """A number that stands for what the device should be asked. ``line`` and ``column`` count from 1.

    ``kind`` is ``limit`` (bytes) or ``capability``; ``value`` the number (a capability times ten); ``text`` the expression.
    """

    file: str
    line: int
    column: int
    kind: str
    value: int
    text: str
    message: str


def hard_coded(module: SourceModule) -> Iterator[HardCoded]:
    """Literal limits and capability tests in a module's host code that decide sizes, stages or configs."""
    kernels = {
        id(entry.node) for entry in module.functions if entry.node.decorator_list and jit_kind(entry.node, module, module.repository)
    }
    elsewhere = _without_12(module.tree) if _CAPABILITY.search(module.text) else set()
    stack: list[ast.AST] = [module.tree]
    while stack:
        node = stack.pop()
        if id(node) in kernels:
            continue
        if isinstance(node, ast.Compare):
            yield from _comparison(module, node)
        elif isinstance(node, ast.If):
            if id(node) not in elsewhere and (_decides_sizes(node.body + node.orelse) or _gives_limit(node.body)):
                yield from _capability_tests(module, node.test)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _names_one_generation(node.targets[0].id):
            yield from _capability_tests(module, node.value)
        elif isinstance(node, ast.IfExp) and _decides_sizes([node]):
            yield from _capability_tests(module, node.test)
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _names_one_generation(name: str) -> bool:
    return _ONE_GENERATION.search(name) is not None and _AND_LATER.search(name) is None


def _without_12(tree: ast.AST) -> set[int]:
    """Tests that capabilities 12.x do not come to: an earlier branch has taken them."""
    found: set[int] = set()
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if not isinstance(body, list):
                continue
            for place, statement in enumerate(body):
                if isinstance(statement, ast.If) and _takes_12(statement.test):
                    later = body[place + 1 :] if isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue)) else []
                    found.update(id(inner) for part in (*statement.orelse, *later) for inner in ast.walk(part) if isinstance(inner, ast.If))
    return found


def _takes_12(test: ast.expr) -> bool:
    """Whether a test holds for 12.x and not for all capabilities from 9 on: ``== 12``, ``>= 12``, ``in (12,)``."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and _CAPABILITY.search(ast.unparse(node.left)):
            right = node.comparators[0]
            asked = [_capability(right), *(_capability(part) for part in getattr(right, "elts", ()))]
            if isinstance(node.ops[0], (ast.Eq, ast.GtE, ast.In)) and any(one is not None and 120 <= one < 130 for one in asked):
                return True
    return False


@cache
def limits() -> dict[int, str]:
    """Numbers of bytes that are the shared memory of some device, with the device's name."""
    table: dict[int, str] = {49_152: "the static limit of every device"}
    for device in devices():
        table.setdefault(device.optin, f"the opt-in limit of {device.target}")
        table.setdefault(device.per_sm, f"the shared memory of a multiprocessor of {device.target}")
    return table


def may_hold_limits(source: bytes) -> bool:
    """Whether a file of Triton's or for it can hold what ``hard_coded`` finds: a search in its bytes, no parsing."""
    return (b"triton" in source or b"gluon" in source) and _may_hold().search(source) is not None


@cache
def _may_hold() -> re.Pattern[bytes]:
    numbers = "|".join(str(value) for value in limits() if value >= 99_000).encode()
    return re.compile(_MEMORY_BYTES + b"|" + numbers)


def names_bytes(text: str) -> bool:
    """Whether source text names shared memory, or a number that is the shared memory of some device."""
    return _MEMORY.search(text) is not None or _numbers().search(text) is not None


@cache
def _numbers() -> re.Pattern[str]:
    return re.compile("|".join(map(str, limits())) + r"|\d\d+ *\* *1024")


def byte_guard(module: SourceModule, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Guard | None:
    """The test of shared memory in a pruning function, or in what it calls of the same file; None where it prunes by other things."""
    tests = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
    found = next((node for node in tests if tests_bytes(node, function)), None)
    if found is None:
        return None
    name = function.name if not isinstance(function, ast.Lambda) else "a lambda"
    mixed = any(isinstance(node, ast.BoolOp) and found in node.values for node in ast.walk(function))
    return Guard(module.file, found.lineno, found.col_offset + 1, name, ast.unparse(found), alone=len(tests) == 1 and not mixed)


def tests_bytes(node: ast.Compare, function: ast.AST) -> bool:
    """An order of two values of which one is named for shared memory, is a known limit, or comes from such a one."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return False
    sides = [node.left, node.comparators[0]]
    if any(_MEMORY.search(ast.unparse(side)) or _certain(side) for side in sides):
        return True
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    return any(
        isinstance(item, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in names for target in item.targets)
        and (_MEMORY.search(ast.unparse(item.value)) is not None or _certain(item.value))
        for item in ast.walk(function)
    )


def _certain(side: ast.expr) -> bool:
    """Whether an expression is a number that means shared memory whatever stands beside it: 65,536 may be anything."""
    value = constant(side)
    return value is not None and value >= 99_000 and value in limits()


def _asks_device(node: ast.expr) -> bool:
    """Whether an expression is the device's own limit, against which a number of bytes may well be held."""
    return any(isinstance(part, ast.Attribute) and part.attr in _DEVICE_LIMITS for part in ast.walk(node))


_DEVICE_LIMITS = ("shared_memory_per_block_optin",)


def _comparison(module: SourceModule, node: ast.Compare) -> Iterator[HardCoded]:
    sides = [node.left, *node.comparators]
    if any(_asks_device(side) for side in (node.left, *node.comparators)):
        return
    for side in sides:
        value = constant(side)
        if value in limits() and any(other is not side and constant(other) is None for other in sides):
            around = ast.unparse(node)
            if value < 99_000 and not _MEMORY.search(around):
                continue
            yield HardCoded(module.file, side.lineno, side.col_offset + 1, "limit", value, around,
                            f"{ast.unparse(side)} in `{around[:80]}` is {limits()[value]}")  # fmt: skip


def _capability_tests(module: SourceModule, test: ast.expr) -> Iterator[HardCoded]:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.GtE, ast.Gt)):
            asked = _capability(node.comparators[0])
            text = ast.unparse(node)
            if asked is not None and 90 <= asked < 120 and _CAPABILITY.search(ast.unparse(node.left)):
                yield _capability_fact(module, node, asked, text)
        elif isinstance(node, ast.Call) and node.args and _CAPABILITY_CALLS.search(ast.unparse(node.func)):
            asked = _capability(node.args[0])
            if asked is not None and 90 <= asked < 120:
                yield _capability_fact(module, node, asked, ast.unparse(node))


def _capability_fact(module: SourceModule, node: ast.expr, asked: int, text: str) -> HardCoded:
    less = [device.target for device in devices() if device.capability >= asked and device.optin < 200_000]
    return HardCoded(module.file, node.lineno, node.col_offset + 1, "capability", asked, text,
                     f"`{text[:80]}` also holds for {', '.join(less[-2:])}, which have less shared memory")  # fmt: skip


def _gives_limit(body: list[ast.stmt]) -> bool:
    """Whether code returns or assigns a number that is the shared memory of some device."""
    given = [node.value for node in body if isinstance(node, (ast.Return, ast.Assign)) and node.value is not None]
    return any((constant(value) or 0) >= 65_536 and constant(value) in limits() for value in given)


def _decides_sizes(body: list[ast.stmt] | list[ast.expr] | list[ast.IfExp]) -> bool:
    """Whether code assigns or passes what a config is made of."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and _SIZES.search(node.id):
                return True
            if isinstance(node, ast.keyword) and node.arg and _SIZES.search(node.arg):
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"BLOCK\w*|num_(stages|warps)", node.value):
                return True
    return False


def constant(node: ast.expr) -> int | None:
    """An integer written as a literal, or as products, sums and shifts of literals (``227 * 1024``)."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add, ast.Sub, ast.LShift)):
        left, right = constant(node.left), constant(node.right)
        if left is None or right is None or abs(left) > 1 << 40 or abs(right) > 1 << 40:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.LShift):
            return left << right if 0 <= right <= 40 else None
        return left + right if isinstance(node.op, ast.Add) else left - right
    return None


def _capability(node: ast.expr) -> int | None:
    """A capability times ten: ``(9, 0)``, ``9``, ``90`` or ``9.0``."""
    if isinstance(node, ast.Tuple) and node.elts:
        parts = [constant(part) for part in node.elts[:2]]
        return None if parts[0] is None else parts[0] * 10 + (parts[1] if len(parts) > 1 and parts[1] is not None else 0)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return round(node.value * 10)
    value = constant(node)
    if value is None:
        return None
    return value * 10 if 7 <= value <= 13 else value if 70 <= value <= 130 else None
