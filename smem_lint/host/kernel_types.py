"""Element types that a kernel's own text demands of what it loads: integers for what it shifts, indexes with or counts to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from smem_lint.source.modules import dotted_name

_BITS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_WHOLE = (ast.Mod, ast.FloorDiv)
_PASSED_ON = {
    "where", "maximum", "minimum", "max", "min", "sum", "abs", "broadcast_to", "expand_dims", "reshape", "trans", "cdiv", "to", "cast",
}  # fmt: skip
_LOADS = {"load", "atomic_add", "atomic_cas", "atomic_xchg", "atomic_max", "atomic_min"}
_ADDRESSES = {"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"}

Sources = frozenset[str]
_NONE: Sources = frozenset()


def integer_pointers(node: ast.FunctionDef, names: Iterable[str]) -> Mapping[str, str]:
    """Pointer parameters whose elements must be integers, with the likeliest type: ``i8`` for operands of an integer dot, else ``i32``.

    A value counts as loaded from a parameter through assignments, casts, arithmetic and reductions, not through comparisons.
    """
    finder = _Finder(frozenset(names))
    for _ in range(2):  # a name may be used, in a loop, before the text assigns it
        for statement in node.body:
            finder.visit(statement)
    return {**dict.fromkeys(finder.integers, "i32"), **dict.fromkeys(finder.bytes, "i8")}


class _Finder(ast.NodeVisitor):
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.heads: dict[str, Sources] = {name: frozenset((name,)) for name in names}
        self.loaded: dict[str, Sources] = {}
        self.whole: set[str] = set()
        self.integers: set[str] = set()
        self.bytes: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                before, self.loaded[target.id] = self.loaded.get(target.id, _NONE), _NONE
                self._bind(target.id, node.value, before)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            if isinstance(node.op, _BITS):
                self.integers |= self._sources(node.target) | self._sources(node.value)
            if node.target.id in self.whole:
                self._dots(node.value)
            self._bind(node.target.id, node.value, self.loaded.get(node.target.id, _NONE))

    def _bind(self, name: str, value: ast.expr, before: Sources) -> None:
        kept, self.loaded[name] = self.loaded.get(name, _NONE), before
        self.loaded[name] = kept | self._sources(value)
        self.heads[name] = self.heads.get(name, _NONE) | self._head(value)
        if _made_of_integers(value):
            self.whole.add(name)
        if name in self.whole:
            self._dots(value)

    def _dots(self, value: ast.expr) -> None:
        """Operands of a dot whose accumulator is an integer tile."""
        for call in ast.walk(value):
            if isinstance(call, ast.Call) and _last(call) == "dot":
                for operand in call.args[:2]:
                    self.bytes |= self._sources(operand)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        bits = isinstance(node.op, (ast.LShift, ast.RShift)) or (isinstance(node.op, _BITS) and not _logical(node))
        if bits or isinstance(node.op, _WHOLE):
            self.integers |= self._sources(node.left) | self._sources(node.right)

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call) and _last(node.iter) in ("range", "static_range"):
            for bound in node.iter.args:
                self.integers |= self._sources(bound)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if _last(node) in _ADDRESSES and node.args:
            for offset in _offsets(node.args[0]):
                self.integers |= self._sources(offset)
        elif _last(node) == "dot" and any(k.arg == "out_dtype" and (dotted_name(k.value) or "").endswith("int32") for k in node.keywords):
            self._dots(node)

    def _sources(self, value: ast.expr) -> Sources:
        """The parameters that a value was loaded from."""
        if isinstance(value, ast.Name):
            return self.loaded.get(value.id, _NONE)
        if isinstance(value, ast.Call):
            name = _last(value)
            if name in _LOADS and value.args:
                return self._head(value.args[0])
            if name in _PASSED_ON:
                inner = [value.func.value] if isinstance(value.func, ast.Attribute) and name not in ("where",) else []
                given = value.args[1:] if name == "where" else value.args
                return _union(self._sources(one) for one in [*inner, *given])
            return _NONE
        if isinstance(value, (ast.Subscript, ast.Attribute)):
            return self._sources(value.value)
        if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.Div):
            return self._sources(value.left) | self._sources(value.right)
        if isinstance(value, ast.UnaryOp):
            return self._sources(value.operand)
        if isinstance(value, ast.IfExp):
            return self._sources(value.body) | self._sources(value.orelse)
        return _NONE

    def _head(self, value: ast.expr) -> Sources:
        """The parameters that an address is built on."""
        while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
            value = value.left
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
            return self._head(value.func.value)
        return self.heads.get(value.id, _NONE) if isinstance(value, ast.Name) else _NONE


def _union(found: Iterable[Sources]) -> Sources:
    return frozenset().union(*found)


def _last(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _offsets(address: ast.expr) -> Iterable[ast.expr]:
    """What is added to the pointer in an address."""
    while isinstance(address, ast.BinOp) and isinstance(address.op, (ast.Add, ast.Sub)):
        yield address.right
        address = address.left


def _logical(node: ast.BinOp) -> bool:
    """Whether ``&`` or ``|`` joins conditions, as masks do."""
    return any(isinstance(part, ast.Compare) or (isinstance(part, ast.BinOp) and _logical(part)) for part in (node.left, node.right))


def _made_of_integers(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or _last(value) not in ("zeros", "full"):
        return False
    return any((dotted_name(one) or "").rpartition(".")[2] == "int32" for one in (*value.args, *(k.value for k in value.keywords)))
