"""First layouts: every tensor gets the default blocked encoding, and a few operations ask for others.

Where an operation makes something else than the default, its users see it through a conversion right behind it, one for all.

Facts: lib/Conversion/TritonToTritonGPU/TritonToTritonGPUPass.cpp and
lib/Dialect/TritonGPU/Transforms/TritonGPUConversion.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smem_lint.layout.distributed import blocked_for, default_blocked, total_elems_per_thread
from smem_lint.layout.encodings import Blocked, DotOperand, Slice
from smem_lint.layout.inference import infer_result
from smem_lint.layout.to_linear import row_major
from smem_lint.tile.cleanup.fold import COMMUTATIVE, FOLDS, IN_PLACE, fold
from smem_lint.tile.cleanup.numbers import Const
from smem_lint.tile.ir import Builder, Module, Op, Value
from smem_lint.tile.types import Tensor

_THREADS_PER_WARP = 32
_FOLDED = frozenset((*FOLDS, *COMMUTATIVE))


def run(module: Module) -> None:
    """Give every tensor of ``module`` an encoding."""
    module.attrs = {
        **module.attrs, "ttg.num-warps": module.num_warps, "ttg.threads-per-warp": _THREADS_PER_WARP,
        "ttg.num-ctas": module.num_ctas, "ttg.target": f"cuda:{module.capability}",
    }  # fmt: skip
    conversion = _Conversion(module.num_warps)
    for function in module.functions:
        conversion.function(function)
    conversion.relink()
    for op in module.walk():
        op.unsettled = 3  # types have changed everywhere


class _Conversion:
    def __init__(self, num_warps: int) -> None:
        self.num_warps = num_warps
        self.defaults: dict[Value, Value] = {}  # values of another encoding → the same with the default one
        self.folded: dict[Value, Value] = {}  # results of folded operations → what stands for them

    def function(self, function: Op) -> None:
        types = function.attrs.get("result_types", ())
        function.attrs["result_types"] = tuple(self.default_type(type_) for type_ in types)
        for op in function.walk():
            for region in op.regions:
                for block in region.blocks:
                    for arg in block.args:
                        arg.type = self.default_type(arg.type)
            if op is function or (op.name in _FOLDED and self.folds(op)):
                continue
            for index, value in enumerate(op.operands):
                if isinstance(value.type, Tensor):
                    default = self.default_value(self.folded.get(value, value))
                    if default is not value:
                        op.set_operand(index, default)
            _PATTERNS.get(op.name, _Conversion.generic)(self, op)
        for op in reversed(dict.fromkeys(value.op for value in self.folded if value.op is not None)):
            op.erase()
        self.folded.clear()

    def relink(self) -> None:
        """Order uses as MLIR leaves them: it puts a cast where a default layout is wanted, and a conversion in its place at last.

        So the conversion is the newest user of its value, and its own users have changed their order. Layouts spread to the
        newest users first (``remove_layout_conversions``), which decides between layouts that reach a value on several ways.
        """
        for value, default in self.defaults.items():
            if default is not value and default.op is not None:
                default.uses = dict.fromkeys(reversed(default.uses))
                use = default.op.operand_uses[0]
                del value.uses[use]
                value.uses[use] = None

    def folds(self, op: Op) -> bool:
        """MLIR folds an operation on tensors before it converts it; whether that made an end of it.

        It looks at the old operands, so one fold does not lead to the next: the operation stays until all are converted.
        """
        if not isinstance(op.results[0].type, Tensor):
            return False
        found = fold(op)
        if found is None or found is IN_PLACE:
            return False
        for result, value in zip(op.results, found, strict=True):
            if isinstance(value, Const):
                value = Builder(before=op).constant(self.default_type(result.type), value.value)
            self.folded[result] = self.folded.get(value, value)
        return True

    def default(self, shape: tuple[int, ...]) -> Blocked:
        return default_blocked(shape, self.num_warps)

    def default_type(self, type_: Any) -> Any:
        if isinstance(type_, Tensor) and type_.encoding is None:
            return type_.with_encoding(self.default(type_.shape))
        return type_

    def default_value(self, value: Value) -> Value:
        type_ = value.type
        if type_.encoding is None or value.op is None:
            return value
        encoding = self.default(type_.shape)
        if type_.encoding is encoding:
            return value
        found = self.defaults.get(value)
        if found is None:
            convert = _convert(value, encoding)
            assert value.op.block is not None
            convert.line = value.op.line
            value.op.block.insert_after(value.op, convert)
            found = self.defaults[value] = convert.result
            self.defaults[found] = found
        return found

    def generic(self, op: Op) -> None:
        for result in op.results:
            result.type = self.default_type(result.type)

    def operand(self, op: Op, index: int, encoding: Any) -> None:
        """Convert one operand right before the operation, needed or not."""
        convert = _convert(op.operands[index], encoding)
        convert.line = op.line
        assert op.block is not None
        op.block.insert_before(op, convert)
        op.set_operand(index, convert.result)

    def expand_dims(self, op: Op) -> None:
        axis = op.attrs["axis"]
        source: Blocked = op.operands[0].type.encoding
        size, lanes, warps = (
            (*field[:axis], 1, *field[axis:]) for field in (source.size_per_thread, source.threads_per_warp, source.warps_per_cta)
        )
        encoding = Blocked(size, lanes, warps, tuple(range(len(size))))
        self.operand(op, 0, Slice(axis, encoding))
        op.result.type = op.result.type.with_encoding(encoding)

    def dot(self, op: Op) -> None:
        type_ = op.result.type
        encoding = self.dot_encoding(type_.shape)
        self.operand(op, 0, DotOperand(0, encoding))
        self.operand(op, 1, DotOperand(1, encoding))
        self.operand(op, 2, encoding)
        op.result.type = type_.with_encoding(encoding)

    def dot_encoding(self, shape: tuple[int, ...]) -> Blocked:
        """A square of 1, 2 x 2 or 4 x 4 elements per thread, as far as there are elements for it."""
        numel = 1
        for size in shape:
            numel *= size
        per_thread = numel // (self.num_warps * _THREADS_PER_WARP)
        side = 4 if per_thread >= 16 else 2 if per_thread >= 4 else 1
        sizes = (*(1 for _ in shape[:-2]), min(side, shape[-2]), min(side, shape[-1]))
        return blocked_for(shape, sizes, row_major(len(shape)), self.num_warps)

    def cat(self, op: Op) -> None:
        """The result holds as many elements per thread as both operands together."""
        type_ = op.result.type
        base = self.default(type_.shape)
        wanted = sum(total_elems_per_thread(value.type.encoding, value.type.shape) for value in op.operands)
        wanted = 1 << (wanted - 1).bit_length()
        sizes = list(base.size_per_thread)
        sizes[base.order[0]] *= wanted // total_elems_per_thread(base, type_.shape)
        op.result.type = type_.with_encoding(Blocked(tuple(sizes), base.threads_per_warp, base.warps_per_cta, base.order))

    def split(self, op: Op) -> None:
        """The operand must hold both halves of each pair in one thread."""
        base = self.default(op.results[0].type.shape)
        rank = len(base.order)
        encoding = Blocked(
            (*base.size_per_thread, 2), (*base.threads_per_warp, 1), (*base.warps_per_cta, 1), (rank, *base.order)
        )
        source: Blocked = op.operands[0].type.encoding
        if source.size_per_thread[-1] != 2 or source.order[0] != rank:
            self.operand(op, 0, encoding)
        self.inferred(op)

    def inferred(self, op: Op) -> None:
        encoding = infer_result(op, op.operands[0].type.encoding)
        for result in op.results:
            if isinstance(result.type, Tensor):
                result.type = result.type.with_encoding(encoding)

    def row_indices(self, op: Op) -> None:
        """The offsets of a gather or scatter by descriptor: four neighbours to a thread, every warp the same."""
        self.generic(op)
        index = 1
        encoding = Slice(0, Blocked((1, 4), (_THREADS_PER_WARP, 1), (1, self.num_warps), (1, 0)))
        if op.operands[index].type.encoding is not encoding:
            self.operand(op, index, encoding)


def _convert(value: Value, encoding: Any) -> Op:
    return Op("ttg.convert_layout", (value,), (value.type.with_encoding(encoding),))


_PATTERNS: dict[str, Callable[[_Conversion, Op], None]] = {
    "tt.expand_dims": _Conversion.expand_dims, "tt.dot": _Conversion.dot, "tt.cat": _Conversion.cat, "tt.split": _Conversion.split,
    "tt.join": _Conversion.inferred, "tt.trans": _Conversion.inferred, "tt.reduce": _Conversion.inferred,
    "tt.broadcast": _Conversion.inferred, "tt.scan": _Conversion.inferred,
    "tt.descriptor_gather": _Conversion.row_indices, "tt.descriptor_scatter": _Conversion.row_indices,
}  # fmt: skip
