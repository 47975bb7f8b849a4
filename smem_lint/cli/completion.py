"""``smem-lint completion SHELL``: a script that completes commands, options and their values, written from the parser itself."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from smem_lint.cli.arguments import parser

SHELLS = ("bash", "zsh", "fish")
_LISTS = ("target", "select", "ignore", "profile")
_FOLDERS = ("DIR",)


@dataclass(frozen=True, slots=True)
class Word:
    """An option or a positional argument: ``values`` are what can stand for it (none: a file); ``listed`` if several can, with commas.

    ``takes`` says whether an option has a value at all; ``names`` is empty for positional arguments.
    """

    names: tuple[str, ...]
    about: str
    takes: bool = True
    values: tuple[str, ...] = ()
    listed: bool = False
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the command line."""

    name: str
    about: str
    words: tuple[Word, ...]

    @property
    def options(self) -> list[Word]:
        return [one for one in self.words if one.names]

    @property
    def positional(self) -> tuple[str, ...]:
        """What can stand for positional arguments; empty where that is a file, or anything."""
        return next((one.values for one in self.words if not one.names), ())


def run(arguments: argparse.Namespace) -> int:
    print(_SCRIPTS[arguments.shell](commands()), end="")
    return 0


def commands() -> list[Command]:
    """Every command with its words, as the parser knows them."""
    top = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    abouts = {action.dest: action.help or "" for action in top._choices_actions}
    return [Command(name, abouts[name], tuple(map(_word, found._actions))) for name, found in top.choices.items()]


def _word(action: argparse.Action) -> Word:
    names = tuple(action.option_strings)
    values = tuple(map(str, action.choices or ())) or (_known(action.dest) if action.dest != "target" or names else ())
    about = " ".join((action.help or "").replace("%%", "%").split())
    takes = action.nargs != 0
    folder = action.metavar in _FOLDERS
    return Word(names, about, takes, values, listed=action.dest in _LISTS, folder=folder)


def _known(name: str) -> tuple[str, ...]:
    """The values of an argument that are no choices of the parser, since they are data."""
    if name == "target":
        from smem_lint.devices import devices

        return (*(one.target for one in devices()), "all")
    if name in ("select", "ignore", "rule"):
        from smem_lint.rules import built_in

        return tuple(one.id for one in built_in())
    return ("vllm", "sglang", "generic") if name == "profile" else ()


def _bash(found: Sequence[Command]) -> str:
    valued = [(command, word) for command in found for word in command.options if word.takes]
    values = [
        f"    {_patterns(command, word)}) values={shlex.quote(' '.join(word.values))} listed={'1' if word.listed else ''} ;;"
        for command, word in valued if word.values
    ]  # fmt: skip
    files = "|".join(_patterns(command, word) for command, word in valued if not word.values)
    options = [f"    {command.name}) options={shlex.quote(' '.join(_names(command)))} ;;" for command in found]
    places = [f"    {command.name}) places={shlex.quote(' '.join(command.positional))} ;;" for command in found if command.positional]
    return f"""\
# bash completion for smem-lint; load it with: eval "$(smem-lint completion bash)"
_smem_lint() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= values= listed= options= places= word
  COMPREPLY=()
  if [[ $cur == "=" ]]; then cur=; elif [[ $prev == "=" && $COMP_CWORD -gt 1 ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {"|".join(command.name for command in found)}) command=$word; break ;; esac
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W {shlex.quote(" ".join([*(command.name for command in found), "--help", "--version"]))} -- "$cur"))
    return
  fi
  case "$command $prev" in
{chr(10).join(values)}
    {files}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  if [[ -n $values ]]; then
    local before=
    if [[ -n $listed && $cur == *,* ]]; then before=${{cur%,*}},; fi
    COMPREPLY=($(compgen -P "$before" -W "$values" -- "${{cur#"$before"}}"))
    return
  fi
  case $command in
{chr(10).join(options)}
  esac
  case $command in
{chr(10).join(places)}
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $places ]]; then COMPREPLY=($(compgen -W "$places" -- "$cur"))
  else COMPREPLY=($(compgen -f -- "$cur")); fi
}}
complete -o filenames -F _smem_lint smem-lint
"""


def _patterns(command: Command, word: Word) -> str:
    """What ``case`` compares the command and the word before with."""
    return "|".join(shlex.quote(f"{command.name} {name}") for name in word.names)


def _names(command: Command) -> Iterator[str]:
    return (name for word in command.options for name in word.names)


def _zsh(found: Sequence[Command]) -> str:
    described = "\n".join(f"    {shlex.quote(f'{_colons(command.name)}:{command.about}')}" for command in found)
    cases = "\n".join(f"        {command.name}) _arguments -s {' '.join(_zsh_words(command))} ;;" for command in found)
    return f"""\
#compdef smem-lint
# zsh completion for smem-lint; load it with: eval "$(smem-lint completion zsh)"
_smem_lint() {{
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
{described}
  )
  _arguments -C '(- *)'{{-h,--help}}'[show help]' '(- *)--version[show the version]' '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $line[1] in
{cases}
      esac ;;
  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _smem_lint "$@"; else compdef _smem_lint smem-lint; fi
"""


def _zsh_words(command: Command) -> Iterator[str]:
    for word in command.options:
        about = re.sub(r"([\[\]:\\])", r"\\\1", word.about)
        value = f":value:{_zsh_value(word)}" if word.takes else ""
        for name in word.names:
            joined = "=" if word.takes and name.startswith("--") else ""
            yield shlex.quote(f"*{name}{joined}[{about}]{value}")
    yield shlex.quote(f"*:value:({' '.join(command.positional)})" if command.positional else "*:file:_files")


def _zsh_value(word: Word) -> str:
    if word.values:
        return f"_values -s , value {' '.join(word.values)}" if word.listed else f"({' '.join(word.values)})"
    return "_files -/" if word.folder else "_files"


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _fish(found: Sequence[Command]) -> str:
    lines = ["# fish completion for smem-lint; load it with: smem-lint completion fish | source"]
    for command in found:
        lines.append(f"complete -c smem-lint -f -n __fish_use_subcommand -a {command.name} -d {_single(command.about)}")
    for command in found:
        here = f"complete -c smem-lint -n '__fish_seen_subcommand_from {command.name}'"
        if command.positional:
            lines.append(f"{here} -f -a {_single(' '.join(command.positional))}")
        for word in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names)
            lines.append(f"{here} {names}{_fish_value(word)} -d {_single(word.about)}")
    return "\n".join(lines) + "\n"


def _fish_value(word: Word) -> str:
    if not word.takes:
        return ""
    if not word.values:
        return " -r -a '(__fish_complete_directories)'" if word.folder else " -r -F"
    values = " ".join(word.values)
    return f" -x -a {_single(f'(__fish_append , {values})' if word.listed else values)}"


def _single(text: str) -> str:
    """A string of fish's, where quotes and backslashes are escaped within."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
