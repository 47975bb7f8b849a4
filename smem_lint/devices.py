"""The device table: how much shared memory one block, and one multiprocessor, of each compute capability has."""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass
from pathlib import Path

from smem_lint.toml import load_toml

_TABLE = Path(__file__).with_name("devices.toml")


class UnknownTarget(ValueError):
    """No device of that name; the message lists the nearest ones."""


@dataclass(frozen=True, slots=True)
class Device:
    """One compute capability. All sizes in bytes; ``capability`` is ten times the usual number (120 for 12.0).

    ``optin`` is the most dynamic shared memory that one block may have (``sharedMemPerBlockOptin``), ``per_sm`` what a
    multiprocessor has for all its blocks, of which each takes ``reserved_per_block`` more than it asked for.
    """

    capability: int
    optin: int
    per_sm: int
    reserved_per_block: int
    threads_per_sm: int
    blocks_per_sm: int
    cards: tuple[str, ...]
    source: str
    measured: str = ""

    @property
    def target(self) -> str:
        return f"sm_{self.capability}"

    @property
    def label(self) -> str:
        """The target, with a card or two that people know it by."""
        return f"{self.target} ({', '.join(self.cards[:2])})" if self.cards else self.target

    def blocks_by_shared_memory(self, bytes_per_block: int) -> int:
        """How many blocks of that size shared memory alone lets live on one multiprocessor (CUDA guide, occupancy)."""
        if bytes_per_block > self.optin:
            return 0
        granule = 128 if self.capability >= 70 else 256
        taken = -(-(bytes_per_block + self.reserved_per_block) // granule) * granule
        return self.blocks_per_sm if taken == 0 else min(self.blocks_per_sm, self.per_sm // taken)

    def blocks_by_threads(self, num_warps: int) -> int:
        """How many blocks of ``num_warps`` warps the thread slots of one multiprocessor hold."""
        return min(self.blocks_per_sm, self.threads_per_sm // (32 * num_warps))


@functools.cache
def devices() -> tuple[Device, ...]:
    """Every known compute capability, in ascending order."""
    found = []
    for row in load_toml(_TABLE)["device"]:
        major, minor = row.pop("capability").split(".")
        row["cards"] = tuple(row["cards"])
        found.append(Device(capability=10 * int(major) + int(minor), **row))
    return tuple(sorted(found, key=lambda device: device.capability))


@functools.cache
def _names() -> dict[tuple[str, ...], Device]:
    names: dict[tuple[str, ...], Device] = {}
    for device in devices():
        major, minor = divmod(device.capability, 10)
        for name in (f"sm_{device.capability}", f"sm{device.capability}", f"{major}.{minor}", f"cuda:{device.capability}", *device.cards):
            names[_key(name)] = device
    return names


_MARKETING = {"nvidia", "geforce", "tesla", "graphics", "blackwell", "workstation", "server", "edition", "max", "q"}


def _key(name: str) -> tuple[str, ...]:
    """The words of a name that tell devices apart."""
    words = re.split(r"[\s_\-]+", name.strip().lower())
    return tuple(word for word in words if word and word not in _MARKETING)


def device(name: str) -> Device:
    """The device that ``sm_120``, ``12.0``, ``cuda:120`` or a card's name stands for; raises UnknownTarget.

    A name may go on after the card's own words, as drivers and tuned files do: ``NVIDIA_H100_80GB_HBM3``.
    """
    key, names = _key(name), _names()
    for length in range(len(key), 0, -1):
        if key[:length] in names:
            return names[key[:length]]
    arch_specific = re.fullmatch(r"sm_?(\d+)[af]", name.strip().lower())
    if arch_specific:
        return device(f"sm_{arch_specific.group(1)}")
    known = [one for entry in devices() for one in (entry.target, *entry.cards)]
    near = difflib.get_close_matches(name, known, 3, 0.65)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `smem-lint devices` lists the known ones"
    raise UnknownTarget(f"unknown target {name!r}{hint}")


def by_capability(capability: int) -> Device:
    """The device of a capability such as 120; raises UnknownTarget."""
    return device(f"sm_{capability}")


def parse_targets(text: str) -> tuple[Device, ...]:
    """``sm_120,H100`` or ``all``; raises UnknownTarget."""
    if text.strip().lower() == "all":
        return devices()
    found = dict.fromkeys(device(part) for part in text.split(",") if part.strip())
    if not found:
        raise UnknownTarget("no target was named")
    return tuple(found)
