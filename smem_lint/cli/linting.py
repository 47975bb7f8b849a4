"""One run of the linter: settings and paths to a report."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from smem_lint.check import findings, hard_coded_findings
from smem_lint.cli.engines import engine_of, half_the_limit, the_limit
from smem_lint.cli.errors import UsageError
from smem_lint.cli.files import absolute, python_files, root_of
from smem_lint.cli.part import Part, kept_part, workers
from smem_lint.cli.parts import parts_of, worth_it
from smem_lint.cli.progress import Progress, ticking
from smem_lint.cli.proving import Found, finding_place, fixable
from smem_lint.cli.recorded import files_of, recorded
from smem_lint.cli.scenarios import resolved
from smem_lint.cli.settings import targets_of
from smem_lint.config import Settings
from smem_lint.confirming import confirmed
from smem_lint.devices import Device
from smem_lint.engines import Engine
from smem_lint.expression import ExpressionError
from smem_lint.findings import Finding, Problem, Report
from smem_lint.host.config import Config
from smem_lint.host.configs import may_launch
from smem_lint.host.guards import may_hold_limits
from smem_lint.host.tuned import by_device
from smem_lint.judging import NEIGHBOURS, Judged, judge, origins_of
from smem_lint.processes import in_processes
from smem_lint.rules import Rule, RuleError, built_in, facts_of, load_rules, selected
from smem_lint.source.comments import Suppression, suppressions
from smem_lint.source.modules import Repository
from smem_lint.source.reading import Unreadable


class Lint:
    """What one run looks at and with which rules. Raises UsageError for settings that cannot be used."""

    def __init__(self, settings: Settings, paths: Sequence[Path], *, use_cache: bool = True, records: str | None = None) -> None:
        self.settings, self.paths, self.use_cache, self.records = settings, list(paths), use_cache, records
        self.screened = True  # fixes need exact numbers where rules are content with bounds
        self.notes = True  # whether notes on single configs are wanted, for which more has to be known exactly
        self.keeps_judged = True  # fixes and comparisons look at every config again
        self.keeps_sources = False
        self.proves = False  # whether it is to be found out what fixes would take away
        self._texts: dict[str, list[str]] = {}
        self.devices = targets_of(settings)
        self.rules = self._rules()
        self.roots = list(dict.fromkeys(root_of(path) for path in self.paths))
        self.repository = Repository(self.roots)
        self.engine: Engine | None = None
        self.judged: list[Judged] = []

    @cached_property
    def recorded(self) -> list[Config]:
        """The launches of the file of records."""
        assert self.records is not None
        return recorded(Path(self.records), self.repository)

    def again(self) -> Lint:
        """The same run over what the files now hold."""
        other = Lint(self.settings, self.paths, use_cache=self.use_cache, records=self.records)
        other.notes, other.keeps_judged = self.notes, self.keeps_judged
        return other

    def only(self, report: Report) -> Lint | None:
        """The same run, which keeps what it judges, over the files alone in which a fix may be made; None where there is none."""
        fixable = {one.file for one in report.findings if one.fix}
        files = [path for path in self.files() if self.name(path) in fixable]
        if not files:
            return None
        other = Lint(self.settings, files, use_cache=self.use_cache, records=self.records)
        other.roots, other.repository, other.notes = self.roots, Repository(self.roots), self.notes
        return other

    def over(self, edited: Mapping[Path, bytes], engine: Engine) -> Lint:
        """The same run over these files alone, with what they are to contain in place of what they hold."""
        other = Lint(self.settings, list(edited), use_cache=self.use_cache)
        other.roots, other.engine = self.roots, engine
        other.repository = Repository(self.roots, edited={**self.repository.edited, **edited})
        return other

    def _rules(self) -> tuple[Rule, ...]:
        folder = Path(self.settings.origin).parent if self.settings.origin else Path.cwd()
        try:
            return selected(load_rules(folder / place for place in self.settings.rules), self.settings.select, self.settings.ignore)
        except RuleError as error:
            raise UsageError(str(error)) from error

    def report(self, whole: bool = False) -> Report:
        """What the rules say now, without what the baseline holds (unless ``whole``)."""
        files = self.files()
        found = Part()
        for part in self._parts(files):
            found.add(part)
        self.judged += found.judged
        report = Report(found.findings, found.problems, targets=tuple(device.target for device in self.devices))
        if found.cut:
            report.statistics["cut_launches"] = len(found.cut)
        report.statistics.update(
            files=len(files), kernels=len(found.kernels), configs=found.answered + found.unanswered, unresolved=found.unanswered
        )
        report.problems = self._marked(report.problems)
        self._finish(report, files, whole)
        report.findings = [replace(one, fixable=found.fixable.get(finding_place(one), "")) for one in report.findings]
        return report

    def _parts(self, files: Sequence[Path]) -> Iterator[Part]:
        alone = self.keeps_judged or self.engine is not None or self.records is not None or self.settings.engine == "gpu"
        jobs = 1 if alone else worth_it(files, self.settings.jobs)
        if jobs == 1:
            yield kept_part(self, files)
            return
        progress, done = Progress("checking"), 0
        parts = parts_of(files, self.source, may_hold)
        count = sum(map(len, parts))
        for size, part in in_processes(parts, jobs, workers(self)):
            done += size
            progress(done, count)
            yield part

    def part(self, files: Sequence[Path]) -> Part:
        """What the rules say of some files on every target."""
        found = Part()
        engine = self.engine or self._own_engine
        for device in self.devices:
            configs, near = self.configs(files, device, found.problems), self.settings.near_limit
            judged = judge(configs, device, engine, near, origins_of(self._asked), neighbours_of_all=self._wants_neighbours)
            found.kernels |= {(one.config.kernel_file, one.config.kernel) for one in judged}
            found.answered += sum(one.answered for one in judged)
            found.unanswered += sum(not one.answered for one in judged)
            found.findings += self._confirmed(judged, engine)
            found.judged += judged
        for judged in self._on_their_own_devices(files, engine, found):
            found.judged += judged
        found.findings += self._hard_coded(files)
        found.cut = {one.config.launch or one.site for one in found.judged if one.config.cut}
        found.problems += [Problem(one.file, one.line, one.message) for one in self.repository.problems.values()]
        if self.proves:
            visible = Report(list(found.findings))
            self._finish(visible, files, whole=False)
            found.fixable = fixable(Found(visible.findings, found.judged), self, files)
        if not self.keeps_judged:
            found.judged = []
        return found

    @cached_property
    def _own_engine(self) -> Engine:
        bounds_do = self.screened and not self._own_rules
        below = None if not bounds_do else half_the_limit if any(map(_is_note, self._asked)) else the_limit
        return engine_of(self.settings, self.roots, use_cache=self.use_cache, screen=below, keep=self.keeps_sources)

    @property
    def _asked(self) -> list[Rule]:
        """The rules to apply: without those whose notes on single configs nobody will read."""
        return [rule for rule in self.rules if self.notes or not _is_note(rule)]

    @property
    def _own_rules(self) -> list[Rule]:
        """The rules in force that a project brings along: what they ask of an estimate is theirs to say, so that it has to be exact."""
        return [rule for rule in self._asked if rule not in built_in() and rule.scope not in ("suppression", "unresolved")]

    @property
    def _wants_neighbours(self) -> bool:
        return any(NEIGHBOURS & facts_of(rule) for rule in self._own_rules)

    def name(self, path: Path) -> str:
        """A file as findings name it."""
        return self.repository.relative(absolute(path))

    def source(self, path: Path) -> bytes | None:
        """The bytes of a file; None where it cannot be read."""
        return self.repository.source_of(absolute(path))

    def _marked(self, problems: Iterable[Problem]) -> list[Problem]:
        """Each problem once, in the order of the files. Those of files named on the command line are fatal, as our own defects are."""
        named = {self.repository.relative(absolute(path)) for path in self.paths if path.is_file()}
        unique = {(one.file, one.line, one.message): one for one in problems}
        return [replace(unique[key], fatal=unique[key].fatal or unique[key].file in named) for key in sorted(unique)]

    def files(self) -> list[Path]:
        """What is looked at. Raises UsageError where a folder holds nothing that could be."""
        if self.records is not None:
            return files_of(self.recorded, self.roots)
        files = list(python_files(self.paths, self.roots, self.settings.exclude))
        if not files:
            raise UsageError(f"{', '.join(map(str, self.paths))}: no Python file there")
        return files

    def _findings(self, judged: Sequence[Judged], rules: Sequence[Rule] | None = None) -> list[Finding]:
        try:
            return findings(judged, self._asked if rules is None else rules, self.settings.near_limit)
        except ExpressionError as error:
            raise UsageError(f"a rule cannot be applied: {error}") from error

    def _confirmed(self, judged: Sequence[Judged], engine: Engine, rules: Sequence[Rule] | None = None) -> list[Finding]:
        return confirmed(judged, lambda: self._findings(judged, rules), engine)

    def _on_their_own_devices(self, files: Sequence[Path], engine: Engine, found: Part) -> Iterator[list[Judged]]:
        """Tuned files on the devices that they are named for, where those are no targets: what the rules of lists say of them."""
        rules = [rule for rule in self.rules if rule.scope == "list"]
        named = by_device(files) if rules and self.records is None else {}
        for device in sorted(named, key=lambda device: device.capability):
            if device not in self.devices:
                judged = judge(
                    self.configs(named[device], device, found.problems), device, engine, self.settings.near_limit, {"tuned-json"}
                )
                found.findings += self._confirmed(judged, engine, rules)
                yield judged

    def _hard_coded(self, files: Sequence[Path]) -> Iterable[Finding]:
        if self.records is not None or not any(rule.scope == "guard" for rule in self.rules):
            return
        for path in files:
            source = self.source(path) if path.suffix == ".py" else None
            module = self.repository.module(self.name(path)) if source is not None and may_hold_limits(source) else None
            if module is not None:
                yield from hard_coded_findings(module, self.rules)

    def configs(self, files: Sequence[Path], device: Device, problems: list[Problem]) -> list[Config]:
        if self.records is not None:
            return self.recorded
        found = []
        names = [self.repository.relative(absolute(path)) for path in files]
        for one in resolved(self.repository, ticking(names, Progress("reading")), device.capability, self.settings):
            if isinstance(one, Config):
                found.append(one)
            else:
                problems.append(Problem(one.file, one.line, one.message))
        return found

    def _finish(self, report: Report, files: Sequence[Path], whole: bool) -> None:
        """Source lines, suppressions, ignored paths, the baseline, and the order of a report."""
        silencers = {name: found for path in files if (found := self._suppressions(name := self.repository.relative(absolute(path))))}
        used: set[tuple[str, int]] = set()
        kept = []
        for finding in report.findings:
            by = [one for one in silencers.get(finding.file, ()) if one.covers(finding.rule, finding.line, finding.line)]
            used |= {(finding.file, one.comment_line) for one in by}
            if not by and not self._ignored(finding):
                kept.append(replace(finding, source_line=self._line(finding)))
        kept += self._unused(silencers, used)
        report.findings = sorted(kept, key=lambda one: (one.file, one.line, one.column, one.rule, one.target, one.bytes or 0, one.message))
        if self.settings.baseline and not whole:
            from smem_lint.cli.baseline import not_in, read_baseline

            new = not_in(read_baseline(Path(self.settings.baseline)), report.findings)
            report.statistics["in_baseline"] = len(report.findings) - len(new)
            report.findings = new

    def _suppressions(self, file: str) -> tuple[Suppression, ...]:
        for root in self.roots:
            path = root / file
            try:
                data = self.repository.read(file, path)
            except Unreadable:
                continue
            return suppressions(data.decode("utf8", "replace")) if b"smem-lint:" in data else ()
        return ()

    def _ignored(self, finding: Finding) -> bool:
        return any(
            fnmatch.fnmatch(finding.file, pattern) and any(code == "ALL" or finding.rule.startswith(code) for code in codes)
            for pattern, codes in self.settings.per_file_ignores.items()
        )

    def _line(self, finding: Finding) -> str:
        lines = self._lines(finding.file) if finding.file.endswith(".py") else []
        return lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""

    def _lines(self, file: str) -> list[str]:
        if file not in self._texts:
            path = next((root / file for root in self.roots if (root / file).exists()), None)
            source = self.source(path) if path is not None else None
            self._texts[file] = source.decode("utf8", "replace").splitlines() if source is not None else []
        return self._texts[file]

    def _unused(self, silencers: dict[str, tuple[Suppression, ...]], used: set[tuple[str, int]]) -> Iterable[Finding]:
        for rule in (rule for rule in self.rules if rule.scope == "suppression"):
            for file, found in silencers.items():
                for one in filter(self._applied, found):
                    count = int((file, one.comment_line) in used)
                    facts = {"used": count, "codes": ", ".join(one.codes) or "every rule", "reason": one.reason}
                    if rule.when(facts):
                        message = rule.message.fill(facts)
                        yield Finding(file, one.comment_line, one.column + 1, rule.id, rule.name, rule.severity, message, fix=rule.fix)

    def _applied(self, one: Suppression) -> bool:
        """Whether the rules that a suppression names are in force, so that it could have silenced something."""
        names = {rule.id for rule in self.rules}
        known = {rule.id for rule in built_in()} | names
        meant = {name for name in known if not one.codes or name.startswith(one.codes)}
        return meant <= names


def _is_note(rule: Rule) -> bool:
    """Whether a rule tells of single configs that fit: near a limit, or alone on their multiprocessor."""
    return rule.scope == "config" and rule.severity == "info"


def may_hold(source: bytes) -> bool:
    """Whether a check can find anything in a Python file: a kernel, a launch, or a limit."""
    return may_launch(source) or may_hold_limits(source)
