"""Splits the dot of a pipelined loop along K, so that its first part is read from shared memory one iteration early.

Run for targets below sm_90. Only loops with a single dot are rewritten. The full dot and its operands stay behind, unused.

Facts: lib/Dialect/TritonGPU/Transforms/Prefetch.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smem_lint.layout.encodings import DotOperand, Mma
from smem_lint.passes import convert_canonicalization
from smem_lint.tile.cleanup.rewriter import rewrite
from smem_lint.tile.ir import Block, Builder, Module, Op, Value
from smem_lint.tile.traits import is_elementwise
from smem_lint.tile.types import MemDesc, Tensor

_PROMOTABLE = frozenset({"arith.constant", "ub.poison", "ttg.async_wait", "ttg.memdesc_index"})


def run(module: Module) -> None:
    """Fold conversions, then rewrite each loop that qualifies."""
    for function in module.functions:
        rewrite(function, convert_canonicalization.PATTERNS)
        for op in [op for op in function.walk_post() if op.name == "scf.for"]:
            dot = _only_dot(op)
            operands = None if dot is None else _operands(op, dot)
            if dot is not None and operands is not None:
                _Prefetcher(op, dot, operands).rewrite()


@dataclass
class _Operand:
    """One operand of the dot: the buffer and the token of its ``local_load``, and what lies between the load and the dot."""

    index: int
    source: Value
    token: Value | None
    chain: list[Value]  # from the loaded value to the operand
    source_arg: int | None = None  # the argument of the new loop that carries the buffer of this iteration
    token_arg: int | None = None
    head: Value | None = None  # what is read ahead before the loop


def _only_dot(loop: Op) -> Op | None:
    found = []
    for op in loop.body:
        if op.name == "tt.dot":
            encoding = op.results[0].type.encoding
            if not isinstance(encoding, Mma) or encoding.version_major != 2:
                return None
            found.append(op)
        elif op.name.startswith("ttng.async_tma_"):
            return None
    return found[0] if len(found) == 1 else None


def _operands(loop: Op, dot: Op) -> tuple[_Operand, _Operand] | None:
    """Both operands, if they are read from shared memory that can be known an iteration ahead."""
    type_ = dot.operands[0].type
    if type_.shape[-1] < _width(type_):
        return None
    a, b = (_traced(dot.operands[index], index) for index in (0, 1))
    if a is None or b is None:
        return None
    carried = all(_is_carried(loop, operand.source) for operand in (a, b))
    waits = a.token is not None or b.token is not None
    known = [value for operand in (a, b) for value in (operand.source, operand.token) if value is not None]
    return (a, b) if carried or (waits and all(_can_move(loop, value) for value in known)) else None


def _width(type_: Tensor) -> int:
    """How much of K one instruction takes, in elements."""
    k_width: int = type_.encoding.k_width
    return 8 * k_width if k_width else 256 // int(type_.element.bits)


def _traced(value: Value, index: int) -> _Operand | None:
    """Back from the dot through operations with one operand, each used once, to a load of a dot operand."""
    chain, op = [value], value.op
    while op is not None and op.results[0].has_one_use:
        if op.name == "ttg.local_load":
            if not isinstance(op.results[0].type.encoding, DotOperand):
                return None
            token = op.operands[1] if len(op.operands) > 1 else None
            return _Operand(index, op.operands[0], token, chain[::-1])
        if len(op.operands) != 1:
            return None
        chain.append(op.operands[0])
        op = op.operands[0].op
    return None


def _is_carried(loop: Op, value: Value) -> bool:
    return value.op is None and value.block is loop.body and value.index > 0


def _can_move(loop: Op, value: Value) -> bool:
    """Whether the value can be computed again for another iteration."""
    op = value.op
    if op is None or op.block is not loop.body:
        return True
    if op.regions or not (op.name in _PROMOTABLE or is_elementwise(op)):
        return False
    return all(_can_move(loop, operand) for operand in op.operands)


class _Prefetcher:
    def __init__(self, loop: Op, dot: Op, operands: tuple[_Operand, _Operand]) -> None:
        self.loop, self.dot, self.operands = loop, dot, operands
        self.width = _width(dot.operands[0].type)
        self.initial: dict[Value, Value] = {}

    def rewrite(self) -> None:
        build = Builder(before=self.loop)
        for operand in self.operands:
            source = self.before_loop(operand.source, build)
            token = None if operand.token is None else self.before_loop(operand.token, build)
            operand.head = self.part(operand, source, token, 0, build)
        new = self.new_loop(build)
        mapping = dict(zip(self.loop.body.args, new.body.args, strict=False))
        self.finish(new.body, mapping, self.copy_body(new.body, mapping))
        for old, result in zip(self.loop.results, new.results, strict=False):
            old.replace_all_uses(result)
        self.loop.erase()

    def new_loop(self, build: Builder) -> Op:
        """The loop with arguments for buffers, tokens, and what is read ahead; its body is empty."""
        initial = list(self.loop.operands)
        for name, arg in (("source", "source_arg"), ("token", "token_arg")):
            for operand in self.operands:
                value = getattr(operand, name)
                if value is not None and not _is_carried(self.loop, value):
                    setattr(operand, arg, len(initial) - 2)
                    initial.append(self.before_loop(value, build))
        heads = [operand.head for operand in self.operands if operand.head is not None]
        new = Op("scf.for", [*initial, *heads], [value.type for value in (*initial[3:], *heads)], {}, 1, self.loop.line)
        build.insert(new)
        new.regions[0].add_block([self.loop.body.args[0].type, *(result.type for result in new.results)])
        return new

    # Values in other iterations

    def copied(self, value: Value, build: Builder, argument: Callable[[Value], Value], cache: dict[Value, Value]) -> Value:
        found = cache.get(value)
        if found is not None:
            return found
        op = value.op
        if op is None:
            cache[value] = argument(value)
        elif op.block is not self.loop.body:
            cache[value] = value
        else:
            mapping = {operand: self.copied(operand, build, argument, cache) for operand in op.operands}
            twin = build.insert(op.clone(mapping))
            cache.update(zip(op.results, twin.results, strict=True))
        return cache[value]

    def before_loop(self, value: Value, build: Builder) -> Value:
        def argument(arg: Value) -> Value:
            if arg.block is not self.loop.body:
                return arg
            return self.loop.operands[0] if arg.index == 0 else self.loop.operands[arg.index + 2]

        return self.copied(value, build, argument, self.initial)

    def next_iteration(self, value: Value, build: Builder, mapping: dict[Value, Value]) -> Value:
        yielded = self.loop.body.terminator.operands

        def argument(arg: Value) -> Value:
            if arg.block is not self.loop.body:
                return arg
            if arg.index == 0:
                return build.value("arith.addi", (mapping[arg], self.loop.operands[2]), arg.type)
            following = yielded[arg.index - 1]
            return mapping.get(following, following)

        return self.copied(value, build, argument, {})

    def this_iteration(self, value: Value, arg: int | None, body: Block, mapping: dict[Value, Value]) -> Value:
        return mapping.get(value, value) if arg is None else body.args[arg]

    # Parts of the dot

    def part(self, operand: _Operand, source: Value, token: Value | None, start: int, build: Builder) -> Value:
        """``width`` of K from ``start`` on, read from the buffer and treated as the whole operand was."""
        memory = source.type
        rank = len(memory.shape)
        dim = rank - 1 if operand.index == 0 else rank - 2
        shape = tuple(self.width if at == dim else size for at, size in enumerate(memory.shape))
        offsets = tuple(start if at == dim else 0 for at in range(rank))
        slice_ = MemDesc(shape, memory.element, memory.encoding, memory.space, memory.mutable, memory.alloc_shape)
        view = build.value("ttg.memdesc_subslice", (source,), slice_, offsets=offsets)
        encoding = DotOperand(operand.index, self.dot.results[0].type.encoding, self.width // 8)
        value = build.value("ttg.local_load", (view,) if token is None else (view, token), Tensor(shape, memory.element, encoding))
        mapping = {operand.chain[0]: value}
        for old in operand.chain[1:]:
            assert old.op is not None
            twin = build.insert(old.op.clone(mapping))
            element = twin.results[0].type.element
            twin.results[0].type = Tensor(value.type.shape, element, twin.operands[0].type.encoding)
            value = mapping[old] = twin.results[0]
        return value

    def copy_body(self, body: Block, mapping: dict[Value, Value]) -> Builder:
        """Copy the body; what does not need the dot's result moves in front of its last part. Returns where to go on."""
        build = Builder().at_end(body)
        for op in self.loop.body:
            if op is self.loop.body.last:
                break
            if op.regions or any(operand.op is self.dot for operand in op.operands):
                build.at_end(body)
            twin = build.insert(op.clone(mapping))
            if op is self.dot:
                twin = self.split(body, mapping, build, twin)
                mapping.update(zip(op.results, twin.results, strict=True))
        return build

    def split(self, body: Block, mapping: dict[Value, Value], build: Builder, whole: Op) -> Op:
        """The parts of the dot, one after the other; returns the last, in front of which ``build`` goes on."""
        operands = list(whole.operands)
        first = len(body.args) - 2
        last = build.op("tt.dot", (body.args[first], body.args[first + 1], *operands[2:]), (whole.results[0].type,), dict(whole.attrs))
        for start in range(self.width, self.dot.operands[0].type.shape[-1], self.width):
            before = Builder(before=last)
            parts = []
            for operand in self.operands:
                source = self.this_iteration(operand.source, operand.source_arg, body, mapping)
                token = None
                if operand.token is not None:
                    token = self.this_iteration(operand.token, operand.token_arg, body, mapping)
                parts.append(self.part(operand, source, token, start, before))
            last = build.op("tt.dot", (*parts, last.results[0]), (whole.results[0].type,), dict(whole.attrs))
        build.at(last)
        return last

    def finish(self, body: Block, mapping: dict[Value, Value], build: Builder) -> None:
        """What the next iteration reads, and the yield."""
        values = [mapping.get(value, value) for value in self.loop.body.terminator.operands]
        sources = [self.following(operand.source, build, mapping) for operand in self.operands]
        tokens = [None if operand.token is None else self.following(operand.token, build, mapping) for operand in self.operands]
        values += [source for operand, source in zip(self.operands, sources, strict=True) if operand.source_arg is not None]
        values += [token for operand, token in zip(self.operands, tokens, strict=True) if operand.token_arg is not None and token]
        for operand, source, token in zip(self.operands, sources, tokens, strict=True):
            values.append(self.part(operand, source, token, 0, build))
        body.append(Op("scf.yield", values, line=self.loop.line))

    def following(self, value: Value, build: Builder, mapping: dict[Value, Value]) -> Value:
        if _is_carried(self.loop, value):
            following = self.loop.body.terminator.operands[value.index - 1]
            return mapping.get(following, following)
        return self.next_iteration(value, build, mapping)
