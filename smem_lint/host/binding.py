"""From a launch on a path to configs: each parameter of the kernel gets a constexpr value, a type, or a reason why not.

How arguments become types, constexprs and facts follows Triton 3.8.0, ``runtime/jit.py`` (``create_function_from_signature``)
and ``native_specialize_impl``: None and integers equal to 1 become constexprs, integers and addresses divisible by 16 say so,
a parameter annotated with a scalar type has that type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smem_lint.host.autotune import Autotune, heuristics_of, prunes_to_fit
from smem_lint.host.config import Config, Missing, json_value, short_name
from smem_lint.host.contiguous import Contiguous
from smem_lint.host.dtypes import bits
from smem_lint.host.early_pruning import LARGE, kept_configs
from smem_lint.host.evaluation import Evaluation, Launch
from smem_lint.host.kernel_facts import KernelFacts, facts_of
from smem_lint.host.kernel_needs import needed
from smem_lint.host.kernel_roles import TESTED, TILE, TURNS, names_asked, roles
from smem_lint.host.limits import Abandoned, Raised, Undecided
from smem_lint.host.outcomes import more_sizes
from smem_lint.host.profile import Profile
from smem_lint.host.quantised import operand_type, scheme_of_flag
from smem_lint.host.subscripts import item
from smem_lint.host.values import (
    UNKNOWN,
    Assumed,
    DType,
    EnumMember,
    Function,
    Instance,
    Kernel,
    Outside,
    Spread,
    Symbol,
    Tensor,
    TunedConfig,
    describe,
    words,
)

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_OTHER_OPTIONS = words(
    "grid warmup stream launch_pdl launch_cooperative_grid waves_per_eu matrix_instr_nonkdim kpack enable_fp_fusion pre_hook "
    "debug num_buffers_warp_spec num_consumer_groups reg_dec_producer reg_inc_consumer allow_fp8e4nv sanitize_overflow "
    "extern_libs cluster_dims maxnreg profile_scratch_size instrumentation_mode schedule_hint ir_override "
    "generate_native_code arch supported_fp8_dtypes deprecated_fp8_dot_operand_dtypes default_dot_input_precision "
    "allowed_dot_input_precisions max_num_imprecise_acc_default backend_name enable_reflect_ftz"
)


_FLAG = re.compile(
    r"(is|has|have|use|do|enable|apply|mul|even|need|return|store|save|load|add|with|write|output|compute|norm\w*|causal|inplace)(_.*)?",
    re.IGNORECASE,
)
_TYPE = re.compile(r".*(d?type)", re.IGNORECASE)
_SIZES = (LARGE, 1024, 128, 16384, 16)
_TURNS = (4, 2, 8)


@dataclass(slots=True)
class Bound:
    """A launch's arguments by the kernel's parameters, and its options."""

    values: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)


def configs_of_launch(run: Evaluation, launch: Launch, profile: Profile, autotune: Autotune | None) -> list[Config]:
    """The configs of one launch on this run's path: one, or one for each entry of the kernel's autotune list."""
    kernel = launch.kernel
    assert isinstance(kernel, Kernel)
    facts = facts_of(kernel)
    bound = _bind(run, launch, kernel, facts)
    listed = (autotune.configs if autotune.configs is not None else autotune.possible) if autotune is not None else None
    entries: list[TunedConfig | None] = list(listed) if listed is not None else [None]
    shared = _Shared(run, launch, kernel, facts, profile, bound)
    made = [shared.config(entry, place, len(entries), autotune) for place, entry in enumerate(entries)]
    if autotune is not None and prunes_to_fit(run.program, autotune):
        return [replace(config, prunes_to_fit=True) for config in made]
    kept, guard = kept_configs(run, launch, facts, autotune) if autotune is not None else (None, None)
    if kept is None:
        return made
    return [replace(config, pruned=not any(entry is one for one in kept), guard=guard) for config, entry in zip(made, entries, strict=True)]


def _bind(run: Evaluation, launch: Launch, kernel: Kernel, facts: KernelFacts) -> Bound:
    bound = Bound()
    for name, value in zip(facts.names, _spread_out(run, launch, facts), strict=False):
        bound.values[name] = value
    accepted = set(facts.names)
    for name, value in launch.kwargs.items():
        if name in accepted:
            bound.values[name] = value
        elif name in OPTIONS:
            bound.options[name] = run.path.concrete(value)
        elif name not in _OTHER_OPTIONS:
            bound.missing.append(Missing(name, f"{kernel.name} has no parameter {name}", launch.node.lineno))
    if not launch.complete:
        bound.missing.append(Missing("**", "arguments that are handed on as a whole are not known", launch.node.lineno))
        for name in ("num_warps", "num_stages"):
            if name not in bound.options:
                bound.missing.append(Missing(name, "it may be among arguments that are handed on as a whole", launch.node.lineno))
    return bound


def _spread_out(run: Evaluation, launch: Launch, facts: KernelFacts) -> list[Any]:
    """Positional arguments; one ``*value`` of unknown length is taken to fill what would else be missing."""
    args = list(launch.args)
    places = [place for place, value in enumerate(args) if isinstance(value, Spread)]
    if not places:
        return args
    place = places[0]
    missing = [name for name in facts.names if name not in launch.kwargs and name not in facts.defaults]
    count = len(missing) - (len(args) - 1)
    if len(places) > 1 or count < 0:
        return args[:place]
    value = args[place].value
    filled = [item(run, value, index, launch.node.lineno) if isinstance(value, Symbol) else UNKNOWN for index in range(count)]
    return [*args[:place], *filled, *args[place + 1 :]]


class _Shared:
    """What all entries of one launch have in common."""

    def __init__(self, run: Evaluation, launch: Launch, kernel: Kernel, facts: KernelFacts, profile: Profile, bound: Bound) -> None:
        self.run, self.launch, self.kernel, self.facts, self.profile, self.bound = run, launch, kernel, facts, profile, bound
        self.path = run.path
        self.heuristics = heuristics_of(run.program, kernel)
        self.tensors = {owner for value in bound.values.values() for owner in _owners(value)}
        self.contiguous = Contiguous(run.path, facts, profile, bound.values.values())
        self._settled: dict[str, Any] = {}
        self._open: set[str] = set()
        self._uses: dict[str, set[str]] | None = None
        for name, value in bound.options.items():
            settled = run.path.concrete(value)
            if isinstance(settled, Symbol):
                settled = self._by_default(name, settled)
            bound.options[name] = self._by_sizes("", settled) if isinstance(settled, Symbol) else settled

    def config(self, entry: TunedConfig | None, index: int, of: int, autotune: Autotune | None) -> Config:
        launch, kernel, facts = self.launch, self.kernel, self.facts
        values = dict(self.bound.values)
        given = self.bound.options.items()
        options = {name: int(value) if type(value) is Assumed else value for name, value in given if value is not None}
        tuned: dict[str, Any] = {}
        missing = list(self.bound.missing)
        if entry is not None:
            tuned = {name: json_value(value) for name, value in entry.kwargs.items()}
            for name, value in entry.kwargs.items():
                if name in facts.names:
                    values[name] = value
                elif name in OPTIONS:
                    options[name] = value
            for name in OPTIONS:
                given = getattr(entry, name)
                if given is not None:
                    options[name] = tuned[name] = given
        elif autotune is not None:
            missing.append(Missing("configs", autotune.reason, autotune.reason_line))
        self._heuristics(values, entry)
        constexprs: dict[str, Any] = {}
        types: dict[str, str] = {}
        attrs: dict[str, dict[str, int]] = {}
        for name in sorted(facts.names, key=lambda name: not self._tests_type(name, values)):
            self._parameter(name, values, constexprs, types, attrs, missing, tuned_by_list=entry is None and autotune is not None)
        self._refuse_none(constexprs)
        for name in OPTIONS:
            if name in options and not isinstance(options[name], int):
                missing.append(Missing(name, _reason(options.pop(name)), launch.node.lineno))
        line = autotune.line if entry is not None and autotune is not None else launch.node.lineno
        return Config(
            file=kernel.module.file if entry is not None else launch.module.file,
            line=line,
            column=(launch.node.col_offset if entry is None else 0) + 1,
            kernel=kernel.name,
            kernel_file=kernel.module.file,
            kernel_line=kernel.node.lineno,
            origin="autotune" if autotune is not None else "launch",
            index=index,
            of=of,
            constexprs=constexprs,
            assumed=self._assumed(constexprs, values),
            options=options,
            types=types,
            attrs=attrs,
            unresolved=tuple(missing),
            when=tuple(dict.fromkeys((*self.path.when, *launch.when, *_kept(entry, autotune)))),
            guarded=launch.guarded,
            launch=f"{launch.module.file}:{launch.node.lineno}",
            tuned=tuned,
            arguments=facts.names,
            tried=tuple((constexpr, text) for text, constexpr in self.path.notes.get("sizes tried", {}).items()),
        )

    def _refuse_none(self, constexprs: dict[str, Any]) -> None:
        """Leave a path on which an argument came to be None that the kernel cannot do without; one that is written so is let be."""
        call = self.launch.node
        written = {*(name for name, argument in zip(self.facts.names, call.args, strict=False) if _is_none(argument)),
                   *(keyword.arg for keyword in call.keywords if _is_none(keyword.value))}  # fmt: skip
        supposed = [name for name, value in constexprs.items() if value is None and name in self.bound.values and name not in written]
        if supposed and (lacking := needed(self.kernel.node, constexprs).intersection(supposed)):
            raise Abandoned(f"{self.kernel.name} takes no None for {', '.join(sorted(lacking))}")

    def _tests_type(self, name: str, values: dict[str, Any]) -> bool:
        """Whether a constexpr asks for the type of a tensor, or whether one is given: it goes both ways, before the tensor is taken for
        one of a likely type."""
        value = values.get(name)
        if name not in self.facts.constexprs or not isinstance(value, Symbol):
            return False
        return value.kind in ("is", "is not", "not", "and", "or") or any(base.text.endswith(".dtype") for base in value.bases())

    def _assumed(self, constexprs: dict[str, Any], values: dict[str, Any]) -> tuple[str, ...]:
        self._open.update(name for name in constexprs if name in values and self._rests_on_sizes(values[name]))
        self._open.update(name for name, value in constexprs.items() if type(value) is Assumed)
        constexprs.update({name: int(value) for name, value in constexprs.items() if type(value) is Assumed})
        return tuple(name for name in constexprs if name in self._open)

    def _rests_on_sizes(self, value: Any) -> bool:
        """Whether a value was worked out from something that the host code leaves open (a flag that it tests is not)."""
        while isinstance(value, Symbol) and value.kind == "if":
            value = value.operands[1 if self.path.truth(value.operands[0]) else 2]
        return isinstance(value, Symbol) and value.kind not in ("is", "is not", "not", "and", "or")

    def _heuristics(self, values: dict[str, Any], entry: TunedConfig | None) -> None:
        table = {**values, **(entry.kwargs if entry is not None else {})}
        for name, function in self.heuristics.items():
            try:
                values[name] = self.run.call(function, (dict(table),), {}, None, self.kernel.scope)
            except (Raised, Undecided):
                values[name] = Symbol(name, f"the heuristic for {name} could not be evaluated")
            table[name] = values[name]

    def _parameter(
        self, name: str, values: dict[str, Any], constexprs: dict[str, Any], types: dict[str, str], attrs: dict[str, dict[str, int]],
        missing: list[Missing], *, tuned_by_list: bool,
    ) -> None:  # fmt: skip
        facts = self.facts
        if name in values:
            value = self._value(name, values[name])
        elif name in facts.defaults:
            value = self._default(name)
        elif tuned_by_list and name in facts.constexprs:
            return
        else:
            missing.append(Missing(name, f"the launch gives no {name}", self.launch.node.lineno))
            return
        if name in facts.constexprs:
            if isinstance(value, (Symbol, Tensor)) or value is UNKNOWN or isinstance(value, (Instance, Outside)):
                missing.append(Missing(name, _reason(value), getattr(value, "line", 0) or self.launch.node.lineno))
            else:
                constexprs[name] = value if type(value) is Assumed else json_value(value.value if isinstance(value, EnumMember) else value)
            return
        self._runtime(name, value, constexprs, types, attrs)

    def _value(self, name: str, value: Any) -> Any:
        if name in self._settled and not isinstance(value, (int, str, float)):
            before, after = self._settled[name]
            if before is value:
                return after
        settled = self._settle(name, value)
        self._settled[name] = (value, settled)
        return settled

    def _settle(self, name: str, value: Any) -> Any:
        path, facts = self.path, self.facts
        settled = path.concrete(value) if name in facts.constexprs else path.settle(value)
        if isinstance(settled, Symbol) and settled.kind == "if" and not _all_numbers(settled):
            settled = path.concrete(settled)
        if isinstance(settled, Symbol) and name in facts.constexprs:
            if self.contiguous.is_last_stride(name, settled):
                return 1
            self.profile(path, settled, (name,))
            settled = path.settle(settled)
        if isinstance(settled, Symbol):
            settled = self._by_default(name, settled)
        if isinstance(settled, Symbol) and name in facts.constexprs:
            settled = self._flag_or_size(name, settled)
        return settled

    def _flag_or_size(self, name: str, symbol: Symbol) -> Any:
        """A flag goes both ways; sizes that nobody names are tried over powers of two."""
        path = self.path
        if symbol.is_base and symbol.text in path.memo:
            return path.memo[symbol.text]
        if symbol.is_base and _TYPE.fullmatch(name):
            path.fix(symbol, self.profile.model_dtype)
            return self.profile.model_dtype
        if symbol.is_base and symbol.low is None and (path.notes.get(f"flag {symbol.text}") or _FLAG.fullmatch(name)):
            value = path.choose(2) == 0
            path.fix(symbol, value)
            return value
        return self._by_sizes(name, symbol)

    def _by_sizes(self, name: str, symbol: Symbol) -> Any:
        path = self.path
        for base in symbol.bases():
            if base.text.endswith(".dtype") and isinstance(path.value(base), Symbol):
                path.fix(base, self.profile.pointer([base.text.removesuffix(".dtype")]) or self.profile.model_dtype)
            if base.low is not None and isinstance(path.value(base), Symbol):
                low, high = path.bounds.get(base.text, (base.low, None))
                options = [size for size in self._domain(base) if (low is None or size >= low) and (high is None or size <= high)]
                if not name:
                    options += [size for size in more_sizes(symbol, base, options, path.settle)
                                if (low is None or size >= low) and (high is None or size <= high)]  # fmt: skip
                options = options or [high if high is not None else max(low or 1, 1)]
                if len(options) > 1:
                    path.notes.setdefault("sizes tried", {})[base.text] = name if base is symbol else ""
                path.fix(base, options[path.choose(len(options))])
        return path.concrete(symbol)

    def _domain(self, base: Symbol) -> tuple[int, ...]:
        """Sizes to try for one that is not known: as many as what the kernel does with it makes worth while."""
        if self._uses is None:
            self._uses = self._uses_of_sizes()
        uses = self._uses.get(base.text, {TILE})
        return _TURNS if TURNS in uses else _SIZES if uses else _SIZES[:1]

    def _uses_of_sizes(self) -> dict[str, set[str]]:
        known = roles(self.kernel.node, self.kernel.module)
        asked = names_asked(self.heuristics.values(), self.facts.names)
        found: dict[str, set[str]] = {}
        for name, value in self.bound.values.items():
            if name in self.facts.constexprs and isinstance(value, Symbol):
                for base in value.bases():
                    found.setdefault(base.text, set()).update(known.get(name, {TILE}), {TESTED} if name in asked else ())
        for value in self.bound.options.values():
            for base in value.bases() if isinstance(value, Symbol) else ():
                found.setdefault(base.text, set()).add(TILE)
        return found

    def _by_default(self, name: str, symbol: Symbol) -> Any:
        """A parameter of the host function that callers may leave out: what it is worth then."""
        default = self.path.notes.get(f"default {symbol.text}", UNKNOWN)
        if default is UNKNOWN or not symbol.is_base:
            return symbol
        if default is None:
            known = self.path.memo.get(f"{symbol.text} is None")
            if known is None and name not in self.facts.constexprs:
                return symbol
            if known is not False:
                self.path.values[symbol.text] = None
                return None
            return symbol
        holds = self.path.memo.get(symbol.text)
        if isinstance(default, bool) and name in self.facts.constexprs:
            value = bool(holds) if holds is not None else default if self.path.choose(2) == 0 else not default
            self.path.fix(symbol, value)
            return value
        if holds is not None and bool(default) is not bool(holds):
            return symbol
        if (name in self.facts.constexprs or name in OPTIONS) and default not in self.path.excluded.get(symbol.text, ()):
            self.path.fix(symbol, default)
            return default
        return symbol

    def _default(self, name: str) -> Any:
        try:
            return self.run.path.concrete(self.run.expr(self.facts.defaults[name], self.kernel.scope))
        except (Raised, Undecided):
            return Symbol(name, f"the default of {name} is not known")

    # arguments that are no constexprs

    def _runtime(self, name: str, value: Any, constexprs: dict[str, Any], types: dict[str, str], attrs: dict[str, dict[str, int]]) -> None:
        facts = self.facts
        if value is None or isinstance(value, (str, DType, Function, tuple, list)):
            constexprs[name] = json_value(value) if not isinstance(value, Function) else {"repr": value.name}
        elif isinstance(value, Tensor) or self._is_pointer(name, value):
            self._pointer(name, value, types, attrs)
        elif name in facts.annotated:
            types[name] = facts.annotated[name]
            if facts.annotated[name][0] in "iu" and facts.annotated[name] != "u1" and not self.contiguous.is_last_stride(name, value):
                self._divisible(name, 16 if self.contiguous.aligned(name, value) else value, attrs)
        elif isinstance(value, bool):
            types[name] = "u1"
        elif isinstance(value, int):
            if value == 1 and name not in facts.not_specialized:
                constexprs[name] = 1
                return
            types[name] = "i32" if -(1 << 31) <= value < 1 << 31 else "i64"
            self._divisible(name, value, attrs)
        elif isinstance(value, float):
            types[name] = "fp32"
        else:
            self._open_scalar(name, value, constexprs, types, attrs)

    def _names(self, name: str, value: Any) -> list[str]:
        host = value.text if isinstance(value, Symbol) else value.name if isinstance(value, Tensor) else ""
        return [name, host] if host else [name]

    def _open_scalar(
        self, name: str, value: Any, constexprs: dict[str, Any], types: dict[str, str], attrs: dict[str, dict[str, int]]
    ) -> None:
        while isinstance(value, Symbol) and value.kind == "if":
            value = value.operands[1] if isinstance(value.operands[1], Symbol) else value.operands[2]
        if isinstance(value, Symbol) and value.low is None and value.kind != "call":
            known = self.profile.scalar(self._names(name, value))
            if known is not None:
                types[name] = known
                return
        if self.contiguous.is_last_stride(name, value) and name not in self.facts.not_specialized:
            constexprs[name] = 1
            return
        types[name] = "i32"
        if self.contiguous.aligned(name, value):
            self._divisible(name, 16, attrs)

    def _divisible(self, name: str, value: Any, attrs: dict[str, dict[str, int]]) -> None:
        if name in self.facts.not_specialized or name in self.facts.not_aligned:
            return
        if isinstance(value, int) and value % 16 == 0:
            attrs[name] = {"tt.divisibility": 16}

    def _is_pointer(self, name: str, value: Any) -> bool:
        if not isinstance(value, Symbol):
            return value is UNKNOWN and name in self.facts.pointers
        if _all_numbers(value):
            return False
        if value.low is not None or value.kind not in ("", "if"):
            return False
        return name in self.facts.pointers or (name not in self.facts.annotated and value.text in self.tensors)

    def _pointer(self, name: str, value: Any, types: dict[str, str], attrs: dict[str, dict[str, int]]) -> None:
        names = self._names(name, value)
        dtype = self.path.settle(value.dtype) if isinstance(value, Tensor) else self._symbol_type(value)
        if not isinstance(dtype, DType) and name in self.facts.integers and not self.profile.is_cache(names):
            types[name] = f"*{self.facts.integers[name]}"
            if name not in self.facts.not_specialized and name not in self.facts.not_aligned:
                attrs[name] = {"tt.divisibility": 16}
            return
        if self.profile.is_cache(names) and self.facts.mentions_fp8:
            if isinstance(dtype, DType):
                self.path.notes.setdefault("kv cache", (dtype.name, "as the other cache"))
            else:
                dtype = self._cache_type(name, value, dtype)
        if not isinstance(dtype, DType):
            text = dtype.text if isinstance(dtype, Symbol) else f"{name}.dtype"
            dtype = self.path.concrete(dtype) if isinstance(dtype, Symbol) else dtype
            if not isinstance(dtype, DType):
                dtype = self._quantised(name, names) or self.profile.pointer(names) or self.profile.model_dtype
                self.path.values[text] = dtype
        types[name] = f"*{short_name(dtype)}"
        if name not in self.facts.not_specialized and name not in self.facts.not_aligned:
            attrs[name] = {"tt.divisibility": 16}

    def _quantised(self, name: str, names: Sequence[str]) -> DType | None:
        """The type of an operand where a flag of the kernel says that it is quantised."""
        for flag in self.facts.constexprs:
            scheme = scheme_of_flag(flag)
            if scheme and flag in self.bound.values and self._value(flag, self.bound.values[flag]) is True:
                found = operand_type(scheme, names)
                if found:
                    self.path.when.append(f"{name} is {short_name(DType(found))} ({flag})")
                return DType(found) if found else None
        return None

    def _symbol_type(self, value: Any) -> Any:
        if not isinstance(value, Symbol):
            return UNKNOWN
        return self.path.settle(Symbol(f"{value.text}.dtype", f"the type of {value.text}"))

    def _cache_type(self, name: str, value: Any, dtype: Any) -> Any:
        """The KV cache's type: all caches of a launch follow one scenario."""
        scenarios = self.profile.cache_scenarios
        chosen = self.path.notes.get("kv cache")
        if chosen is None:
            chosen = self.path.notes["kv cache"] = scenarios[self.path.choose(len(scenarios))]
        wanted, label = chosen
        if not wanted:
            return dtype
        if isinstance(dtype, Symbol) and DType(wanted) in self.path.excluded.get(dtype.text, ()):
            raise Abandoned(f"{dtype.text} is not {wanted} on this path")
        self.path.when.append(f"{name} is {short_name(DType(wanted))} ({label})")
        if isinstance(dtype, Symbol):
            self.path.values[dtype.text] = DType(wanted)
        return DType(wanted)


def _is_none(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and argument.value is None


def _kept(entry: TunedConfig | None, autotune: Autotune | None) -> tuple[str, ...]:
    """What an entry of a list that is only possible rests on."""
    if entry is None or autotune is None or autotune.configs is not None:
        return ()
    return (f"the list of configs keeps it ({autotune.reason})",)


def _owners(value: Any) -> Iterator[str]:
    """The tensors whose sizes and strides a value is made of."""
    for base in value.bases() if isinstance(value, Symbol) else ():
        for part in (".stride(", ".shape"):
            owner, found, _ = base.text.partition(part)
            if found:
                yield owner


def _all_numbers(value: Any) -> bool:
    """Whether a value is an open number whichever way the conditions in it go, so that nothing need be decided."""
    if isinstance(value, Symbol) and value.kind == "if":
        return _all_numbers(value.operands[1]) and _all_numbers(value.operands[2])
    if isinstance(value, Symbol):
        return value.low is not None or value.kind in ("+", "-", "*", "//", "%", "call")
    return isinstance(value, int) and not isinstance(value, bool)


def _reason(value: Any) -> str:
    if isinstance(value, Symbol):
        return value.reason or f"{value.text} is not known"
    return f"{describe(value)} is no constant" if value is not UNKNOWN else "it is not known"


_ = bits
