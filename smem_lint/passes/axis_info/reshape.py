"""What survives when a tensor's elements, in row-major order, are given other dimensions.

Facts: ``ReshapeOpAxisInfoVisitor`` of lib/Analysis/AxisInfo.cpp, Triton 3.8.0.
"""

from __future__ import annotations

from smem_lint.passes.axis_info.lattice import AxisInfo, Dims, made


def _strides(shape: Dims) -> list[int]:
    """The row-major strides, outermost first, preceded by the number of elements: ``[numel, …, 1]``."""
    strides = [1]
    for size in reversed(shape):
        strides.append(strides[-1] * size)
    return strides[::-1]


def reshaped(info: AxisInfo, source: Dims, target: Dims) -> AxisInfo:
    """The facts about a tensor of shape ``source`` seen in shape ``target``.

    A dimension of the result looks at the one dimension of the source in which its own step falls.
    """
    everywhere = max([1, *(d for c, d in zip(info.contiguity, info.divisibility, strict=True) if c == 1)])
    source_strides, target_strides = _strides(source), _strides(target)
    contiguity, divisibility, constancy = [1] * len(target), [everywhere] * len(target), [1] * len(target)
    for dim, size in enumerate(target):
        stride = target_strides[dim + 1]
        at = next((d for d in range(len(source)) if source_strides[d + 1] <= stride < source_strides[d]), 0)
        run = info.contiguity[at]
        if run > 1:
            if stride == source_strides[at + 1]:
                contiguity[dim] = min(run, size)
                divisor = info.divisibility[at]
                divisibility[dim] = max(everywhere, divisor if contiguity[dim] == run else min(divisor, contiguity[dim]))
            continue
        constancy[dim] = _repetition(info, source, at, source_strides[at + 1], stride, size)
    return made(tuple(contiguity), tuple(divisibility), tuple(constancy))


def _repetition(info: AxisInfo, source: Dims, at: int, source_stride: int, stride: int, size: int) -> int:
    """How many equal elements follow each other along a dimension of ``size`` whose step is ``stride`` elements."""
    end = source_stride * info.constancy[at]
    if stride > end:
        return 1
    run = min(size, end // stride)
    if info.constancy[at] != source[at]:
        return run
    remaining = size // run
    for dim in range(at - 1, -1, -1):
        if remaining <= 1:
            break
        piece = min(source[dim], remaining)
        same = min(info.constancy[dim], piece)
        run *= same
        if same < piece:
            break
        remaining //= piece
    return run
