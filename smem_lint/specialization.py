"""One kernel compiled one way: all that Triton's compiler is given to decide its shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_NUM_WARPS = 4
DEFAULT_NUM_STAGES = 3


@dataclass(frozen=True, slots=True)
class Specialization:
    """A kernel with argument types, constexpr values, divisibility facts, launch options and a target.

    ``file`` is relative to the root that holds the kernel's package. ``signature`` maps every argument, in the kernel's
    order, to its type as Triton writes it (``*bf16``, ``i32``, ``constexpr`` …). ``constexprs`` holds a value for each
    ``constexpr`` of the signature, ``{"dtype": "bf16"}`` for a Triton type and ``{"repr": …}`` for what JSON cannot say.
    ``attrs`` maps an argument to its facts, e.g. ``{"tt.divisibility": 16}`` (bytes for a pointer). ``capability`` is the
    compute capability times ten (120 for sm_120).
    """

    file: str
    kernel: str
    signature: Mapping[str, str]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    attrs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    num_warps: int = DEFAULT_NUM_WARPS
    num_stages: int = DEFAULT_NUM_STAGES
    num_ctas: int = 1
    maxnreg: int | None = None
    capability: int = 120

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Specialization:
        """Read a specialization record (one JSON object); raises ValueError that names the field that is off."""
        try:
            backend, _, capability = str(record.get("target", "cuda:120")).partition(":")
            if backend != "cuda" or not capability.isdigit():
                raise ValueError(f"target: expected cuda:<capability>, got {record.get('target')!r}")
            return cls(
                file=_text(record, "file"),
                kernel=_text(record, "kernel"),
                signature=_table(record, "signature"),
                constexprs=_table(record, "constexprs"),
                attrs=_table(record, "attrs"),
                num_warps=int(record.get("num_warps", DEFAULT_NUM_WARPS)),
                num_stages=int(record.get("num_stages", DEFAULT_NUM_STAGES)),
                num_ctas=int(record.get("num_ctas", 1)),
                maxnreg=record.get("maxnreg"),
                capability=int(capability),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a specialization record: {error}") from error

    def to_record(self) -> dict[str, Any]:
        """The record of this specialization, as ``from_record`` reads it."""
        record: dict[str, Any] = {
            "file": self.file,
            "kernel": self.kernel,
            "signature": dict(self.signature),
            "constexprs": dict(self.constexprs),
            "attrs": {name: dict(facts) for name, facts in self.attrs.items()},
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
            "num_ctas": self.num_ctas,
            "target": f"cuda:{self.capability}",
        }
        if self.maxnreg:
            record["maxnreg"] = self.maxnreg
        return record


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: expected text, got {value!r}")
    return value


def _table(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = record.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected an object, got {value!r}")
    return value
