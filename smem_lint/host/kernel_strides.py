"""Which parameters of a kernel can be the stride of a last dimension, by how the kernel's own text makes addresses.

Where a tensor's last stride is passed, each of its indices is multiplied by a stride; where the last dimension is taken to be
contiguous, an index stands bare beside the products (``rows[:, None] * stride_0 + cols[None, :]``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def possible_last_strides(node: ast.FunctionDef, names: Iterable[str], pointers: frozenset[str]) -> frozenset[str]:
    """Parameters that multiply an index over a tile, with no bare index beside them; or that end the strides of a block pointer."""
    finder = _Finder(frozenset(names), pointers)
    for statement in _assignments(node):
        finder.learn(statement)
    found: set[str] = set()
    beside_bare: set[str] = set()
    for terms in _sums(node):
        found |= {name for term in terms for name in finder.strides_of(term)}
        if any(finder.bare(term) for term in terms):
            beside_bare.update(*(finder.within(term) for term in terms))
    for item in ast.walk(node):
        if isinstance(item, ast.keyword) and item.arg == "strides" and isinstance(item.value, (ast.Tuple, ast.List)) and item.value.elts:
            last = item.value.elts[-1]
            found |= {last.id} & finder.names if isinstance(last, ast.Name) else set()
    return frozenset(found - beside_bare)


def _assignments(node: ast.FunctionDef) -> list[ast.Assign]:
    """Assignments to one name, twice in the order of the text: a name may be used, in a loop, before the text assigns it."""
    found = [item for item in ast.walk(node) if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)]
    found.sort(key=lambda item: item.lineno)
    return found * 2


def _sums(node: ast.AST) -> Iterator[list[ast.expr]]:
    """The terms of each sum, and each product that stands alone."""
    stack: list[tuple[ast.AST, bool]] = [(node, False)]
    while stack:
        item, inside = stack.pop()
        whole = isinstance(item, ast.BinOp) and isinstance(item.op, (ast.Add, ast.Mult))
        if whole and not inside:
            assert isinstance(item, ast.BinOp)
            yield list(_terms(item))
        stack.extend((child, whole) for child in ast.iter_child_nodes(item))


def _terms(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
        yield from _terms(expression.left)
        yield from _terms(expression.right)
    elif isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) and expression.func.attr == "to":
        yield from _terms(expression.func.value)
    else:
        yield expression


def _factors(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        yield from _factors(expression.left)
        yield from _factors(expression.right)
    else:
        yield expression


def _name(term: ast.expr) -> str:
    """The name that a term is, whatever it is indexed with."""
    while isinstance(term, ast.Subscript):
        term = term.value
    return term.id if isinstance(term, ast.Name) else ""


class _Finder:
    """``tiles`` are names of values over a tile; ``products`` names that hold an address or an index times a parameter, with those
    parameters."""

    def __init__(self, names: frozenset[str], pointers: frozenset[str]) -> None:
        self.names = names
        self.tiles: set[str] = set()
        self.products: dict[str, set[str]] = {name: set() for name in pointers}

    def learn(self, statement: ast.Assign) -> None:
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        if self._over_tile(statement.value):
            self.tiles.add(target.id)
        for term in _terms(statement.value):
            multiplied = self.within(term)
            if multiplied or _name(term) in self.products:
                self.products.setdefault(target.id, set()).update(multiplied)

    def strides_of(self, term: ast.expr) -> Iterator[str]:
        """Parameters that this term multiplies an index over a tile by."""
        factors = list(_factors(term))
        if len(factors) > 1 and any(self._over_tile(factor) for factor in factors):
            for factor in factors:
                if isinstance(factor, ast.Name) and factor.id in self.names:
                    yield factor.id

    def within(self, term: ast.expr) -> set[str]:
        """The same of this term and of the name that it is."""
        return {*self.strides_of(term), *self.products.get(_name(term), ())}

    def bare(self, term: ast.expr) -> bool:
        """An index over a tile that nothing multiplies."""
        if (name := _name(term)) != "":
            return name in self.tiles and name not in self.products
        while isinstance(term, ast.Subscript):
            term = term.value
        return isinstance(term, ast.Call) and isinstance(term.func, ast.Attribute) and term.func.attr == "arange"

    def _over_tile(self, expression: ast.expr) -> bool:
        for item in ast.walk(expression):
            if isinstance(item, ast.Name) and item.id in self.tiles:
                return True
            if isinstance(item, ast.Attribute) and item.attr == "arange":
                return True
        return False
