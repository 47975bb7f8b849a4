"""Every command's arguments, by argparse; nothing else is imported, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from smem_lint import __version__

_FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")
_VALUES = (
    "a constexpr, an argument's type ('K=*fp8e4nv') or an option (num_stages=2); several values are swept over, the first is the "
    "base's: BLOCK_N=64,32 'K,V=*bf16,*fp8e4nv'"
)
_ENGINES = ("model", "compiler", "gpu", "auto")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where to look."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"smem-lint: error: {message}; see `{self.prog} --help`\n")


def parser() -> argparse.ArgumentParser:
    """The parser of ``smem-lint``; ``arguments.module`` names the module of ``smem_lint.cli`` that runs the command."""
    top = _Parser(
        prog="smem-lint", description="Exact shared-memory bytes of Triton kernels, from their source: no GPU, no Triton.",
        epilog="Exit codes: 0 clean, 1 findings or disagreement, 2 the tool could not do its work.",
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"smem-lint {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for add in (
        _check, _explain, _estimate, _configs, _record, _verify, _compare, _baseline, _triage, _env, _server, _rule, _devices, _config,
        _completion,
    ):  # fmt: skip
        add(commands)
    return top


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line; paths and values may also stand behind options, where argparse alone refuses them."""
    arguments, left = parser().parse_known_args(argv)
    taken: str = getattr(arguments, "taken", "")
    if left and (not taken or any(one.startswith("-") for one in left)):
        unknown = " ".join(one for one in left if one.startswith("-")) if taken else " ".join(left)
        parser().error(f"unrecognized arguments: {unknown}")
    if left:
        setattr(arguments, taken, [*getattr(arguments, taken), *left])
    return arguments


def _command(commands: Any, name: str, module: str, text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(module=module)
    return command


def _settings(command: argparse.ArgumentParser) -> None:
    """Options that stand for a setting of the configuration file; unset ones are None."""
    group = command.add_argument_group("settings (each overrides the configuration file)")
    group.add_argument("--config", metavar="FILE", help="use this configuration file, not the nearest one")
    group.add_argument("--target", metavar="TARGETS", help="sm_120,H100,... or all (default: sm_120)")
    group.add_argument("--triton", metavar="VERSION", help="the Triton to model (default: the one the project pins, else the newest)")
    group.add_argument("--engine", choices=_ENGINES, help="who answers (default: auto)")
    group.add_argument("--profile", metavar="NAMES", help="shape profiles, comma-separated: vllm, sglang, generic, or your own")
    group.add_argument("--assume", metavar="NAME=VALUE", action="append", default=None, help="a value that the source leaves open")
    group.add_argument("--exclude", metavar="GLOB", action="append", default=None, help="paths to leave out")
    group.add_argument("-j", "--jobs", type=int, metavar="N", help="processes to use (default: one a core)")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    group.add_argument("--cache-dir", metavar="DIR", help="where the cache lies")


def _check(commands: Any) -> None:
    command = _command(commands, "check", "check", "lint: find launches and configs that do not fit the target")
    command.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: the current folder)")
    command.set_defaults(taken="paths")
    command.add_argument("--records", metavar="FILE", help="judge recorded launches instead of host code")
    command.add_argument("--root", action="append", default=[], metavar="DIR", help="for --records: folder that its files are relative to")
    command.add_argument("--select", metavar="RULES", help="rules to apply, by code, prefix or name, comma-separated")
    command.add_argument("--ignore", metavar="RULES", help="rules to leave out")
    command.add_argument("--output-format", choices=_FORMATS, help="how findings are written (default: full)")
    command.add_argument("--output-file", metavar="FILE", help="write there, not to standard output")
    command.add_argument("--show-info", action="store_true", help="show notes (severity info) too")
    command.add_argument("--statistics", action="store_true", help="count what was found, evaluated and left unresolved")
    command.add_argument("--exit-zero", action="store_true", help="end with 0 also when there are findings")
    command.add_argument("--baseline", metavar="FILE", help="leave out what this baseline holds")
    command.add_argument("--fix", action="store_true", help="apply the fixes that the estimates prove")
    command.add_argument("--diff", action="store_true", help="show what --fix would change; exit 1 where it would change something")
    command.add_argument("--unsafe-fixes", action="store_true", help="with --fix: also let lists prune themselves when the program runs")
    command.add_argument("--html", metavar="FILE", help="write a page with all findings")
    command.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    _settings(command)


def _explain(commands: Any) -> None:
    command = _command(commands, "explain", "explain", "where each byte of a kernel goes, its cliff, and what would fit")
    command.add_argument("kernel", metavar="FILE::KERNEL", help="or FILE:LINE of a launch, as findings name it: its largest config")
    command.add_argument("values", nargs="*", metavar="NAME=VALUE", help=_VALUES)
    command.set_defaults(taken="values")
    command.add_argument("--root", action="append", default=[], metavar="DIR", help="the folder the file's package lies in")
    command.add_argument("--plot", metavar="FILE", help="bytes by num_stages, a line for each value that is swept, as svg or png")
    command.add_argument("--graph", metavar="FILE", help="the tile dataflow graph, as svg, png or dot")
    command.add_argument("--html", metavar="FILE", help="write a page")
    command.add_argument("--output-format", choices=("text", "json"), default="text")
    _settings(command)


def _estimate(commands: Any) -> None:
    command = _command(commands, "estimate", "estimate", "specialization records in, one estimate a line out, in the same order")
    command.add_argument("records", metavar="RECORDS.jsonl")
    command.add_argument("--root", action="append", default=[], metavar="DIR", help="folder that the records' files are relative to")
    command.add_argument("--output", metavar="OUT.jsonl", help="write there, not to standard output")
    _settings(command)


def _configs(commands: Any) -> None:
    command = _command(commands, "configs", "configs", "every config found, resolved or not")
    command.add_argument("paths", nargs="*", metavar="PATH")
    command.set_defaults(taken="paths")
    command.add_argument("--output-format", choices=("text", "jsonl"), default="text")
    command.add_argument("--output-file", metavar="FILE")
    command.add_argument("--statistics", action="store_true")
    _settings(command)


def _record(commands: Any) -> None:
    command = _command(commands, "record", "record", "run a program of yours and write every Triton launch as a record")
    command.add_argument("--output", default="launches.jsonl", metavar="FILE")
    command.add_argument("--no-gpu", action="store_true", help="stand in for the driver: tensors on the CPU, nothing is launched")
    command.add_argument("--target", default="sm_120", help="the device that is stood in for")
    command.add_argument("--root", action="append", default=[], metavar="DIR", help="folder that files are written relative to")
    command.add_argument("program", nargs=argparse.REMAINDER, metavar="-- CMD ...")


def _verify(commands: Any) -> None:
    command = _command(commands, "verify", "verify", "estimate, then compile (and launch) the same specializations, and compare")
    command.add_argument("paths", nargs="*", metavar="PATH", help="folders and files, or RECORDS.jsonl")
    command.set_defaults(taken="paths")
    command.add_argument("--root", action="append", default=[], metavar="DIR", help="folder that the records' files are relative to")
    command.add_argument("--findings", action="store_true", help="take only what the findings of check rest on, as the model makes them")
    command.add_argument("--select", metavar="RULES", help="for --findings: rules to apply, comma-separated")
    command.add_argument("--ignore", metavar="RULES", help="for --findings: rules to leave out")
    command.add_argument("--sample", type=int, metavar="N", help="take N of them")
    command.add_argument("--seed", type=int, default=0, metavar="S")
    command.add_argument("--resume", metavar="FILE", help="keep the answers of an interrupted run there, and go on from it")
    command.add_argument("--report", metavar="FILE", help="write a machine-readable report")
    command.add_argument("--python", metavar="EXE", help="the Python whose Triton is asked (default: this one)")
    command.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds for one specialization")
    command.add_argument("--memory", type=int, default=0, metavar="BYTES", help="address space for one compiler process")
    command.add_argument("--check-hardware", nargs="?", const="", metavar="FILE", help="replay estimates against hardware records")
    command.add_argument("--dask", metavar="ADDRESS", help="let a dask.distributed cluster do the work")
    _settings(command)


def _compare(commands: Any) -> None:
    command = _command(commands, "compare", "compare", "two trees: per kernel and config, bytes before and after, new overflows")
    command.add_argument("old", metavar="OLD", help="a folder, a file, or a git revision: main, HEAD~1, v1.0:src/kernels")
    command.add_argument("new", metavar="NEW", help="the same")
    command.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    _settings(command)


def _baseline(commands: Any) -> None:
    command = _command(commands, "baseline", "baseline", "write today's findings to a file that `check --baseline` leaves out")
    command.add_argument("paths", nargs="*", metavar="PATH")
    command.set_defaults(taken="paths")
    command.add_argument("--output", default="smem-lint-baseline.json", metavar="FILE")
    command.add_argument("--select", metavar="RULES")
    command.add_argument("--ignore", metavar="RULES")
    _settings(command)


def _triage(commands: Any) -> None:
    command = _command(commands, "triage", "triage", "a server's log: which failure came first, and what to do")
    command.add_argument("log", metavar="LOG", help="a file, or - for standard input")
    command.add_argument("--source", action="append", default=[], metavar="PATH", help="where the kernels' source lies")
    command.add_argument("--output-format", choices=("text", "json"), default="text")
    _settings(command)


def _env(commands: Any) -> None:
    command = _command(commands, "env", "env", "what a good bug report needs: GPU, driver, versions")
    command.add_argument("--output-format", choices=("text", "json"), default="text")


def _server(commands: Any) -> None:
    command = _command(commands, "server", "server", "a language server for editors, on standard input and output (extra `lsp`)")
    command.add_argument("--select", metavar="RULES", help="rules to apply, by code, prefix or name, comma-separated")
    command.add_argument("--ignore", metavar="RULES", help="rules to leave out")
    command.add_argument("--show-info", action="store_true", help="show notes (severity info) too")
    command.add_argument("--stdio", action="store_true", help="speak on standard input and output: what it always does")
    _settings(command)


def _rule(commands: Any) -> None:
    command = _command(commands, "rule", "rule", "a rule's page, or the list of rules")
    command.add_argument("rule", nargs="?", metavar="ID")
    command.add_argument("--output-dir", metavar="DIR", help="write every rule's page there, and an index")
    command.add_argument("--config", metavar="FILE")


def _devices(commands: Any) -> None:
    command = _command(commands, "devices", "devices", "the device table")
    command.add_argument("--output-format", choices=("text", "json"), default="text")


def _config(commands: Any) -> None:
    command = _command(commands, "config", "config", "the settings in force")
    command.add_argument("paths", nargs="*", metavar="PATH")
    _settings(command)


def _completion(commands: Any) -> None:
    command = _command(commands, "completion", "completion", "a script that completes commands and options in a shell")
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
