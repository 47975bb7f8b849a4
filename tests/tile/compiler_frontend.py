"""What Triton's front end prints, brought to the form in which the model's front end stands: calls inlined, dead code gone.

Triton inlines and cleans up in passes after its front end. Here that is done in the plainest way, to compare operation by
operation what the front end itself decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lint.tile.ir import Block, Module, Op
from smem_lint.verify.ir_text import parse_module

_EFFECTS = frozenset({
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.print", "tt.assert", "tt.call", "tt.descriptor_store", "tt.descriptor_reduce",
    "tt.descriptor_scatter", "ttg.barrier", "llvm.intr.assume", "scf.while",
})  # fmt: skip
_TERMINATORS = ("yield", "return", "condition", "br")
_OF_CONSTANTS = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape"})


def of_text(text: str) -> Module:
    """The program of the front end's text, with calls of functions of one block inlined."""
    module = parse_module(text)
    for function in module.functions:
        _drop_unreachable(function)
    _inline(module)
    return tidied(module)


def tidied(module: Module) -> Module:
    """The program without dead operations, empty ``else`` and blocks with a single way in; constants spread at once."""
    module.kernel.attrs["name"] = "kernel"
    for function in module.functions:
        _merge_blocks(function)
        _fold(function)
    while sum(_drop_dead(function) for function in module.functions):
        pass
    _rename(module)
    return module


def _drop_unreachable(function: Op) -> None:
    blocks = function.regions[0].blocks
    reached: list[Block] = []
    todo = [blocks[0]]
    while todo:
        block = todo.pop()
        if block not in reached:
            reached.append(block)
            todo += block.terminator.successors
    for block in blocks:
        if block not in reached:
            for op in list(block):
                op.drop()
    blocks[:] = [block for block in blocks if block in reached]


def _inline(module: Module) -> None:
    functions = {function.attrs["name"]: function for function in module.functions}
    done: set[str] = set()

    def visit(function: Op) -> None:
        if function.attrs["name"] in done:
            return
        done.add(function.attrs["name"])
        for op in list(function.walk()):
            if op.name != "tt.call":
                continue
            callee = functions[op.attrs["callee"]]
            visit(callee)
            blocks = callee.regions[0].blocks
            if len(blocks) == 1 and not callee.attrs["noinline"]:
                _put_in_place(op, blocks[0])

    for function in list(module.functions):
        visit(function)
    called = {op.attrs["callee"] for op in module.walk() if op.name == "tt.call"}
    module.functions = [f for f in module.functions if f.attrs["visibility"] == "public" or f.attrs["name"] in called]


def _put_in_place(call: Op, body: Block) -> None:
    assert call.block is not None
    mapping = dict(zip(body.args, call.operands, strict=True))
    for op in body:
        if op.name == "tt.return":
            for result, value in zip(call.results, op.operands, strict=True):
                result.replace_all_uses(mapping.get(value, value))
            break
        call.block.insert_before(call, op.clone(mapping))
    call.erase()


def _merge_blocks(function: Op) -> None:
    blocks = function.regions[0].blocks
    while pair := next(_mergeable(blocks), None):
        first, second = pair
        for arg, value in zip(second.args, list(first.terminator.operands), strict=True):
            arg.replace_all_uses(value)
        first.terminator.drop()
        for op in list(second):
            second.remove(op)
            first.append(op)
        blocks.remove(second)


def _mergeable(blocks: list[Block]) -> Iterator[tuple[Block, Block]]:
    ways = [successor for block in blocks for successor in block.terminator.successors]
    for block in blocks:
        end = block.terminator
        if end.name == "cf.br" and ways.count(end.successors[0]) == 1:
            yield block, end.successors[0]


def _fold(function: Op) -> None:
    for op in list(function.walk()):
        if op.name == "scf.if" and not op.results:
            for block in op.regions[1].blocks:
                if block.first is block.last:
                    block.terminator.drop()
                    op.regions[1].blocks.clear()
        elif op.name in ("arith.bitcast", "tt.bitcast") and op.result.type is op.operands[0].type:
            op.result.replace_all_uses(op.operands[0])
            op.drop()
        elif op.name in _OF_CONSTANTS and op.operands[0].op is not None and op.operands[0].op.name == "arith.constant":
            value = op.operands[0].op.attrs["value"]
            op.name, op.attrs = "arith.constant", {"value": value}
            op.set_operands([])


def _drop_dead(function: Op) -> bool:
    dropped = False
    for op in reversed(list(function.walk_post())):
        if op is not function and op.block is not None and op.is_unused and not _matters(op):
            op.drop()
            dropped = True
    return dropped


def _matters(op: Op) -> bool:
    if op.name in _EFFECTS or op.name.endswith(_TERMINATORS):
        return True
    if op.name == "tt.elementwise_inline_asm":
        return not op.attrs["pure"]
    if op.name == "tt.load":
        return bool(op.attrs.get("isVolatile"))
    return op.name.startswith("scf.") and any(_matters(inner) for inner in op.walk() if inner is not op and inner.name != "scf.yield")


def _rename(module: Module) -> None:
    """Functions that are not inlined are named by the order in which they are first called."""
    functions = {function.attrs["name"]: function for function in module.functions}
    order: list[str] = []

    def visit(function: Op) -> None:
        for op in function.walk():
            if op.name == "tt.call" and op.attrs["callee"] not in order:
                order.append(op.attrs["callee"])
                visit(functions[op.attrs["callee"]])

    visit(module.kernel)
    for function in module.functions:
        if function.attrs["name"] in order:
            function.attrs["name"] = f"callee{order.index(function.attrs['name'])}"
        for op in function.walk():
            if op.name == "tt.call":
                op.attrs["callee"] = f"callee{order.index(op.attrs['callee'])}"
