"""A tile program as text for people: close to MLIR's own, with encodings shortened to names."""

from __future__ import annotations

from typing import Any

from smem_lint.tile import types as ty
from smem_lint.tile.ir import Block, Module, Op, Value


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.encodings: dict[Any, str] = {}
        self.blocks: dict[Block, str] = {}

    def name(self, value: Value) -> str:
        return self.names.setdefault(value, f"%{len(self.names)}")

    def encoding(self, encoding: Any) -> str:
        kind = type(encoding).__name__.lower()
        return self.encodings.setdefault(encoding, f"#{kind}{sum(1 for n in self.encodings.values() if n.startswith('#' + kind))}")

    def type(self, type_: Any) -> str:
        if isinstance(type_, (ty.Tensor, ty.MemDesc)) and type_.encoding is not None:
            return str(type_).replace(str(type_.encoding), self.encoding(type_.encoding))
        return str(type_)

    def block(self, block: Block, depth: int, label: bool) -> None:
        if label:
            name = self.blocks.setdefault(block, f"^bb{len(self.blocks)}")
            args = ", ".join(f"{self.name(arg)}: {self.type(arg.type)}" for arg in block.args)
            self.lines.append(f"{'  ' * (depth - 1)}{name}({args}):")
        for op in block:
            self.operation(op, depth)

    def operation(self, op: Op, depth: int) -> None:
        results = ", ".join(self.name(result) for result in op.results)
        attrs = {name: value for name, value in op.attrs.items() if name != "segments"}
        text = f"{'  ' * depth}{results + ' = ' if results else ''}{op.name}({', '.join(map(self.name, op.operands))})"
        if attrs:
            text += f" {attrs}"
        if op.successors:
            text += " " + ", ".join(self.blocks.setdefault(b, f"^bb{len(self.blocks)}") for b in op.successors)
        if op.results:
            text += " : " + ", ".join(self.type(result.type) for result in op.results)
        self.lines.append(text)
        for region in op.regions:
            for block in region.blocks:
                self.block(block, depth + 1, True)


def printed(module: Module) -> str:
    """One line an operation; encodings are spelt out at the top."""
    printer = _Printer()
    for function in module.functions:
        printer.operation(function, 0)
    head = [f"{name} = {encoding}" for encoding, name in printer.encodings.items()]
    return "\n".join([*head, *printer.lines]) + "\n"
