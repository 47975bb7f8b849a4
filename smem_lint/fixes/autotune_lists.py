"""``drop-dead-configs`` and ``add-pruning``: the list of an autotune decorator without what cannot launch, or with pruning."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from smem_lint.fixes.imports import importing
from smem_lint.fixes.text import CannotEdit, Edit, Text

_ARGUMENTS = ("configs", "key", "prune_configs_by")
_PRUNE = 'prune_configs_by={"early_config_prune": smem_lint.prune}'


class Tuned:
    """The autotune decorator at a line. Raises CannotEdit where there is none."""

    def __init__(self, text: Text, line: int, kernel: str) -> None:
        self.text = text
        calls = [
            decorator.decorator
            for function in text.nodes(cst.FunctionDef) if function.name.value == kernel
            for decorator in function.decorators
            if isinstance(decorator.decorator, cst.Call) and text.line_of(text.span(decorator.decorator)[0]) == line
        ]  # fmt: skip
        if len(calls) != 1 or not isinstance(calls[0], cst.Call):
            raise CannotEdit("the decorator was not found")
        self.call = calls[0]
        self.arguments: dict[str, cst.BaseExpression] = {}
        for place, argument in enumerate(self.call.args):
            if argument.star:
                raise CannotEdit("the decorator's arguments are handed on as a whole")
            name = argument.keyword.value if argument.keyword else _ARGUMENTS[place] if place < len(_ARGUMENTS) else ""
            self.arguments[name] = argument.value
        self.listed: cst.BaseExpression | None = None

    def entries(self) -> list[cst.BaseElement]:
        """The list's entries, where it is written out and belongs to this kernel alone. Raises CannotEdit."""
        found: cst.BaseExpression | None = self.arguments.get("configs")
        if isinstance(found, cst.Name):
            found = self._assigned(found.value)
        self.listed = found
        if not isinstance(found, (cst.List, cst.Tuple)) or any(isinstance(one, cst.StarredElement) for one in found.elements):
            raise CannotEdit("the list is not written out")
        return list(found.elements)

    def _assigned(self, name: str) -> cst.BaseExpression:
        values = [
            node.value for node in self.text.nodes(cst.Assign)
            if any(isinstance(target.target, cst.Name) and target.target.value == name for target in node.targets)
        ]  # fmt: skip
        if len(values) != 1 or sum(node.value == name for node in self.text.nodes(cst.Name)) != 2:
            raise CannotEdit(f"{name} is used by others, too")
        return values[0]

    def without(self, dead: Collection[int], of: int) -> list[Edit]:
        """Edits that remove the entries at ``dead`` of a list of ``of``. Raises CannotEdit."""
        entries = self.entries()
        if len(entries) != of:
            raise CannotEdit("the list is not written out as it is evaluated")
        tail = next(place for place in range(of, 0, -1) if place - 1 not in dead) if len(dead) < of else 0
        comma_at_end = self.text.utf8[self.text.span(entries[-1].value)[1] :].lstrip().startswith(b",")
        left = [place for place in range(of) if place not in dead]
        needs_comma = isinstance(self.listed, cst.Tuple) and len(left) == 1 and not comma_at_end
        if not 0 < tail < of or self._on_own_lines(entries[tail]):
            end = self.text.span(entries[left[0]].value)[1] if left else 0
            comma = [Edit(end, end, ",")] if needs_comma and left == [of - 1] else []
            return [*(self._removed(entries, place) for place in sorted(dead)), *comma]
        end = self.text.span(entries[-1].value)[1]
        last = Edit(self.text.span(entries[tail - 1].value)[1], end, "," if needs_comma else "")
        return [*(self._removed(entries, place) for place in sorted(dead) if place < tail), last]

    def _on_own_lines(self, entry: cst.BaseElement) -> bool:
        start = self.text.span(entry.value)[0]
        return not self.text.utf8[self.text.line_starts[self.text.line_of(start) - 1] : start].strip()

    def _removed(self, entries: list[cst.BaseElement], place: int) -> Edit:
        """One entry with its comma, and with its lines where nothing else stands on them."""
        text = self.text
        start, end = text.span(entries[place].value)
        if place + 1 < len(entries):
            until = text.span(entries[place + 1].value)[0]
            comma = text.utf8.index(b",", end, until) + 1
        else:
            rest = text.utf8[end:].lstrip()
            comma = end + text.utf8[end:].index(b",") + 1 if rest.startswith(b",") else end
        first = text.line_starts[text.line_of(start) - 1]
        line = text.line_of(max(comma - 1, start))
        following = text.line_starts[line] if line < len(text.line_starts) else len(text.utf8)
        after = text.utf8[comma:following].strip()
        if self._on_own_lines(entries[place]) and (not after or after.startswith(b"#")):
            return Edit(first, following, "")
        if place + 1 < len(entries):
            return Edit(start, until if text.line_of(until) == line else comma, "")
        return Edit(start, comma, "")

    def with_pruning(self) -> list[Edit]:
        """The decorator with ``smem_lint.prune``, and its import. Raises CannotEdit where it prunes already."""
        if "prune_configs_by" in self.arguments or not self.call.args:
            raise CannotEdit("the decorator prunes already" if self.call.args else "the decorator has no arguments")
        last = self.call.args[-1].value
        end = self.text.span(last)[1]
        first = self.text.span(self.call.args[0])[0]
        indent = self.text.newline + self.text.indentation(first) if self.text.line_of(first) != self.text.line_of(end) else " "
        return [Edit(end, end, f",{indent}{_PRUNE}"), *importing(self.text, "smem_lint")]
