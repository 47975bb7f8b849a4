"""``smem-lint devices``: the device table."""

from __future__ import annotations

import argparse
import dataclasses
import json

from smem_lint.devices import devices


def run(arguments: argparse.Namespace) -> int:
    if arguments.output_format == "json":
        print(json.dumps([{"target": one.target, **dataclasses.asdict(one)} for one in devices()], indent=1))
        return 0
    print(f"{'target':<8}{'opt-in limit':>13}{'per SM':>10}{'reserved':>10}{'threads':>9}{'blocks':>8}  cards")
    for one in devices():
        numbers = f"{one.optin:>13,}{one.per_sm:>10,}{one.reserved_per_block:>10,}{one.threads_per_sm:>9,}{one.blocks_per_sm:>8}"
        print(f"{one.target:<8}{numbers}  {', '.join(one.cards)}")
    print("\nBytes. The opt-in limit is what one block may have; each block takes `reserved` more of its SM.")
    print("`--output-format json` has the source of each row.")
    return 0
