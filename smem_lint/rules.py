"""The rules: one TOML file each, with the condition, the message and the page that explains it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smem_lint.expression import Expression, ExpressionError, Message
from smem_lint.toml import TOMLError, load_toml

SEVERITIES = ("error", "warning", "info")
SCOPES = ("config", "types", "list", "guard", "unresolved", "suppression")
_REQUIRED = ("id", "name", "severity", "scope", "when", "message", "since", "what", "why")
_OPTIONAL = ("fix", "fixing")
_PLAIN = ("id", "name", "severity", "scope", "since", "what", "why")
_PLACES = (Path(__file__).with_name("_rules"), Path(__file__).parent.parent / "rules")


class RuleError(ValueError):
    """A rule file that cannot be used; the message begins with its path."""


@dataclass(frozen=True, slots=True)
class Example:
    """A file that the rule speaks of: ``bad`` ones give the finding, good ones none."""

    title: str
    code: str
    bad: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """``scope`` says what is judged: one ``config``, one launch over its ``types``, an autotune ``list``, a hand-written
    ``guard``, an ``unresolved`` config or a ``suppression``; ``when`` is asked of the facts that ``check`` gathers for it.
    ``fix`` names what ``--fix`` does, ``fixing`` says what that changes and what it leaves."""

    id: str
    name: str
    severity: str
    scope: str
    when: Expression
    message: Message
    since: str
    what: str
    why: str
    fix: str = ""
    fixing: str = ""
    examples: tuple[Example, ...] = ()

    def page(self) -> str:
        """The rule's page, as Markdown."""
        parts = [f"# {self.id} {self.name}", f"Severity: {self.severity}. Since {self.since}."]
        if self.fix:
            parts.append(f"Fix: `{self.fix}` (safe: `check --fix` applies it, `check --diff` shows it).")
        parts += ["## What it does", self.what.strip(), "## Why is this bad?", self.why.strip()]
        if self.fixing:
            parts += ["## Fix", self.fixing.strip()]
        for example in self.examples:
            parts += [f"## {'Example' if example.bad else 'Use instead'}: {example.title}", f"```python\n{example.code.strip()}\n```"]
        return "\n\n".join(parts) + "\n"


def read_rule(path: Path) -> Rule:
    """The rule of one file; raises RuleError."""
    try:
        table = load_toml(path)
        missing = [name for name in _REQUIRED if name not in table]
        if missing:
            raise RuleError(f"{path}: {', '.join(missing)} missing")
        wrong = [name for name in (*_REQUIRED, *_OPTIONAL) if not isinstance(table.get(name, ""), str)]
        if wrong:
            raise RuleError(f"{path}: {wrong[0]}: expected text")
        if table["severity"] not in SEVERITIES:
            raise RuleError(f"{path}: severity {table['severity']!r} is not one of {', '.join(SEVERITIES)}")
        if table["scope"] not in SCOPES:
            raise RuleError(f"{path}: scope {table['scope']!r} is not one of {', '.join(SCOPES)}")
        return Rule(
            when=Expression(table["when"]), message=Message(table["message"]), examples=_examples(table.get("example", []), path),
            **{name: table[name] for name in _PLAIN}, **{name: table[name] for name in _OPTIONAL if name in table},
        )  # fmt: skip
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror or error}") from error
    except (TOMLError, UnicodeDecodeError, ExpressionError) as error:
        raise RuleError(f"{path}: {error}") from error


def _examples(rows: Any, path: Path) -> tuple[Example, ...]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RuleError(f"{path}: example: expected tables")
    for number, row in enumerate(rows, 1):
        missing = [name for name in ("bad", "code") if name not in row]
        if missing:
            raise RuleError(f"{path}: example {number}: {', '.join(missing)} missing")
    return tuple(Example(str(row.get("title", "")), str(row["code"]), bool(row["bad"])) for row in rows)


@functools.cache
def built_in() -> tuple[Rule, ...]:
    """The rules that ship with smem-lint, by id."""
    folder = next(place for place in _PLACES if place.is_dir())
    return tuple(read_rule(path) for path in sorted(folder.glob("*.toml")))


def load_rules(extra: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The built-in rules and those of the files or folders in ``extra``; raises RuleError."""
    rules = {rule.id: rule for rule in built_in()}
    for place in extra:
        paths = sorted(place.glob("*.toml")) if place.is_dir() else [place]
        if not paths:
            raise RuleError(f"{place}: holds no rule")
        for path in paths:
            rule = read_rule(path)
            if rule.id in rules:
                raise RuleError(f"{path}: {rule.id} is taken by {rules[rule.id].name!r}")
            rules[rule.id] = rule
    return tuple(rules.values())


def pages(rules: Sequence[Rule]) -> dict[str, str]:
    """A file for each rule, and ``README.md`` with a table of them; by name."""
    rows = [f"| [{one.id}]({one.id}.md) | {one.name} | {one.severity} | {f'`{one.fix}`' if one.fix else ''} |" for one in rules]
    index = ["# Rules", "", "Written by `smem-lint rule --output-dir docs/rules` from the files in `rules/`.", ""]
    table = ["| id | name | severity | fix |", "|---|---|---|---|", *rows]
    return {"README.md": "\n".join([*index, *table]) + "\n", **{f"{one.id}.md": one.page() for one in rules}}


def selected(rules: Sequence[Rule], select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """The rules in force: a code or a prefix of codes, or a rule's name; the longer prefix wins. Raises RuleError."""
    for code in (*select, *ignore):
        if code != "ALL" and not any(_matches(rule, code) for rule in rules):
            raise RuleError(f"no rule is called {code!r}; `smem-lint rule` lists them")

    def weight(rule: Rule, codes: Sequence[str]) -> int:
        return max((1 if code == "ALL" else len(code) + 1 for code in codes if code == "ALL" or _matches(rule, code)), default=0)

    return tuple(rule for rule in rules if (weight(rule, select) if select else 1) > weight(rule, ignore))


def _matches(rule: Rule, code: str) -> bool:
    return rule.id.startswith(code) or rule.name == code


def facts_of(rule: Rule) -> set[str]:
    """The names of facts that a rule's condition and message read."""
    named: set[Any] = {name for _, name, _, _ in rule.message.parse(rule.message.template) if name}
    return rule.when.names | named
