"""One way in which host code can launch a kernel: what ``smem-lint configs`` prints, and what becomes a specialization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from smem_lint.host.values import Assumed, DType
from smem_lint.specialization import DEFAULT_NUM_STAGES, DEFAULT_NUM_WARPS, Specialization

Origin = Literal["autotune", "launch", "tuned-json"]

_SHORT = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8e4nv": "fp8e4nv", "float8e5": "fp8e5",
    "float8e4b8": "fp8e4b8", "float8e5b16": "fp8e5b16", "float8e4b15": "fp8e4b15", "int1": "i1", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


def short_name(dtype: DType) -> str:
    """A type as Triton's signatures write it: ``bf16``, ``fp8e4nv``, ``i32``."""
    return _SHORT.get(dtype.name, dtype.name)


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that host code leaves open: its name, why it is not known, and the line that says so (0 where none does)."""

    name: str
    reason: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Guard:
    """A hand-written function that prunes by shared memory: where its byte test stands (line and column from 1), and its text.

    ``alone`` says that it prunes for no other reason, so that what it turns away it turns away for its bytes.
    """

    file: str
    line: int
    column: int
    name: str
    text: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """One entry of an autotune list, the options of one launch on one path, or one entry of a tuned file.

    ``file``, ``line``, ``column`` name the list, the launch or the entry; ``launch`` is ``file:line`` of the call that
    launches (empty where none was found). ``index`` counts within ``of`` alternatives. ``types`` gives each argument that is
    no constexpr its type as Triton writes it, ``attrs`` its facts. ``tuned`` holds what the list or file itself sets.
    ``assumed`` names the constexprs whose value rests on sizes that a profile gave, not on the host code alone.
    ``device_name`` is the device that a tuned file is named for. ``when`` says under which assumptions the config is
    reached; ``guarded`` that a failure to launch is caught; ``prunes_to_fit`` that its list is given to ``smem_lint.prune`` first.
    ``guard`` is the list's own pruning by bytes, where it was evaluated: ``pruned`` says what it decided.
    ``tried`` names the sizes that nothing is known of, and which were tried out over powers of two; each with the constexpr that it
    is (empty for one that goes into others).
    ``cut`` says at which limit the search for further configs of the same launch ended; empty where every path was followed.
    """

    file: str
    line: int
    column: int
    kernel: str
    kernel_file: str
    kernel_line: int
    origin: Origin
    index: int = 0
    of: int = 1
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    attrs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unresolved: tuple[Missing, ...] = ()
    when: tuple[str, ...] = ()
    guarded: bool = False
    launch: str = ""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    pruned: bool = False
    prunes_to_fit: bool = False
    assumed: tuple[str, ...] = ()
    device_name: str = ""
    guard: Guard | None = None
    cut: str = ""
    tried: tuple[tuple[str, str], ...] = ()

    def specialization(self, capability: int) -> Specialization | None:
        """What the compiler would be given on a target; None while something is unresolved."""
        if self.unresolved or not self.arguments:
            return None
        signature = {name: "constexpr" if name in self.constexprs else self.types.get(name, "i32") for name in self.arguments}
        return Specialization(
            file=self.kernel_file,
            kernel=self.kernel,
            signature=signature,
            constexprs=dict(self.constexprs),
            attrs={name: facts for name, facts in self.attrs.items() if name not in self.constexprs},
            num_warps=int(self.options.get("num_warps", DEFAULT_NUM_WARPS)),
            num_stages=int(self.options.get("num_stages", DEFAULT_NUM_STAGES)),
            num_ctas=int(self.options.get("num_ctas", 1)),
            maxnreg=self.options.get("maxnreg"),
            capability=capability,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of one line of ``smem-lint configs --output-format jsonl``."""
        record: dict[str, Any] = {
            "file": self.file,
            "line": self.line,
            "kernel": self.kernel,
            "kernel_file": self.kernel_file,
            "origin": self.origin,
            "index": self.index,
            "of": self.of,
            "constexprs": dict(self.constexprs),
            "options": dict(self.options),
            "types": dict(self.types),
            "unresolved": [{"name": missing.name, "reason": missing.reason, "line": missing.line} for missing in self.unresolved],
            "when": list(self.when),
        }
        if self.launch:
            record["launch"] = self.launch
        if self.tuned:
            record["tuned"] = dict(self.tuned)
        if self.device_name:
            record["device_name"] = self.device_name
        if self.assumed:
            record["assumed"] = list(self.assumed)
        if self.cut:
            record["cut"] = self.cut
        if self.guarded:
            record["guarded"] = True
        if self.pruned:
            record["pruned"] = True
        return record


def json_value(value: Any) -> Any:
    """A constexpr's value as records write it: a type is ``{"dtype": …}``, what JSON cannot say ``{"repr": …}``.

    Types go by Triton's names of them, which a signature shortens for integers (Triton 3.8.0, ``language/core.py``, ``dtype``).
    """
    if isinstance(value, DType):
        return {"dtype": value.name if "int" in value.name else short_name(value)}
    if isinstance(value, (bool, int, str, type(None))):
        return int(value) if type(value) is Assumed else value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"repr": repr(value)}
    if isinstance(value, (tuple, list)) and all(isinstance(item, (bool, int, float, str, type(None))) for item in value):
        return [int(item) if type(item) is Assumed else item for item in value]
    return {"repr": repr(value)[:80]}
