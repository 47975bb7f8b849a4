"""Recorded launches against the configs that the host code is said to be able to launch.

    python benchmarks/launch_sites.py TRUTH.jsonl ROOT [--all]

A site is the ``launch`` of a record (``file:line``; where it is a mere number, the kernel's file) and the kernel. It is found
when a config names both. A record is matched when some config of its
site has its ``num_warps`` and ``num_stages`` and agrees on each constexpr that the host code fixes (those that rest on sizes a
profile assumed are listed in ``assumed`` and not compared). A site is matched when all its recorded launches are; variants
made by hand are left out. ``--all`` prints what does not match.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from smem_lint.host import Config, resolve
from smem_lint.source.modules import Repository

DEFAULTS = {"num_warps": 4, "num_stages": 3}


def differences(config: Config, record: dict[str, Any]) -> list[str]:
    missing = {item.name for item in config.unresolved}
    found = []
    for name, default in DEFAULTS.items():
        ours = "?" if name in missing else config.options.get(name, default)
        if name not in record["constexprs"] and ours != record[name]:
            found.append(f"{name} {ours} for {record[name]}")
    for name, value in config.constexprs.items():
        if name in record["constexprs"] and name not in config.assumed and not same(value, record["constexprs"][name]):
            found.append(f"{name} {value} for {record['constexprs'][name]}")
    return found


def same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, (int, float)):
        return abs(first - second) <= 1e-6 * max(abs(first), abs(second), 1.0)
    return bool(first == second)


def main(truth: Path, root: Path, *, verbose: bool) -> int:
    records = [json.loads(line) for line in truth.read_text("utf8").splitlines()]
    sites: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        place = record["launch"] if isinstance(record["launch"], str) else record["file"]
        sites[place, record["kernel"]].append(record)
    named = {launch.rpartition(":")[0] for launch, _ in sites if ":" in launch}
    files = sorted(named) or [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.py"))]
    start = time.perf_counter()
    configs: dict[str, list[Config]] = defaultdict(list)
    for item in resolve(Repository([root]), files):
        if isinstance(item, Config):
            configs[item.launch].append(item)
            configs[item.kernel_file].append(item)
    seconds = time.perf_counter() - start
    found = matched = partly = launches = launches_matched = 0
    for (launch, kernel), recorded in sorted(sites.items()):
        ours = [config for config in configs[launch] if config.kernel == kernel]
        found += bool(ours)
        real = [record for record in recorded if not record.get("by_hand")]
        best = [min((differences(config, record) for config in ours), key=len, default=["not found"]) for record in real]
        launches += len(real)
        launches_matched += sum(not items for items in best)
        matched += all(not items for items in best)
        partly += any(not items for items in best) or not best
        if verbose and any(best):
            worst = next(items for items in best if items)
            print(f"{launch} {kernel}: {sum(map(bool, best))} of {len(best)}: {'; '.join(worst[:5])}")
    number = len(sites)
    print(f"{len(files)} files, {sum(map(len, configs.values())) // 2} configs, {seconds:.1f} s")
    print(f"sites {number}, found {found} ({found / number:.1%}), some launch matched {partly} ({partly / number:.1%}), "
          f"all launches matched {matched} ({matched / number:.1%})")  # fmt: skip
    print(f"recorded launches {launches}, matched {launches_matched} ({launches_matched / launches:.1%})")
    return 0 if found / number >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), verbose="--all" in sys.argv))
