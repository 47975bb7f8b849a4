"""What Triton decided differently from version to version: one record of named decisions each, which the passes consult.

The table is ``triton_versions.toml``. Facts: the branches release/3.5.x to release/3.8.x of Triton, file by file as the field says.
A field's default is what 3.8 does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from smem_lint.toml import load_toml

Version = tuple[int, int]
_TABLE = Path(__file__).parent.with_name("triton_versions.toml")


@dataclass(frozen=True)
class Decisions:
    """One version's choices, where versions differ."""

    negation_subtracts: bool = False
    """The front end makes ``0 - x`` of a float's unary minus (python/triton/language/semantic.py)."""
    dots_make_floats: bool = False
    """``tl.dot`` makes fp32 of its operands unless told otherwise, else what its accumulator is (the same file)."""
    wide_dots_only: bool = False
    """K of a dot is at least 16 of anything wider than a byte, else 8 of 32 bits and 4 of 64 (third_party/nvidia/backend/compiler.py)."""
    reshape_keeps_facts: bool = True
    """Axis facts survive a reshape (``ReshapeOpAxisInfoVisitor``, lib/Analysis/AxisInfo.cpp)."""
    sums_minding_runs: bool = True
    """The divisibility of a sum is limited by runs that its operands are in the middle of (the same file)."""
    selections_minding_runs: bool = True
    """The divisibility of a selection is limited by its contiguity (the same file)."""
    constants_unsigned: bool = False
    """Integer constants count as unsigned in the facts (the same file)."""
    assumes_best_of_branches: bool = False
    """What a branch yields is taken to be ideal until it is known, rather than waited for (the same file)."""
    first_dimension_first: bool = False
    """Of equally contiguous dimensions the first one is the fastest (``Coalesce.cpp``, ``argSort``)."""
    output_stops_pipelining: bool = True
    """Loops that print or assert are not pipelined (``ScheduleLoops.cpp``)."""
    atomics_have_widths: bool = True
    """An atomic operation takes no more elements at once than its instruction does (``Coalesce.cpp``'s ``Utility.cpp``)."""
    any_join_widens: bool = False
    """Any join before a dot operand counts as packed halves (``AccelerateMatmul.cpp``, ``computeOrigBitWidth``)."""
    counts_growth: bool = True
    """Computing again costs what there is more of then; else it costs whatever others need as well (``RemoveLayoutConversions.cpp``)."""
    hoisting_must_pay: bool = True
    """A conversion moves above a broadcast only if that is cheaper (the same file)."""
    slices_merge_late: bool = False
    """Parts of a slice are found on their own and then joined (the same file)."""
    gathers_are_loads: bool = True
    """A gather through a descriptor is a load that a conversion can follow (the same file)."""
    reordered_views_keep_layouts: bool = True
    """A reshape that may reorder takes the layouts that it has now where that is free (``inferReshapeOpDstEncoding``)."""
    sums_of_products_are_ieee: bool = True
    """The dot made of a sum of products is exact fp32, and an addition can become a scaled dot's accumulator (``Combine.cpp``)."""
    one_consumer_chip: bool = False
    """Of the chips of family 12 only sm_120 has tensor cores for fp8 and scales (``AccelerateMatmul.cpp``)."""
    prefetches_everywhere: bool = False
    """``prefetch`` runs for every target, else below sm_90 (third_party/nvidia/backend/compiler.py)."""


@dataclass(frozen=True)
class TritonVersion:
    """A version and what it decides; ``exact`` where estimates for it may be called exact; ``torch``: releases that ask for it."""

    version: Version
    exact: bool
    torch: tuple[str, ...]
    source: str
    decisions: Decisions


@cache
def triton_versions() -> tuple[TritonVersion, ...]:
    """Every version in the table, ascending. Decisions that the table does not mention are those of 3.8."""
    found = []
    for entry in load_toml(_TABLE)["triton"]:
        major, minor = map(int, entry["version"].split("."))
        chosen = Decisions(**entry.get("decisions", {}))
        found.append(TritonVersion((major, minor), entry["exact"], tuple(entry.get("torch", ())), entry["source"], chosen))
    return tuple(sorted(found, key=lambda one: one.version))


def exact_versions() -> tuple[Version, ...]:
    """The versions for which estimates may be called exact, ascending."""
    return tuple(one.version for one in triton_versions() if one.exact)


@cache
def decisions(version: Version) -> Decisions:
    """The decisions of a version; of the newest that is not newer for one that the table lacks, or of the oldest."""
    known = triton_versions()
    return max((one for one in known if one.version <= version), key=lambda one: one.version, default=known[0]).decisions
