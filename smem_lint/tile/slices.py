"""Forward and backward slices of a program: what an operation reaches, and what it is made from, in MLIR's order.

Facts: mlir/lib/Analysis/SliceAnalysis.cpp and TopologicalSortUtils.cpp as of Triton 3.8.0. A slice is a dict with operations for
keys, in MLIR's insertion order. ``wanted`` tells which operations a slice may enter; an operation that it refuses also hides
what lies behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from smem_lint.tile.ir import Block, Module, Op, Value

Filter = Callable[[Op], bool]
Slice = dict[Op, None]


def forward_slice(root: Op | Value, wanted: Filter | None = None, inclusive: bool = False) -> Slice:
    """Everything that depends on ``root``, what is nested in those operations included, in topological order.

    The slice of a value never holds the operation that defines it (unless it depends on itself).
    """
    found: Slice = {}
    if isinstance(root, Op):
        _forward(root, found, wanted, set())
        if not inclusive:
            found.pop(root, None)
    else:
        visited: set[Op] = set()
        for user in root.users:
            if user not in found:
                _forward(user, found, wanted, visited)
    return dict.fromkeys(reversed(found))


def _forward(root: Op, found: Slice, wanted: Filter | None, visited: set[Op]) -> None:
    """Depth first: what an operation holds, then the users of its results, newest first, then itself."""
    if wanted is not None and not wanted(root):
        return
    stack = [(root, _ahead(root))]
    visited.add(root)
    while stack:
        op, ahead = stack[-1]
        for following in ahead:
            if following not in visited and (wanted is None or wanted(following)):
                visited.add(following)
                stack.append((following, _ahead(following)))
                break
        else:
            found[op] = None
            stack.pop()


def _ahead(op: Op) -> Iterable[Op]:
    for region in op.regions:
        for block in region.blocks:
            yield from block
    for result in op.results:
        yield from result.users


def backward_slice(
    root: Op | Value, wanted: Filter | None = None, inclusive: bool = False, omit_block_arguments: bool = False,
    omit_uses_from_above: bool = True,
) -> Slice:  # fmt: skip
    """Everything that ``root`` is computed from, definitions before uses.

    An argument of a block leads to the operation around the block when that has one region of one block (a loop), and no
    further. What lies within an operation counts only with ``omit_uses_from_above=False``.
    """
    op = root if isinstance(root, Op) else root.op
    if op is None:
        assert isinstance(root, Value) and root.block is not None
        op = root.block.parent_op
    found: Slice = {}
    if op is not None:
        _Backward(found, wanted, omit_block_arguments, omit_uses_from_above).visit(op)
        if not inclusive:
            found.pop(op, None)
    return found


class _Backward:
    def __init__(self, found: Slice, wanted: Filter | None, omit_block_arguments: bool, omit_uses_from_above: bool) -> None:
        self.found, self.wanted = found, wanted
        self.omit_block_arguments, self.omit_uses_from_above = omit_block_arguments, omit_uses_from_above
        self.on_path: set[Op] = set()

    def visit(self, root: Op) -> None:
        if not self._enters(root):
            return
        stack = [(root, iter(self._sources(root)))]
        self.on_path.add(root)
        while stack:
            op, sources = stack[-1]
            for source in sources:
                if source not in self.found and source not in self.on_path and self._enters(source):
                    self.on_path.add(source)
                    stack.append((source, iter(self._sources(source))))
                    break
            else:
                self.on_path.discard(op)
                self.found[op] = None
                stack.pop()

    def _enters(self, op: Op) -> bool:
        return op.name != "tt.func" and (self.wanted is None or self.wanted(op))

    def _sources(self, op: Op) -> Iterable[Op]:
        if not self.omit_uses_from_above and op.regions:
            yield from self._from_above(op)
        for operand in op.operands:
            source = self._source(operand)
            if source is not None:
                yield source

    def _source(self, value: Value) -> Op | None:
        if value.op is not None or self.omit_block_arguments:
            return value.op
        parent = value.block.parent_op if value.block is not None else None
        if parent is not None and len(parent.regions) == 1 and len(parent.regions[0].blocks) == 1:
            return parent
        return None

    def _from_above(self, op: Op) -> Iterable[Op]:
        inside: set[Block] = set()
        for nested in op.walk():
            for region in nested.regions:
                inside.update(region.blocks)
        for region in op.regions:
            for block in region.blocks:
                for first in block:
                    for nested in first.walk_post():
                        for operand in nested.operands:
                            if operand.parent_block not in inside:
                                source = self._source(operand)
                                if source is not None:
                                    yield source


def slice_of(root: Op, backward: Filter | None = None, forward: Filter | None = None) -> Slice:
    """The closure of ``root`` under forward and backward slices, in program order (``mlir::getSlice``)."""
    found: Slice = {root: None}
    for op in _growing(found):
        found.update(backward_slice(op, backward))
        found.update(forward_slice(op, forward))
    return program_order(found)


def _growing(found: Slice) -> Iterable[Op]:
    """The keys of a dict that grows while they are read, each once."""
    seen = 0
    while seen < len(found):
        fresh = list(found)[seen:]
        seen += len(fresh)
        yield from fresh


def program_order(ops: Iterable[Op]) -> Slice:
    """Operations sorted as the program runs through them, an operation before what it holds (``mlir::topologicalSort``)."""
    wanted = dict.fromkeys(ops)
    if len(wanted) < 2:
        return wanted
    keys = {op: _position(op) for op in wanted}
    return dict.fromkeys(sorted(wanted, key=keys.__getitem__))


def _position(op: Op) -> tuple[int, ...]:
    """Where an operation stands: indices of region, block and operation from the outermost operation inwards.

    Regions of one operation come last one first, as MLIR's stack takes them.
    """
    path: list[int] = []
    at: Op | None = op
    while at is not None and at.block is not None:
        block = at.block
        block.number()
        path.append(at._order)
        region = block.region
        if region is None or region.op is None:
            break
        path.append(region.blocks.index(block) if len(region.blocks) > 1 else 0)
        path.append(-region.op.regions.index(region) if len(region.op.regions) > 1 else 0)
        at = region.op
    return tuple(reversed(path))


class Reach:
    """Which operations ``slice_of`` would find, for many roots of one program at once.

    Operations joined by values fall into one component; a component leads to another where one of its operations holds the
    other's operations, or uses an argument of a block (then to the operation around the block).
    """

    def __init__(self, module: Module) -> None:
        self.parent: dict[Op, Op] = {}
        self.leads: dict[Op, dict[Op, None]] = {}
        self._closures: dict[Op, frozenset[Op]] = {}
        ops = [op for op in module.walk() if op.name != "tt.func"]
        for op in ops:
            self.parent[op] = op
        for op in ops:
            for operand in op.operands:
                if operand.op is not None:
                    self._join(op, operand.op)
        for op in ops:
            self._edges(op)

    def _find(self, op: Op) -> Op:
        parent = self.parent
        while parent[op] is not op:
            parent[op] = parent[parent[op]]
            op = parent[op]
        return op

    def _join(self, a: Op, b: Op) -> None:
        a, b = self._find(a), self._find(b)
        if a is not b:
            self.parent[a] = b

    def _edges(self, op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                for nested in block:
                    self._lead(op, nested)
        for operand in op.operands:
            if operand.op is None and operand.block is not None:
                around = operand.block.parent_op
                if around is not None and around.name != "tt.func" and len(around.regions) == 1 and len(around.regions[0].blocks) == 1:
                    self._lead(op, around)

    def _lead(self, source: Op, target: Op) -> None:
        source, target = self._find(source), self._find(target)
        if source is not target:
            self.leads.setdefault(source, {})[target] = None

    def components(self, op: Op) -> frozenset[Op]:
        """The components within reach of ``op``, each by one of its operations (``component`` names an operation's own)."""
        start = self._find(op)
        found = self._closures.get(start)
        if found is None:
            seen = {start}
            stack = [start]
            while stack:
                for target in self.leads.get(stack.pop(), ()):
                    if target not in seen:
                        seen.add(target)
                        stack.append(target)
            found = self._closures[start] = frozenset(seen)
        return found

    def component(self, op: Op) -> Op:
        return self._find(op)
