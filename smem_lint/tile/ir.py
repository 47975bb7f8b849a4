"""The tile program: operations in blocks in regions over single-assignment values, as in MLIR.

Operations carry the names that Triton's IR gives them (``tt.load``, ``arith.addi``, ``ttg.convert_layout``, ``scf.for`` …), so
that every stage of the model can be held against the compiler's own IR. Operands, results, regions and blocks are in MLIR's
order. Attributes are plain Python values under the printed names (``axis``, ``order``, ``predicate``, ``cacheModifier`` …):

* ``arith.constant``: ``value``, an int, a float, or a bool for ``i1``; for a tensor the same, meaning a splat.
* operations with optional operands (``tt.load``, ``ttg.async_copy_global_to_local`` …): ``segments``, a tuple with the
  number of operands in each group, in the order of the operation's definition.
* ``scf.for``: operands ``lower, upper, step, *init``; block arguments ``induction, *carried``.
* ``scf.if``: operand ``condition``; regions ``then`` and ``else`` (no blocks where it is absent).
* ``scf.while``: operands ``*init``; regions ``before`` (ends in ``scf.condition``) and ``after``.
* ``cf.br``, ``cf.cond_br``: ``successors`` of the operation, and ``segments`` (condition, true, false operands).
* ``tt.func``: attributes ``name``, ``arg_attrs`` (a tuple of dicts), ``visibility``, ``noinline``; one region.

Two orders are kept as MLIR keeps them, because passes of Triton can be seen to depend on them: operations of a block form a
linked list, and ``users`` yields the newest use first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from smem_lint.tile.types import Type


class Use:
    """Operand ``index`` of ``owner`` reads ``value``."""

    __slots__ = ("value", "owner", "index")

    def __init__(self, value: Value, owner: Op, index: int) -> None:
        self.value, self.owner, self.index = value, owner, index

    def set(self, value: Value) -> None:
        if value is not self.value:
            del self.value.uses[self]
            self.value = value
            value.uses[self] = None
            self.owner.operands[self.index] = value
            self.owner.touch()

    def renew(self, value: Value) -> None:
        """As ``set``, and the newest use of ``value`` even if it was one before."""
        del self.value.uses[self]
        self.value = value
        value.uses[self] = None
        self.owner.operands[self.index] = value
        self.owner.touch()


class Value:
    """A result of an operation (``op`` set) or an argument of a block (``block`` set), at ``index`` among its siblings."""

    __slots__ = ("type", "op", "block", "index", "uses", "name")

    def __init__(self, type_: Type, op: Op | None, block: Block | None, index: int) -> None:
        self.type: Any = type_
        self.op, self.block, self.index = op, block, index
        self.uses: dict[Use, None] = {}
        self.name: str = ""

    @property
    def users(self) -> Iterator[Op]:
        """The operations that read this value, newest use first, one for each use."""
        return (use.owner for use in reversed(tuple(self.uses)))

    @property
    def has_one_use(self) -> bool:
        return len(self.uses) == 1

    def made_through(self, names: Collection[str]) -> Op | None:
        """The operation that a value comes from when those of these names are looked through, each to its first operand."""
        op = self.op
        while op is not None and op.name in names:
            op = op.operands[0].op
        return op

    def replace_all_uses(self, other: Value, unless: Callable[[Use], bool] | None = None) -> None:
        """Make every use of this value read ``other``, as MLIR's RAUW does: newest use first."""
        for use in reversed(tuple(self.uses)):
            if unless is None or not unless(use):
                use.set(other)

    def retype(self, type_: Type) -> None:
        """Change the type of a value that others may know by its old one."""
        self.type = type_
        if self.op is not None:
            self.op.touch()
        else:
            for use in self.uses:
                use.owner.touch()

    @property
    def parent_block(self) -> Block:
        """The block in which the value is defined."""
        block = self.block if self.op is None else self.op.block
        assert block is not None
        return block

    def __repr__(self) -> str:
        return f"%{self.name or (self.op.name if self.op else 'arg')}#{self.index}: {self.type}"


class Op:
    """One operation. ``line`` is the source line of the linted file that it comes from (None: unknown).

    ``unsettled`` is 0 when folding is known to have nothing for the operation as it is; 3 after it changed, and 2 and 1 after an
    operand's operation did, or an operand's operand's: folds look no further.
    """

    __slots__ = (
        "name", "operands", "results", "attrs", "regions", "successors", "block", "prev", "next", "line", "unsettled", "_uses", "_order",
    )  # fmt: skip

    def __init__(
        self, name: str, operands: Iterable[Value] = (), result_types: Iterable[Type] = (), attrs: dict[str, Any] | None = None,
        regions: int = 0, line: int | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.operands: list[Value] = list(operands)
        self._uses = uses = [Use(value, self, index) for index, value in enumerate(self.operands)]
        for use in uses:
            use.value.uses[use] = None
        self.results = [Value(type_, self, None, index) for index, type_ in enumerate(result_types)]
        self.attrs: dict[str, Any] = {} if attrs is None else attrs
        self.regions: Sequence[Region] = [Region(self) for _ in range(regions)] if regions else ()
        self.successors: tuple[Block, ...] = ()
        self.block: Block | None = None
        self.prev: Op | None = None
        self.next: Op | None = None
        self.line = line
        self.unsettled = 3
        self._order = 0

    def touch(self) -> None:
        """Say that the operation changed: its operands, a type, its place."""
        if self.unsettled != 3:
            self.unsettled = 3
            for result in self.results:
                for use in result.uses:
                    user = use.owner
                    if user.unsettled < 2:
                        user.unsettled = 2
                        for other in user.results:
                            for inner in other.uses:
                                inner.owner.unsettled = inner.owner.unsettled or 1

    @property
    def result(self) -> Value:
        """The only result; an operation without exactly one has no business here."""
        assert len(self.results) == 1, self.name
        return self.results[0]

    @property
    def operand_uses(self) -> list[Use]:
        return self._uses

    def set_operand(self, index: int, value: Value) -> None:
        self._uses[index].set(value)

    def set_operands(self, values: Iterable[Value]) -> None:
        """Replace the whole operand list (its length may change)."""
        for use in self._uses:
            del use.value.uses[use]
        self.operands[:] = list(values)
        self._uses = []
        for index, value in enumerate(self.operands):
            use = Use(value, self, index)
            value.uses[use] = None
            self._uses.append(use)
        self.touch()

    def set_successor(self, index: int, block: Block) -> None:
        self.successors = (*self.successors[:index], block, *self.successors[index + 1 :])

    @property
    def parent(self) -> Op | None:
        """The operation whose region holds this one."""
        return self.block.region.op if self.block is not None and self.block.region is not None else None

    @property
    def body(self) -> Block:
        """The first block of the first region."""
        return self.regions[0].blocks[0]

    @property
    def is_unused(self) -> bool:
        for result in self.results:  # noqa: SIM110  (much faster than any(), and asked all the time)
            if result.uses:
                return False
        return True

    def erase(self) -> None:
        """Take the operation out of its block and drop its uses and those of its regions; its results must be unused."""
        assert self.is_unused, f"{self.name} is still used"
        self.drop()

    def drop(self) -> None:
        """As ``erase``, also when results are still used (for operations that go away together)."""
        for region in self.regions:
            for block in region.blocks:
                for op in list(block):
                    op.drop()
        for use in self._uses:
            use.value.uses.pop(use, None)
        self._uses = []
        if self.block is not None:
            self.block.remove(self)

    def move_before(self, other: Op) -> None:
        if self is other:
            return
        assert self.block is not None and other.block is not None
        self.block.remove(self)
        other.block.insert_before(other, self)

    def move_after(self, other: Op) -> None:
        if self is other:
            return
        assert self.block is not None and other.block is not None
        self.block.remove(self)
        other.block.insert_after(other, self)

    def is_before(self, other: Op) -> bool:
        """Whether this operation stands before ``other`` in their common block."""
        assert self.block is other.block and self.block is not None
        self.block.number()
        return self._order < other._order

    def is_ancestor(self, other: Op) -> bool:
        """Whether ``other`` is this operation or lies within its regions."""
        at: Op | None = other
        while at is not None:
            if at is self:
                return True
            at = at.parent
        return False

    def walk(self) -> Iterator[Op]:
        """This operation and all within it, parents first (MLIR's pre-order). Safe against removal of the yielded one."""
        yield self
        for region in self.regions:
            for block in region.blocks:
                for op in block:
                    if op.regions:
                        yield from op.walk()
                    else:
                        yield op

    def walk_post(self) -> Iterator[Op]:
        """All within it and then this operation (MLIR's default, post-order). Safe against removal of the yielded one."""
        for region in self.regions:
            for block in region.blocks:
                for op in block:
                    if op.regions:
                        yield from op.walk_post()
                    else:
                        yield op
        yield self

    def clone(self, mapping: dict[Value, Value], blocks: dict[Block, Block] | None = None) -> Op:
        """A copy outside any block; operands go through ``mapping``, which learns the results and inner arguments.

        ``blocks`` maps the blocks that successors name; it learns those of the operation's own regions.
        """
        blocks = {} if blocks is None else blocks
        new = Op(self.name, [mapping.get(v, v) for v in self.operands], [r.type for r in self.results], dict(self.attrs), 0, self.line)
        for old_result, new_result in zip(self.results, new.results, strict=True):
            new_result.name = old_result.name
            mapping[old_result] = new_result
        if self.successors:
            new.successors = tuple(blocks.get(block, block) for block in self.successors)
        if self.regions:
            new.regions = [Region(new) for _ in self.regions]
        for region, copy in zip(self.regions, new.regions, strict=True):
            for block in region.blocks:
                twin = copy.add_block([arg.type for arg in block.args])
                blocks[block] = twin
                for old_arg, new_arg in zip(block.args, twin.args, strict=True):
                    new_arg.name = old_arg.name
                    mapping[old_arg] = new_arg
            for block in region.blocks:
                for op in block:
                    blocks[block].append(op.clone(mapping, blocks))
        return new

    def __repr__(self) -> str:
        return f"<{self.name} {self.attrs}>"


class Block:
    """A straight run of operations, kept as a linked list, with arguments."""

    __slots__ = ("args", "region", "first", "last", "_numbered")

    def __init__(self, arg_types: Iterable[Type] = (), region: Region | None = None) -> None:
        self.args = [Value(type_, None, self, index) for index, type_ in enumerate(arg_types)]
        self.region = region
        self.first: Op | None = None
        self.last: Op | None = None
        self._numbered = True

    def __iter__(self) -> Iterator[Op]:
        """Operations in order; the one just yielded may be erased or moved."""
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def __reversed__(self) -> Iterator[Op]:
        op = self.last
        while op is not None:
            before = op.prev
            yield op
            op = before

    @property
    def terminator(self) -> Op:
        assert self.last is not None
        return self.last

    @property
    def parent_op(self) -> Op | None:
        return self.region.op if self.region is not None else None

    def add_arg(self, type_: Type) -> Value:
        arg = Value(type_, None, self, len(self.args))
        self.args.append(arg)
        return arg

    def erase_arg(self, index: int) -> None:
        assert not self.args[index].uses
        del self.args[index]
        for at in range(index, len(self.args)):
            self.args[at].index = at

    def append(self, op: Op) -> Op:
        op.block, op.prev, op.next = self, self.last, None
        if self.last is None:
            self.first = op
            op._order = 0
        else:
            self.last.next = op
            op._order = self.last._order + 1
        self.last = op
        op.touch()
        return op

    def prepend(self, op: Op) -> Op:
        return self.append(op) if self.first is None else self.insert_before(self.first, op)

    def insert_before(self, at: Op, op: Op) -> Op:
        op.block, op.prev, op.next = self, at.prev, at
        if at.prev is None:
            self.first = op
        else:
            at.prev.next = op
        at.prev = op
        self._numbered = False
        op.touch()
        return op

    def insert_after(self, at: Op, op: Op) -> Op:
        return self.append(op) if at.next is None else self.insert_before(at.next, op)

    def remove(self, op: Op) -> None:
        """Unlink ``op``; it keeps its operands and can be inserted elsewhere."""
        if op.prev is None:
            self.first = op.next
        else:
            op.prev.next = op.next
        if op.next is None:
            self.last = op.prev
        else:
            op.next.prev = op.prev
        op.block = op.prev = op.next = None

    def number(self) -> None:
        """Make ``_order`` of the operations ascend (done only when something was inserted in the middle)."""
        if not self._numbered:
            op, count = self.first, 0
            while op is not None:
                op._order = count
                op, count = op.next, count + 1
            self._numbered = True


class Region:
    __slots__ = ("op", "blocks")

    def __init__(self, op: Op | None = None) -> None:
        self.op = op
        self.blocks: list[Block] = []

    def add_block(self, arg_types: Iterable[Type] = ()) -> Block:
        block = Block(arg_types, self)
        self.blocks.append(block)
        return block


class Module:
    """The functions of one compiled kernel, the kernel itself among them, and what holds for all of them.

    ``capability`` is the compute capability times ten (120 for sm_120); ``num_stages`` the launch option; ``version`` the Triton
    whose decisions are modelled.
    """

    __slots__ = ("functions", "num_warps", "num_stages", "num_ctas", "capability", "attrs", "version")

    def __init__(self, num_warps: int = 4, num_stages: int = 3, num_ctas: int = 1, capability: int = 120) -> None:
        self.version: tuple[int, int] = (3, 8)
        self.functions: list[Op] = []
        self.num_warps, self.num_stages, self.num_ctas, self.capability = num_warps, num_stages, num_ctas, capability
        self.attrs: dict[str, Any] = {}

    @property
    def kernel(self) -> Op:
        """The public function."""
        return next(function for function in self.functions if function.attrs.get("visibility") == "public")

    def clone(self) -> Module:
        """A copy that shares nothing that passes change; values keep the order of their uses, on which passes depend."""
        new = Module(self.num_warps, self.num_stages, self.num_ctas, self.capability)
        mapping: dict[Value, Value] = {}
        new.functions = [function.clone(mapping) for function in self.functions]
        new.attrs = dict(self.attrs)
        new.version = self.version
        twins = dict(zip(self.walk(), new.walk(), strict=True))
        for op, twin in twins.items():
            twin.unsettled = op.unsettled
        for value, copy in mapping.items():
            if len(value.uses) > 1:
                copy.uses = {twins[use.owner].operand_uses[use.index]: None for use in value.uses}
        return new

    def walk(self) -> Iterator[Op]:
        for function in self.functions:
            yield from function.walk()

    def walk_post(self) -> Iterator[Op]:
        for function in self.functions:
            yield from function.walk_post()


class Builder:
    """Makes operations at a place: before an operation, or at the end of a block."""

    __slots__ = ("block", "before", "line")

    def __init__(self, block: Block | None = None, before: Op | None = None) -> None:
        self.block, self.before = (before.block if before is not None else block), before
        self.line: int | None = before.line if before is not None else None

    def at_end(self, block: Block) -> Builder:
        self.block, self.before = block, None
        return self

    def at_start(self, block: Block) -> Builder:
        self.block, self.before = block, block.first
        return self

    def at(self, op: Op) -> Builder:
        """Build before ``op``."""
        self.block, self.before, self.line = op.block, op, op.line
        return self

    def after(self, op: Op) -> Builder:
        """Build after ``op``."""
        self.block, self.before, self.line = op.block, op.next, op.line
        return self

    def insert(self, op: Op) -> Op:
        assert self.block is not None
        if op.line is None:
            op.line = self.line
        return self.block.append(op) if self.before is None else self.block.insert_before(self.before, op)

    def op(
        self, name: str, operands: Iterable[Value] = (), result_types: Iterable[Type] = (), attrs: dict[str, Any] | None = None,
        regions: int = 0,
    ) -> Op:  # fmt: skip
        return self.insert(Op(name, operands, result_types, attrs, regions))

    def value(self, name: str, operands: Iterable[Value], result_type: Type, **attrs: Any) -> Value:
        """An operation with one result; returns the result."""
        return self.op(name, operands, (result_type,), attrs).results[0]

    def constant(self, type_: Type, value: int | float | bool) -> Value:
        return self.op("arith.constant", (), (type_,), {"value": value}).results[0]


def constant_value(value: Value) -> Any:
    """The number of an ``arith.constant`` (of a splat for a tensor), else None."""
    op = value.op
    return op.attrs["value"] if op is not None and op.name == "arith.constant" else None
