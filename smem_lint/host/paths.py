"""Paths through host code: what was decided where a value is not known, and every other way it could have gone.

A path is replayed from the start for each combination of decisions, so nothing has to be copied or undone. Within one
path an answer holds: the same condition asked twice goes the same way, and a comparison with a constant narrows the range
of what was compared.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from smem_lint.host.comparisons import KINDS, negated, parts_of
from smem_lint.host.limits import Abandoned, Limits, TooMuch, Undecided
from smem_lint.host.ranges import range_of
from smem_lint.host.values import UNKNOWN, Assumed, DType, EnumMember, Symbol, Tensor, assumed, describe

_ASPECT = re.compile(r"(.+\(…\)#\d+)\.(shape|dtype|ndim|size|stride)(?:\[(-?\d+)\]|\((-?\d+)\))?")

_FILE = re.compile(r"(os\.path\.)?(exists|isfile|is_file)\(")
"""Whether a file is there whose name could not be worked out."""


class Chooser(Protocol):
    """Values for symbols that a profile knows: label and value for each scenario, or None."""

    def __call__(self, path: Path, symbol: Symbol) -> Any: ...


@dataclass(slots=True)
class Decision:
    taken: int
    options: int
    subject: str = ""
    """The size whose range is narrowed, where that is what is decided."""
    listed: bool = False
    """Whether it is decided which of the entries of a table is meant."""


@dataclass(eq=False)
class Path:
    """One way through the code. ``when`` lists what was assumed, in the order in which it came up."""

    limits: Limits
    prefix: list[int] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    memo: dict[str, Any] = field(default_factory=dict)
    bounds: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    excluded: dict[str, set[Any]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    domains: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    when: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    chooser: Chooser | None = None
    _settled: dict[int, tuple[int, Symbol, Any]] = field(default_factory=dict)
    put_off: dict[str, Callable[[str, int | None], Any]] = field(default_factory=dict)
    """Tensors that calls give, by the symbols that stand for them: what is known of one once the call is followed."""
    nothing_given: bool = False
    """Whether an optional argument is first taken to be None rather than given."""
    fruitless: bool = False
    """Set by who explores: the path showed nothing that others had not."""
    conditional: int = 0
    """Above zero a branch is followed that may not be taken: nothing is learnt from what it takes for granted."""
    told: list[tuple[str, Any]] = field(default_factory=list)
    """What was noted of ranks under a condition, with what was known before."""
    frozen: int = 0
    """Above zero nothing is decided: what would have to be raises ``Undecided``."""

    def choose(self, options: int, subject: str = "", listed: bool = False) -> int:
        """One of several ways to go on; the first time, the first. ``subject`` is a size that is narrowed by it; entries that a table
        lists do not count as paths."""
        if self.frozen:
            raise Undecided("a value that is not known")
        place = len(self.decisions)
        if place >= self.limits.decisions:
            raise TooMuch("too many undecided branches on one path")
        taken = self.prefix[place] if place < len(self.prefix) else 0
        self.decisions.append(Decision(taken, options, subject, listed))
        return taken

    # values

    def value(self, symbol: Symbol) -> Any:
        """The value of a symbol as far as this path has fixed it: a known value, or a symbol. Decides nothing."""
        if symbol.text in self.values:
            return self.values[symbol.text]
        if symbol.operation is None or symbol.kind == "later":
            return symbol
        epoch = len(self.values) + len(self.memo)
        held = self._settled.get(id(symbol))
        if held is not None and held[0] == epoch and held[1] is symbol:
            return held[2]
        result = self._settle(symbol)
        self._settled[id(symbol)] = (epoch, symbol, result)
        return result

    def _settle(self, symbol: Symbol) -> Any:
        assert symbol.operation is not None
        if symbol.kind == "if":
            condition = self.settle(symbol.operands[0])
            if isinstance(condition, Symbol):
                condition = self.memo.get(condition.text, condition)
            return symbol if isinstance(condition, Symbol) or condition is UNKNOWN else self.settle(symbol.operands[1 if condition else 2])
        operands = []
        for operand in symbol.operands:
            new = self.value(operand) if isinstance(operand, Symbol) else operand
            if isinstance(new, Symbol) or new is UNKNOWN:
                return symbol
            operands.append(new)
        return apply(symbol, operands)

    def later(self, symbol: Symbol) -> Any:
        """The result of a call that was put off, worked out now, with decisions where they are needed."""
        if symbol.text not in self.values:
            if self.frozen:
                raise Undecided(symbol.reason)
            assert symbol.operation is not None
            self.values[symbol.text] = symbol.operation()
        return self.values[symbol.text]

    def settle(self, value: Any) -> Any:
        """``value`` with what this path has fixed put in."""
        return self.value(value) if isinstance(value, Symbol) else value

    def concrete(self, value: Any, depth: int = 0) -> Any:
        """``value`` made as definite as decisions and the profile can make it; what is left of it stays a symbol."""
        settled = self.settle(value)
        if not isinstance(settled, Symbol) or depth > 40:
            return settled
        symbol = settled
        if symbol.kind == "if":
            return self.concrete(symbol.operands[1 if self.truth(symbol.operands[0]) else 2], depth + 1)
        if symbol.kind in ("and", "or", "not", *KINDS):
            return self.truth(symbol)
        if symbol.kind == "later":
            return self.concrete(self.later(symbol), depth + 1)
        if symbol.operation is None:
            if self._from_call(symbol):
                return self.concrete(self.value(symbol), depth + 1)
            if self.chooser is not None and self.chooser(self, symbol):
                return self.value(symbol)
            return symbol
        operands = [self.concrete(operand, depth + 1) for operand in symbol.operands]
        if not any(isinstance(operand, Symbol) or operand is UNKNOWN for operand in operands):
            return apply(symbol, operands)
        if all(new is old for new, old in zip(operands, symbol.operands, strict=True)):
            return symbol
        return Symbol(symbol.text, symbol.reason, operation=symbol.operation, operands=tuple(operands), line=symbol.line,
                      low=symbol.low, kind=symbol.kind)  # fmt: skip

    def learn_rank(self, owner: str, rank: int) -> None:
        """Note how many dimensions a tensor has; under a condition so that it can be forgotten."""
        note = f"rank {owner}"
        if self.conditional and self.notes.get(note) != rank:
            self.told.append((note, self.notes.get(note)))
        self.notes[note] = rank

    def forget_ranks(self) -> None:
        """Undo what was learnt of ranks under a condition."""
        while self.told:
            note, before = self.told.pop()
            if before is None:
                del self.notes[note]
            else:
                self.notes[note] = before

    # conditions

    def truth(self, condition: Any) -> bool:
        """Whether a condition holds on this path; decides, and remembers, where that is open."""
        if condition is UNKNOWN:
            return self._fork("?", None)
        if isinstance(condition, Tensor):
            return True
        if not isinstance(condition, Symbol):
            return bool(condition)
        settled = self.value(condition)
        if settled is UNKNOWN:
            return self._fork(condition.text, condition)
        if not isinstance(settled, Symbol):
            return bool(settled)
        if settled.kind == "not":
            return not self.truth(settled.operands[0])
        if settled.kind == "later":
            return self.truth(self.later(settled))
        if settled.kind == "if":
            return self.truth(settled.operands[1 if self.truth(settled.operands[0]) else 2])
        if settled.kind in ("and", "or"):
            wanted = settled.kind == "or"
            for operand in settled.operands:
                if not isinstance(operand, Symbol) or operand.kind not in ("later", "if"):
                    break
                if self.truth(operand) is wanted:
                    return wanted
            at_once = self._joint(settled, wanted)
            if at_once is not None:
                return at_once
            for operand in settled.operands:
                if self.truth(operand) is wanted:
                    return wanted
            return not wanted
        if settled.text in self.memo:
            return bool(self.memo[settled.text])
        if self.chooser is not None and not self._is_left_out(settled) and self._by_scenario(settled):
            return self.truth(settled)
        return self._compare(settled)

    def _joint(self, symbol: Symbol, wanted: bool) -> bool | None:
        """Decide ``a or b or …`` (``and``) by one choice: which part settles it, or none. None where that is not how to do it.

        What several optional arguments being given leads to is then one decision away, not several.
        """
        if symbol.text in self.memo:
            return bool(self.memo[symbol.text])
        open_parts = [part for part in symbol.operands if isinstance(part, Symbol) and self.known(part) is None]
        parts = [part for part in open_parts if parts_of(part) is not None]
        if len(parts) < 3 or any(not isinstance(part, Symbol) and part is not (not wanted) for part in symbol.operands):
            return None
        if self.known(symbol) is not None or (self.chooser is not None and any(self._by_scenario(part) for part in parts)):
            return None
        first = parts[0]
        usual = self.nothing_given if first.kind == "is" else not self.nothing_given if first.kind == "is not" else True
        options: list[int | None] = [*range(len(parts)), None] if usual is wanted else [None, *range(len(parts))]
        deciding = options[self.choose(len(options))]
        for place, part in enumerate(parts):
            if deciding is None or place < deciding:
                self.assume(part, not wanted)
                self.when.append(negated(part.text) if wanted else part.text)
            elif place == deciding:
                self.assume(part, wanted)
                self.when.append(part.text if wanted else negated(part.text))
        outcome = wanted if deciding is not None else not wanted
        if deciding is None:
            for part in open_parts:
                if parts_of(part) is None:
                    self._suppose(part, not wanted)
        self.memo[symbol.text] = outcome
        return outcome

    def is_used(self, symbol: Symbol) -> None:
        """Learn from ``symbol.name`` or ``symbol(…)`` that it is not None: the program would end there."""
        if symbol.is_base and not self.conditional and not self.frozen:
            self.memo.setdefault(f"{symbol.text} is None", False)

    def _suppose(self, condition: Any, holds: bool) -> None:
        """Take the simplest way for a condition to hold (or not), without a decision of its own."""
        settled = self.value(condition) if isinstance(condition, Symbol) else condition
        if not isinstance(settled, Symbol) or self.known(settled) is not None:
            return
        if settled.kind == "not":
            self._suppose(settled.operands[0], not holds)
        elif settled.kind in ("and", "or") and holds is not (settled.kind == "and"):
            part = next((part for part in settled.operands if isinstance(part, Symbol) and self.known(part) is None), None)
            if part is not None:
                self._suppose(part, holds)
        else:
            self.when.append(settled.text if holds else negated(settled.text))
            self.assume(settled, holds)

    def known(self, condition: Symbol) -> bool | None:
        """Whether a condition holds as far as this path has settled it; decides nothing."""
        settled = self.value(condition)
        if not isinstance(settled, Symbol):
            return None if settled is UNKNOWN else bool(settled)
        if settled.text in self.memo:
            return bool(self.memo[settled.text])
        if settled.kind == "not":
            inner = self.known(settled.operands[0]) if isinstance(settled.operands[0], Symbol) else bool(settled.operands[0])
            return None if inner is None else not inner
        if settled.kind in ("and", "or"):
            wanted = settled.kind == "or"
            answers = [self.known(part) if isinstance(part, Symbol) else bool(part) for part in settled.operands]
            if wanted in answers:
                return wanted
            return None if None in answers else not wanted
        comparison = parts_of(settled)
        if comparison is None:
            return None
        kind, subject, constant = comparison
        positive = {"is not": "is", "!=": "=="}.get(kind, kind)
        answer = self.memo.get(f"{subject.text} {positive} {describe(constant)}")
        if answer is None:
            answer = self._known(positive, subject, constant)
        return answer if answer is None or positive == kind else not answer

    def assume(self, condition: Any, holds: bool) -> None:
        """Take a condition for granted: what a validation demands. Nothing is decided; raises ``Abandoned`` if it cannot be."""
        if not isinstance(condition, Symbol) or self.conditional:
            return
        known = self.known(condition)
        if known is not None:
            if known is not holds:
                raise Abandoned(f"{condition.text} cannot be {holds}")
            return
        settled = self.value(condition)
        if not isinstance(settled, Symbol):
            return
        if settled.kind == "not":
            self.assume(settled.operands[0], not holds)
        elif settled.kind in ("and", "or"):
            if holds is (settled.kind == "and"):
                for part in settled.operands:
                    self.assume(part, holds)
        elif settled.kind in ("in", "not in"):
            subject, options = settled.operands
            if holds is (settled.kind == "in") and isinstance(subject, Symbol) and isinstance(options, (tuple, list)):
                self.domains.setdefault(subject.text, tuple(options))
        else:
            self.memo[settled.text] = holds
            comparison = parts_of(settled)
            if comparison is not None:
                kind, subject, constant = comparison
                positive = {"is not": "is", "!=": "=="}.get(kind, kind)
                truth = holds if positive == kind else not holds
                self.memo[f"{subject.text} {positive} {describe(constant)}"] = truth
                self._learn(positive, subject, constant, truth)

    def fix(self, symbol: Symbol, value: Any) -> None:
        """Give a symbol a value on this path that is supposed, and say so."""
        self.values[symbol.text] = assumed(value)
        self.when.append(f"{symbol.text} is {describe(value)}")

    def _by_scenario(self, symbol: Symbol) -> bool:
        """Let the profile give values to the base symbols of a condition; whether any got one."""
        if self.frozen:
            return False
        assert self.chooser is not None
        bases = [base for base in symbol.bases() if base.text not in self.values]
        chosen = False
        for base in bases:
            chosen = self._from_call(base) or bool(self.chooser(self, base)) or chosen
        return chosen

    def _from_call(self, symbol: Symbol) -> bool:
        """Give a base symbol the value that a call which was put off gives it; whether it has one."""
        if self.frozen or not self.put_off:
            return False
        found = _ASPECT.fullmatch(symbol.text)
        aspect = self.put_off.get(found.group(1)) if found is not None else None
        if found is None or aspect is None:
            return False
        index = found.group(3) or found.group(4)
        value = aspect(found.group(2), int(index) if index else None)
        if value is UNKNOWN or (isinstance(value, Symbol) and value.text == symbol.text):
            return False
        self.values[symbol.text] = value
        return True

    def _compare(self, symbol: Symbol) -> bool:
        comparison = parts_of(symbol)
        if comparison is None:
            if _FILE.match(symbol.text) and not isinstance(self, Strict):
                # What a file holds that is not known by name is not known either; tuned files are looked at one by one.
                self.memo[symbol.text] = False
                self.when.append(negated(symbol.text))
                return False
            # Two sizes that are both open: what a test of one against the other guards is the unusual case.
            outcome = self._fork(symbol.text, symbol, first=False if symbol.kind in _ORDER else self._usual(symbol))
            if outcome:
                self.memo[f"{symbol.text} is None"] = False
            return outcome
        kind, subject, constant = comparison
        if kind in ("is not", "!="):
            return not self._test("is" if kind == "is not" else "==", subject, constant, symbol)
        return self._test(kind, subject, constant, symbol)

    def _test(self, kind: str, subject: Symbol, constant: Any, symbol: Symbol) -> bool:
        text = f"{subject.text} {kind} {describe(constant)}"
        if text in self.memo:
            return bool(self.memo[text])
        known = self._known(kind, subject, constant)
        if known is not None:
            return known
        size = subject.text if kind in _ORDER else ""
        first = constant.name == "bfloat16" if isinstance(constant, DType) else self._by_default(kind, subject, constant)
        outcome = self._fork(text, symbol, first=first, size=size)
        self._learn(kind, subject, constant, outcome)
        return outcome

    def _known(self, kind: str, subject: Symbol, constant: Any) -> bool | None:
        low, high = self._range(subject) if subject.operands and isinstance(constant, int) else self._bound(subject)
        if high is None and subject.low is not None and isinstance(constant, int) and constant >= _HUGE:
            high = _HUGE - 1
        if kind in ("==", "is") and constant in self.excluded.get(subject.text, ()):
            return False
        if kind in ("is", "==") and constant is None and (subject.low is not None or _is_computed(subject)):
            return False
        if isinstance(constant, bool) or not isinstance(constant, (int, float)):
            return None
        if kind == "==":
            if (low is not None and constant < low) or (high is not None and constant > high):
                return False
            return None
        always = {"<": high is not None and high < constant, "<=": high is not None and high <= constant,
                  ">": low is not None and low > constant, ">=": low is not None and low >= constant}  # fmt: skip
        never = {"<": low is not None and low >= constant, "<=": low is not None and low > constant,
                 ">": high is not None and high <= constant, ">=": high is not None and high < constant}  # fmt: skip
        if always.get(kind):
            return True
        return False if never.get(kind) else None

    def _is_left_out(self, condition: Symbol) -> bool:
        """Whether the question is if an argument that callers may leave out is None: no published size answers that."""
        comparison = parts_of(condition)
        return comparison is not None and comparison[2] is None and self.notes.get(f"default {comparison[1].text}", UNKNOWN) is None

    def _usual(self, symbol: Symbol) -> bool | None:
        """How a flag is where the caller leaves it out; None where it says nothing."""
        default = self.notes.get(f"default {symbol.text}") if self.nothing_given else None
        return default if isinstance(default, bool) else None

    def _by_default(self, kind: str, subject: Symbol, constant: Any) -> bool | None:
        """How a comparison of an argument with a constant goes where the caller leaves the argument out; None where that is open."""
        default = self.notes.get(f"default {subject.text}") if self.nothing_given else None
        if default is None or constant is None or kind not in _COMPARED:
            return None
        try:
            return bool(_COMPARED[kind](default, constant))
        except TypeError:
            return None

    def _bound(self, symbol: Symbol) -> tuple[int | None, int | None]:
        return self.bounds.get(symbol.text, (symbol.low, None))

    def _range(self, symbol: Symbol) -> tuple[int | None, int | None]:
        return range_of(symbol, self._fixed)

    def _fixed(self, symbol: Symbol) -> tuple[int | None, int | None]:
        value = self.values.get(symbol.text)
        return (int(value), int(value)) if isinstance(value, int) else self._bound(symbol)

    def _learn(self, kind: str, subject: Symbol, constant: Any, outcome: bool) -> None:
        if kind in ("==", "is"):
            if outcome:
                self.values[subject.text] = constant
                if isinstance(constant, tuple) and subject.text.endswith(".shape"):
                    self.notes[f"rank {subject.text.removesuffix('.shape')}"] = len(constant)
            elif isinstance(constant, (int, str, bool, type(None), DType, EnumMember)):
                self.excluded.setdefault(subject.text, set()).add(constant)
            return
        if not isinstance(constant, int) or isinstance(constant, bool):
            return
        low, high = self.bounds.get(subject.text, (subject.low, None))
        if kind in ("<", "<="):
            edge = constant - 1 if kind == "<" else constant
            low, high = (low, _least(high, edge)) if outcome else (_most(low, edge + 1), high)
        elif kind in (">", ">="):
            edge = constant + 1 if kind == ">" else constant
            low, high = (_most(low, edge), high) if outcome else (low, _least(high, edge - 1))
        self.bounds[subject.text] = (low, high)
        if low is not None and low == high:
            self.values[subject.text] = low

    def _fork(self, text: str, symbol: Symbol | None, first: bool | None = None, size: str = "") -> bool:
        if text != "?" and text in self.memo:
            return bool(self.memo[text])
        if self.frozen:
            raise Undecided((symbol.reason or symbol.text) if symbol is not None else "a value that is not known")
        if first is None:
            subject, is_none, _ = text.rpartition(" is None")
            first = not is_none or (self.nothing_given and f"required {subject}" not in self.notes)
        outcome = (self.choose(2, size) == 0) is first
        self.memo[text] = outcome
        if symbol is not None:
            self.when.append(text if outcome else negated(text))
        return outcome


class Strict(Path):
    """No choices: what is not known raises ``Undecided``."""

    def choose(self, options: int, subject: str = "", listed: bool = False) -> int:
        raise Undecided("a value that is not known")

    def _fork(self, text: str, symbol: Symbol | None, first: bool | None = None, size: str = "") -> bool:
        raise Undecided((symbol.reason or symbol.text) if symbol is not None else "a value that is not known")


def apply(symbol: Symbol, operands: list[Any]) -> Any:
    """A symbol's operation on known operands; ``UNKNOWN`` where it fails."""
    assert symbol.operation is not None
    try:
        made = symbol.operation(*operands)
        return assumed(made) if any(type(operand) is Assumed for operand in operands) else made
    except TooMuch:
        raise
    except Exception:
        return UNKNOWN


_HUGE = 1 << 30
"""Sizes, strides and counts are taken to be smaller: above it only the width of indices changes."""

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "is": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ORDER = frozenset(("<", "<=", ">", ">="))
def _is_computed(symbol: Symbol) -> bool:
    return symbol.kind in ("+", "-", "*", "//", "%", "<<", "/")


def _least(first: int | None, second: int) -> int:
    return second if first is None else min(first, second)


def _most(first: int | None, second: int) -> int:
    return second if first is None else max(first, second)
