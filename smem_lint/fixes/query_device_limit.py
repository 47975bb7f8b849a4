"""``query-device-limit``: a literal number of bytes that a computed need is compared with becomes the device's own limit.

PyTorch gives the properties of AMD's devices without the opt-in limit: there the number stays.
"""

from __future__ import annotations

import re

import libcst as cst

from smem_lint.fixes.imports import importing
from smem_lint.fixes.text import CannotEdit, Edit, Text

_QUERY = 'getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "shared_memory_per_block_optin", {})'
_ASKS = re.compile(r"optin|get_device_properties|max_shared_mem|shared_memory_per|sharedMem", re.IGNORECASE)
_ORDER = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def querying(text: Text, line: int, column: int) -> list[Edit]:
    """The literal at a place of a comparison. Raises CannotEdit where it is not compared with a need worked out in the same function.

    Code at the top level of a module stays as it is: asking a device there would set up CUDA at import.
    """
    start = text.offset(line, column)
    for comparison in text.nodes(cst.Comparison):
        sides = [comparison.left, *(one.comparator for one in comparison.comparisons)]
        literal = next((side for side in sides if text.span(side)[0] == start), None)
        if literal is None or isinstance(literal, cst.Comparison):
            continue
        function = next((one for one in text.ancestors(comparison) if isinstance(one, cst.FunctionDef)), None)
        if len(sides) != 2 or not isinstance(comparison.comparisons[0].operator, _ORDER):
            raise CannotEdit("it is no comparison of two sizes")
        if function is None:
            raise CannotEdit("it is evaluated when the module is imported")
        other = sides[1] if literal is sides[0] else sides[0]
        if not _is_need(text, function, other):
            raise CannotEdit("what it is compared with may itself be a device's limit")
        return [Edit(*text.span(literal), queried(text.code(literal))), *importing(text, "torch")]
    raise CannotEdit("the comparison was not found")


def queried(literal: str) -> str:
    """The device's limit, and the literal for devices that do not tell theirs."""
    return _QUERY.format(literal)


def _is_need(text: Text, function: cst.FunctionDef, side: cst.BaseExpression) -> bool:
    """Whether a value is worked out from sizes: an expression that multiplies or adds, or a name that is given such a one."""
    if _ASKS.search(text.code(side)):
        return False
    if isinstance(side, cst.BinaryOperation):
        return True
    if not isinstance(side, cst.Name):
        return False
    first, last = text.span(function)
    values = [
        node.value for node in text.nodes(cst.Assign)
        if first <= text.span(node)[0] < last
        and any(isinstance(target.target, cst.Name) and target.target.value == side.value for target in node.targets)
    ]  # fmt: skip
    return bool(values) and all(isinstance(value, cst.BinaryOperation) and not _ASKS.search(text.code(value)) for value in values)
