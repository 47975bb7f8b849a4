"""What a kernel's own text says about its parameters: which are constexpr, which are pointers, whether it expects fp8."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from smem_lint.host.kernel_strides import possible_last_strides
from smem_lint.host.kernel_types import integer_pointers
from smem_lint.host.values import Kernel
from smem_lint.source.modules import Definition, SourceModule, dotted_name

_CALLEES = 3
_KEPT = 256
_ANNOTATED = re.compile(r"\b(?:tl\.|gl\.|triton\.language\.)?(u?int(?:1|8|16|32|64)|float(?:16|32|64)|bfloat16)\b")
_ANNOTATED_TYPE = {
    "int1": "u1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
    "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
}  # fmt: skip
_ACCESSES = frozenset({"load", "store", "make_block_ptr", "make_tensor_descriptor", "atomic_add", "atomic_max", "atomic_min", "atomic_cas",
                       "atomic_xchg", "atomic_or", "atomic_and", "atomic_xor"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """Parameters in order. ``annotated`` gives a scalar's type where the kernel states it; ``pointers`` are certain.

    ``integers`` are pointers whose elements the kernel treats as integers, with the likeliest type; ``last_strides`` are
    parameters that can be the stride of a last dimension.
    """

    names: tuple[str, ...]
    constexprs: frozenset[str]
    annotated: dict[str, str]
    defaults: dict[str, ast.expr]
    pointers: frozenset[str]
    tests_none: frozenset[str]
    mentions_fp8: bool
    not_specialized: frozenset[str]
    not_aligned: frozenset[str]
    integers: Mapping[str, str]
    last_strides: frozenset[str]


def facts_of(kernel: Kernel) -> KernelFacts:
    """The facts of a kernel, kept by its syntax tree."""
    known = _known_facts.get(kernel.node)
    if known is None:
        if len(_known_facts) >= _KEPT:
            _known_facts.clear()
        known = _known_facts[kernel.node] = _facts(kernel.node, kernel.module)
    return known


_known_facts: dict[ast.FunctionDef, KernelFacts] = {}
_known_pointers: dict[tuple[ast.FunctionDef, int], frozenset[str]] = {}
"""By syntax tree alone: a module in the key would keep all of its text and trees."""


def _facts(node: ast.FunctionDef, module: SourceModule) -> KernelFacts:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    constexprs, annotated = set(), {}
    for parameter in parameters:
        text = _annotation(parameter.annotation)
        if "constexpr" in text:
            constexprs.add(parameter.arg)
        elif (found := _ANNOTATED.fullmatch(text.strip("'\" "))) is not None:
            annotated[parameter.arg] = _ANNOTATED_TYPE[found.group(1)]
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = {p.arg: value for p, value in zip(reversed(positional), reversed(node.args.defaults), strict=False)}
    defaults.update({p.arg: value for p, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value is not None})
    names = tuple(parameter.arg for parameter in parameters)
    unspecialized, unaligned = _jit_options(node, names)
    pointers = _pointers(node, module)
    return KernelFacts(
        names, frozenset(constexprs), annotated, defaults, pointers, _tested_for_none(node), _expects_fp8(node),
        unspecialized, unaligned, integer_pointers(node, names), possible_last_strides(node, names, pointers),
    )  # fmt: skip


def _annotation(annotation: ast.expr | None) -> str:
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant):
        return str(annotation.value)
    return ast.unparse(annotation)


def _jit_options(node: ast.FunctionDef, names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg in ("do_not_specialize", "do_not_specialize_on_alignment"):
                items = keyword.value.elts if isinstance(keyword.value, (ast.List, ast.Tuple, ast.Set)) else []
                values: list[Any] = [item.value for item in items if isinstance(item, ast.Constant)]
                found[keyword.arg] = frozenset(names[v] if isinstance(v, int) and v < len(names) else str(v) for v in values)
    return found.get("do_not_specialize", frozenset()), found.get("do_not_specialize_on_alignment", frozenset())


def _pointers(node: ast.FunctionDef, module: SourceModule, depth: int = 0) -> frozenset[str]:
    """Parameters that an address is built on: the first addend of what is loaded from or stored to, through assignments.

    Functions that the kernel hands an address to are looked into as well.
    """
    if (node, depth) in _known_pointers:
        return _known_pointers[node, depth]
    names = frozenset(parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    heads: dict[str, set[str]] = {name: {name} for name in names}
    found: set[str] = set()
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            origin = _head(statement.value, heads)
            if origin:
                heads.setdefault(statement.targets[0].id, set()).update(origin)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and (dotted_name(call.func) or "").rpartition(".")[2] in _ACCESSES:
            address = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("pointer", "base")), None)
            if address is not None:
                found |= _head(address, heads)
        elif isinstance(call, ast.Call) and depth < _CALLEES:
            for handed in _handed_on(call, module, depth):
                found |= _head(handed, heads)
        elif isinstance(call, ast.Attribute) and call.attr == "element_ty" and isinstance(call.value, ast.Attribute):
            owner = call.value.value
            found |= {owner.id} if isinstance(owner, ast.Name) and owner.id in names else set()
    if len(_known_pointers) >= 4 * _KEPT:
        _known_pointers.clear()
    _known_pointers[node, depth] = frozenset(found & names) | frozenset(name for name in names if name.endswith(("_ptr", "_ptrs")))
    return _known_pointers[node, depth]


def _handed_on(call: ast.Call, module: SourceModule, depth: int) -> Iterator[ast.expr]:
    """The arguments of a call of another jit function that this one takes for addresses."""
    dotted = dotted_name(call.func)
    meaning = module.repository.resolve(module, dotted) if dotted and not dotted.startswith(("tl.", "gl.")) else None
    if not isinstance(meaning, Definition) or not isinstance(meaning.node, ast.FunctionDef):
        return
    callee = meaning.node
    pointers = _pointers(callee, meaning.module, depth + 1)
    for parameter, argument in zip((*callee.args.posonlyargs, *callee.args.args), call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        if parameter.arg in pointers:
            yield argument
    for keyword in call.keywords:
        if keyword.arg in pointers:
            yield keyword.value


def _head(expression: ast.expr, heads: dict[str, set[str]]) -> set[str]:
    """What stands first in a sum: the pointer, where the sum is an address."""
    while True:
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, (ast.Add, ast.Sub)):
            expression = expression.left
        elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) and expression.func.attr == "to":
            expression = expression.func.value
        elif isinstance(expression, ast.IfExp):
            return _head(expression.body, heads) | _head(expression.orelse, heads)
        else:
            break
    return heads.get(expression.id, set()) if isinstance(expression, ast.Name) else set()


def _tested_for_none(node: ast.FunctionDef) -> frozenset[str]:
    found = set()
    for test in ast.walk(node):
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            right = test.comparators[0]
            if isinstance(test.left, ast.Name) and isinstance(right, ast.Constant) and right.value is None:
                found.add(test.left.id)
    return frozenset(found)


def _expects_fp8(node: ast.FunctionDef) -> bool:
    for item in ast.walk(node):
        if isinstance(item, ast.Attribute) and "fp8" in item.attr.lower():
            return True
        if isinstance(item, (ast.Name, ast.arg)) and "fp8" in (item.id if isinstance(item, ast.Name) else item.arg).lower():
            return True
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr == "to" and item.args:
            target = item.args[0]
            if isinstance(target, ast.Attribute) and target.attr == "dtype":
                return True
    return False
