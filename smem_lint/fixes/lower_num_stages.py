"""``lower-num-stages``: a launch keeps its ``num_stages`` where it fits, and takes fewer where it does not.

The launch gets an ``if`` before it that asks for the element type and sizes which overflow and for the device's own limit, so that
types, shapes and devices that fit are left as they were. Where that cannot be said the number itself is lowered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from smem_lint.fixes.guard import TORCH_TYPES, Condition
from smem_lint.fixes.imports import importing
from smem_lint.fixes.text import CannotEdit, Edit, Text

OPTION = "num_stages"
_FRESH = "fitting_stages"
_DEFAULT, _DEFAULT_OF_AMD = 3, 2
"""What a launch without ``num_stages`` gets: the ``num_stages`` of ``CUDAOptions`` and ``HIPOptions``, Triton 3.8.0."""

_NOT_AMD = "torch.version.hip is None"
"""PyTorch gives the properties of AMD's devices without the opt-in limit."""

_DOES_SOMETHING = (cst.Call, cst.Await, cst.NamedExpr, cst.Yield, cst.Lambda, cst.StarredElement)
_NOT_AT_ONCE = (
    cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.IfExp, cst.BooleanOperation,
)  # fmt: skip
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Step:
    """``stages``, which ask for ``bytes``, on devices that have less than ``below`` bytes a block."""

    stages: int
    bytes: int
    below: int


@dataclass(frozen=True, slots=True)
class Lowering:
    """``steps`` from the most stages to the fewest; the first one's ``below`` is what the launch now asks for.

    ``pointers`` are the kernel's arguments that are tensors.
    """

    steps: tuple[Step, ...]
    pointers: tuple[str, ...]

    @property
    def fewest(self) -> int:
        return self.steps[-1].stages

    def __str__(self) -> str:
        told = ", ".join(f"{one.bytes:,} with {OPTION}={one.stages}" for one in self.steps)
        return f"{self.steps[0].below:,} bytes of shared memory a block; {told}"


class Launch:
    """A launch in a file, at a line and column. Raises CannotEdit where it is not an ordinary call in a statement of its own."""

    def __init__(self, text: Text, line: int, column: int, arguments: Sequence[str]) -> None:
        self.text = text
        start = text.offset(line, column)
        calls = [node for node in text.nodes(cst.Call) if text.span(node)[0] == start]
        if not calls:
            raise CannotEdit("the launch was not found")
        self.call = max(calls, key=lambda node: text.span(node)[1])
        self.statement = self._statement()
        self.function = next((one for one in text.ancestors(self.statement) if isinstance(one, cst.FunctionDef)), None)
        self.given = self._given(arguments)

    def _statement(self) -> cst.SimpleStatementLine:
        for above in self.text.ancestors(self.call):
            if isinstance(above, _NOT_AT_ONCE):
                raise CannotEdit("the launch may not be reached by the statement that it stands in")
            if isinstance(above, cst.SimpleStatementLine):
                if len(above.body) > 1:
                    raise CannotEdit("several statements stand on the launch's line")
                return above
            if isinstance(above, (cst.BaseCompoundStatement, cst.SimpleStatementSuite)):
                break
        raise CannotEdit("the launch is no statement of its own")

    def _given(self, arguments: Sequence[str]) -> dict[str, cst.BaseExpression]:
        """The expression that each argument of the kernel is given, as far as that is plain."""
        found: dict[str, cst.BaseExpression] = {}
        plain = True
        for place, argument in enumerate(self.call.args):
            plain = plain and not argument.star
            if argument.keyword is not None:
                found[argument.keyword.value] = argument.value
            elif plain and not argument.star and place < len(arguments):
                found[arguments[place]] = argument.value
        return found

    def names(self) -> frozenset[str]:
        """The kernel's arguments that host code has a name for."""
        return frozenset(name for name, value in self.given.items() if isinstance(value, (cst.Name, cst.Attribute, cst.Subscript)))

    def spelled(self, name: str) -> str:
        return self.text.code(self.given[name])

    def lowered(self, plan: Lowering, guard: Sequence[Condition] | None) -> list[Edit]:
        """Edits that lower ``num_stages`` under ``guard`` and the device's limit; ``guard`` None: whatever the device."""
        value = self.given.get(OPTION)
        if value is None and any(argument.star == "**" for argument in self.call.args):
            raise CannotEdit("its num_stages may be among arguments that are handed on as a whole")
        if value is not None and self._does_something(value):
            raise CannotEdit("its num_stages is no plain value")
        if guard is None and value is None and plan.fewest < _DEFAULT_OF_AMD:
            raise CannotEdit("its num_stages is left to Triton, which takes another for AMD's GPUs")
        if guard is None and (value is None or isinstance(value, cst.Integer)):
            return [self._passing(str(plan.fewest))]
        own = isinstance(value, cst.Name) and not self._used_elsewhere(value)
        variable = value.value if own and isinstance(value, cst.Name) else self._fresh()
        lines = [f"# {plan}"]
        if guard is None:
            source = self._source(value)
            return [self._before([*lines, f"{variable} = min({source}, {plan.fewest})"]), *([] if own else [self._passing(variable)])]
        if not own:
            lines.insert(0, f"{variable} = {self._source(value)}")
        literal = value is None or isinstance(value, cst.Integer)
        query = f"torch.cuda.get_device_properties({self._device(plan, guard)}).shared_memory_per_block_optin"
        tests = self._tests(plan, guard, None if literal else variable)
        lines += self._branch([*tests, f"{query} < {plan.steps[0].below:_}"], self._body(plan, variable, query, literal))
        return [self._before(lines), *([] if own else [self._passing(variable)]), *importing(self.text, "torch")]

    def _does_something(self, value: cst.CSTNode) -> bool:
        """Whether evaluating a value before the other arguments could matter."""
        return isinstance(value, _DOES_SOMETHING) or any(map(self._does_something, value.children))

    def _source(self, value: cst.BaseExpression | None) -> str:
        if value is None:
            return f"{_DEFAULT} if {_NOT_AMD} else {_DEFAULT_OF_AMD}"
        code = self.text.code(value)
        return f"({code})" if "\n" in code and not code.startswith("(") else code

    def _tests(self, plan: Lowering, guard: Sequence[Condition], variable: str | None) -> list[str]:
        tests = [f"{variable} > {plan.fewest}"] if variable else []
        return [*tests, _NOT_AMD, *(self._test(one) for one in guard)]

    def _device(self, plan: Lowering, guard: Sequence[Condition]) -> str:
        tensors = [one.name for one in guard if one.types] + [one for one in plan.pointers if one in self.names()]
        return f"{self.spelled(tensors[0])}.device" if tensors else "torch.cuda.current_device()"

    def _body(self, plan: Lowering, variable: str, query: str, literal: bool) -> list[str]:
        first, *others = plan.steps
        plainly = literal or not others
        lines = [f"{variable} = {first.stages}" if plainly else f"{variable} = min({variable}, {first.stages})"]
        for step in others:
            lines += [f"if {query} < {step.below:_}:", f"{self.text.module.default_indent}{variable} = {step.stages}"]
        return lines

    def _test(self, one: Condition) -> str:
        subject = self.spelled(one.name)
        if one.types:
            types = [f"torch.{TORCH_TYPES[kind]}" for kind in one.types]
            return f"{subject}.dtype == {types[0]}" if len(types) == 1 else f"{subject}.dtype in ({', '.join(types)})"
        if one.flag is not None:
            return subject if one.flag else f"not {subject}"
        return f"{subject} >= {one.least}"

    def _branch(self, tests: Sequence[str], body: Sequence[str]) -> list[str]:
        unit = self.text.module.default_indent
        then = [unit + line for line in body]
        at_once = f"if {' and '.join(tests)}:"
        if len(self._indent) + len(at_once) <= _WIDTH or len(tests) == 1:
            return [at_once, *then]
        return ["if (", unit + tests[0], *(f"{unit}and {test}" for test in tests[1:]), "):", *then]

    @property
    def _indent(self) -> str:
        return self.text.indentation(self.text.span(self.statement)[0])

    def _before(self, lines: Sequence[str]) -> Edit:
        start = self.text.line_starts[self.text.line_of(self.text.span(self.statement)[0]) - 1]
        return Edit(start, start, "".join(f"{self._indent}{line}{self.text.newline}" for line in lines))

    def _passing(self, value: str) -> Edit:
        """The launch with ``num_stages=value``."""
        given = self.given.get(OPTION)
        if given is not None:
            return Edit(*self.text.span(given), value)
        if not self.call.args:
            raise CannotEdit("the launch has no arguments")
        start, end = self.text.span(self.call.args[-1])[0], self.text.span(self.call.args[-1].value)[1]
        line = self.text.utf8[self.text.line_starts[self.text.line_of(start) - 1] : start]
        between = " " if line.strip() else self.text.newline + line.decode()
        return Edit(end, end, f",{between}{OPTION}={value}")

    def _used_elsewhere(self, name: cst.Name) -> bool:
        """Whether a variable is read after the launch, or belongs to more than the function: lowering it would reach further."""
        if self.function is None:
            return True
        end = self.text.span(self.statement)[1]
        first, last = self.text.span(self.function)
        if any(isinstance(one, (cst.For, cst.While)) for one in self.text.ancestors(self.statement)):
            return True
        if any(isinstance(one, (cst.Global, cst.Nonlocal)) for one in self._within(self.function)):
            return True
        places = [
            self.text.span(node)[0] for node in self.text.nodes(cst.Name)
            if node.value == name.value and not self._is_keyword(node)
        ]  # fmt: skip
        stored = any(first < place < end and self._is_stored(place) for place in places)
        parameter = any(one.name.value == name.value for one in (*self.function.params.params, *self.function.params.kwonly_params))
        return not (stored or parameter) or any(end <= place < last for place in places)

    def _within(self, function: cst.FunctionDef) -> list[cst.CSTNode]:
        first, last = self.text.span(function)
        nodes: list[cst.CSTNode] = [*self.text.nodes(cst.Global), *self.text.nodes(cst.Nonlocal)]
        return [node for node in nodes if first <= self.text.span(node)[0] < last]

    def _is_keyword(self, node: cst.Name) -> bool:
        above = self.text.parent(node)
        return (isinstance(above, cst.Arg) and above.keyword is node) or (isinstance(above, cst.Attribute) and above.attr is node)

    def _is_stored(self, place: int) -> bool:
        return any(self.text.span(node)[0] == place for node in self.text.nodes(cst.AssignTarget))

    def _fresh(self) -> str:
        """A name that the file does not use."""
        used = {node.value for node in self.text.nodes(cst.Name) if not self._is_keyword(node)}
        names = (OPTION, _FRESH, *(f"{_FRESH}_{number}" for number in range(2, 100)))
        return next(name for name in names if name not in used)
