"""Every config of the given files: what ``smem-lint configs`` lists, and ``check`` estimates."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from smem_lint.garbage import GarbageKept
from smem_lint.host.autotune import applied_in, autotune_call
from smem_lint.host.config import Config, Missing, json_value
from smem_lint.host.launches import Found, Site, autotune_for, follow, kernel_of, key_of, launch_sites, unreached
from smem_lint.host.limits import Limits
from smem_lint.host.profile import Profile, load
from smem_lint.host.program import Program
from smem_lint.host.tuned import TunedConfigs
from smem_lint.host.tuned_launches import is_mapped
from smem_lint.host.values import Kernel, Scope, assumed
from smem_lint.source.bindings import FunctionEntry
from smem_lint.source.comments import assumptions
from smem_lint.source.modules import Repository, SourceModule, jit_kind
from smem_lint.source.reading import Problem, Unreadable, mentions_triton
from smem_lint.source.tuned import is_tuned_name, tuned_file

_CALLER_LEVELS = 3
_CALLERS = 6
_SIZE_LEVELS = 2
_SIZE_CALLERS = 3
_SIZE_PATHS = 8
_SIZE_VALUES = 4
_HELPER_CALLERS = 24
_CALLER_PATHS = 48
_TESTS = re.compile(r"(^|/)(tests?|testing|benchmarks?|examples?)/|(^|/)(test|bench\w*)_[^/]*$|_(test|bench\w*)\.py$")
_LAUNCHES_KERNEL = re.compile(rb"\[\s*grid\w*\s*\]\s*\(|kernel\w*\s*\[[^\[\n]*\]\s*\(", re.IGNORECASE)
_LAUNCHES = re.compile(rb"\]\s*\(|\.run\(|\.warmup\(")


def resolve(
    repository: Repository,
    files: Iterable[str | Path],
    *,
    capability: int = 120,
    profile: str | Profile = "vllm",
    assume: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    tuned: Mapping[str, str] | None = None,
) -> Iterator[Config | Problem]:
    """Configs of every launch and every autotune list in the files, in the order of the files; a problem for what cannot be read.

    A file whose name is that of a tuned file (``…device_name=….json``), or which lies in a folder that ``tuned`` maps to a kernel
    (``file.py::name``), gives the configs of its entries.
    """
    program = Program(repository, capability, limits)
    scenarios = load(profile, assume) if isinstance(profile, str) else profile
    entries = TunedConfigs(program, scenarios, tuned)
    try:
        for file in files:
            if is_tuned_name(Path(file).name) or (tuned and is_mapped(Path(file), repository.roots, tuned)):
                yield from _tuned(entries, file)
            else:
                yield from _file(program, scenarios, file)
    finally:
        program.forget()


def may_launch(source: bytes) -> bool:
    """Whether a file can hold a kernel, a list or a launch: a search in its bytes."""
    return mentions_triton(source) or _LAUNCHES_KERNEL.search(source) is not None


def _tuned(configs: TunedConfigs, file: str | Path) -> Iterator[Config | Problem]:
    path = Path(file)
    try:
        yield from configs.configs(tuned_file(str(file), path if path.is_absolute() else _locate(configs.program.repository, path)))
    except Unreadable as unreadable:
        yield unreadable.problem


def _file(program: Program, profile: Profile, file: str | Path) -> Iterator[Config | Problem]:
    repository = program.repository
    path = Path(file)
    name = str(file)
    try:
        source = repository.read(name, path if path.is_absolute() else _locate(repository, path))
    except Unreadable as unreadable:
        yield unreadable.problem
        return
    if not may_launch(source):
        return
    of_triton = mentions_triton(source)
    module = repository.module(file)
    if module is None:
        yield next(
            (p for f, p in repository.problems.items() if f == name or path.name == Path(f).name), Problem(name, 0, "cannot be read")
        )
        return
    if b"smem-lint:" in source:
        stated = {assumption.name: assumption.value for assumption in assumptions(module.text)}
        profile = replace(profile, assume={**profile.assume, **stated}) if stated else profile
    launched: set[tuple[str, int, int]] = set()
    try:
        if _LAUNCHES.search(source):
            for site in launch_sites(module):
                if of_triton or kernel_of(program, site) is not None:
                    with GarbageKept():
                        configs = configs_of_site(program, site, profile)
                    launched.update(_list_of(one) for one in configs if one.origin == "autotune" and not one.unresolved)
                    yield from configs
        yield from (one for one in _lists(program, module) if _list_of(one) not in launched)
    except RecursionError:
        yield Problem(module.file, 0, "nested too deeply to be evaluated")


def _locate(repository: Repository, path: Path) -> Path:
    return next((root / path for root in repository.roots if (root / path).exists()), path)


def configs_of_site(program: Program, site: Site, profile: Profile) -> list[Config]:
    """The configs of one launch site; where nothing leads there, one that says what is missing.

    The site's function is entered on its own first. What it leaves to its callers (which kernel, a config, a flag) is then
    looked for in the callers, as far up as that helps.
    """
    if kernel_of(program, site) is None and not _looks_like_one(site):
        return []
    found = follow(program, site, profile, give_up=_left_to_callers)
    if not (found.configs or found.kernels or found.unknown_kernel or found.cut) and site.function is not None:
        found = follow(program, site, profile, any_layout=True)
    if found.kernels and not (found.configs or found.refused):
        return []
    configs = _configs_of(program, site, profile, found)
    cut = next((config.cut for config in configs if config.cut), "")
    return [replace(config, cut=cut) for config in configs] if cut else configs


def _configs_of(program: Program, site: Site, profile: Profile, found: Found) -> list[Config]:
    if site.function is not None and (found.unknown_kernel or any(_left_to_callers(config) for config in found.configs)):
        from_callers = _through_callers(program, site, profile, helper=bool(found.unknown_kernel))
        resolved = [config for config in from_callers if not config.unresolved]
        if resolved:
            return [*[config for config in found.configs if not _left_to_callers(config)], *from_callers]
        if from_callers and not found.configs:
            return from_callers
        if found.given_up:
            found = follow(program, site, profile)
    elif site.function is not None and any(config.tried for config in found.configs):
        from_callers = _of_known_sizes(program, site, profile)
        known = [config for config in from_callers if not config.unresolved and not config.tried]
        if known:
            unsure = {name for config in from_callers for name, _ in config.tried}
            return _unlike([*_with_sizes_of(program, site, profile, found, known, unsure), *known])
    if not found.configs:
        return [unreached(program, site, found)]
    return found.configs


def _left_to_callers(config: Config) -> bool:
    return any(missing.name == "**" or missing.reason.endswith("given by the caller") for missing in config.unresolved)


def _through_callers(program: Program, site: Site, profile: Profile, *, helper: bool) -> list[Config]:
    """The site's configs as its callers, or theirs, determine them: nearest callers first, until nothing is left open.

    A ``helper`` launches whatever kernel it is handed: each of its callers may hand it another.
    """
    assert site.function is not None
    configs: list[Config] = []
    limits = replace(program.limits, paths=_CALLER_PATHS, site_steps=program.limits.site_steps // 3)
    budget = program.limits.site_steps * (4 if helper else 1)
    width = _HELPER_CALLERS if helper else _CALLERS
    stop = None if helper else _left_to_callers
    spent, cut = 0, ""
    level = [(site.module, site.function, (site.function.node,))]
    for _ in range(_CALLER_LEVELS):
        upper: list[Any] = []
        for module, entry, through in level:
            known = program.callers.near(module, entry) if helper else program.callers.of(module, entry)
            callers: list[Any] = [(*caller, None) for caller in known[:width]]
            callers += program.callers.decorated(module, entry)[: width * 2] if helper else []
            for caller_module, caller, maker in callers:
                if caller.node in through:
                    continue
                if spent > budget:
                    return _marked(configs, f"more than {budget:,} steps through its callers")
                decorator = maker.node if maker is not None else None
                chain = through if decorator is None else (*through, decorator)
                found = follow(program, site, profile, caller, caller_module, chain, limits=limits, decorator=decorator, give_up=stop)
                spent += found.steps
                configs.extend(found.configs)
                cut = cut or found.cut
                stands_in = helper and not found.kernels and program.callers.decorated(caller_module, caller)
                if found.unknown_kernel or stands_in or any(_left_to_callers(config) for config in found.configs):
                    upper.append((caller_module, caller, (*through, caller.node)))
        if any(not config.unresolved for config in configs) or not upper:
            break
        level = upper[:_CALLERS]
    return _marked(configs, cut)


def _with_sizes_of(program: Program, site: Site, profile: Profile, found: Found, known: list[Config], unsure: set[str]) -> list[Config]:
    """The site's own configs once more, with the sizes that callers are known to give in place of any.

    ``unsure`` are constexprs that some caller leaves open: those may have any value.
    """
    sizes: dict[str, set[int]] = {}
    for name, text in {pair for config in found.configs for pair in config.tried if pair[0] not in unsure}:
        values = {assumed(config.constexprs[name]) if name in config.assumed else config.constexprs[name]
                  for config in known if isinstance(config.constexprs.get(name), int)}  # fmt: skip
        if values:
            sizes.setdefault(text, set()).update(values)
    domains = {text: tuple(sorted(values)) for text, values in sizes.items() if len(values) <= _SIZE_VALUES}
    return follow(program, site, profile, domains=domains).configs if domains else found.configs


def _unlike(configs: list[Config]) -> list[Config]:
    """Each config once; of two that differ in what was assumed alone the first."""
    found: dict[Any, Config] = {}
    for config in configs:
        found.setdefault(key_of(config), config)
    return list(found.values())


def _of_known_sizes(program: Program, site: Site, profile: Profile) -> list[Config]:
    """The site's configs where its callers, or theirs, know the sizes that it leaves open; tests call with small ones."""
    limits = replace(program.limits, paths=_SIZE_PATHS, site_steps=program.limits.site_steps // 15)
    spent = 0
    assert site.function is not None
    level = [(site.module, site.function, (site.function.node,))]
    for _ in range(_SIZE_LEVELS):
        upper: list[Any] = []
        configs: list[Config] = []
        for module, entry, through in level:
            for caller_module, caller in program.callers.of(module, entry)[:_SIZE_CALLERS]:
                if caller.node not in through and not _TESTS.search(caller_module.file) and spent < program.limits.site_steps // 6:
                    found = follow(program, site, profile, caller, caller_module, through, limits=limits)
                    spent += found.steps
                    configs += found.configs
                    upper.append((caller_module, caller, (*through, caller.node)))
        if any(not config.unresolved and not config.tried for config in configs):
            return configs
        level = upper[:_SIZE_CALLERS]
    return []


def _marked(configs: list[Config], cut: str) -> list[Config]:
    return [replace(config, cut=config.cut or cut) for config in configs] if cut else configs


def _looks_like_one(site: Site) -> bool:
    """Whether a call of something that is not known to be a kernel may launch one: subscripted calls of other things are common."""
    names = {keyword.arg for keyword in site.node.keywords}
    if names & {"num_warps", "num_stages", "grid", None}:
        return True
    text = ast.unparse(site.node.func)
    return ("kernel" in text.lower() or "grid" in text or "fn[" in text) and len(site.node.args) + len(names) > 1


def _list_of(config: Config) -> tuple[str, int, int]:
    return config.kernel_file, config.kernel_line, config.line


def _lists(program: Program, module: SourceModule) -> Iterator[Config]:
    """Autotune lists as they stand, one config an entry: what is known of them where no launch is found."""
    for entry in module.functions:
        if not entry.node.decorator_list or jit_kind(entry.node, module, program.repository) != "jit":
            continue
        if not any(autotune_call(program, module, decorator) for decorator in entry.node.decorator_list):
            continue
        yield from list_configs(program, module, entry)
    for kernel in applied_in(program, module):
        yield from _entries(program, module, kernel)


def list_configs(program: Program, module: SourceModule, entry: FunctionEntry) -> Iterator[Config]:
    """The entries of one kernel's autotune list, without a launch."""
    assert isinstance(entry.node, ast.FunctionDef)
    scope = Scope(module) if not entry.owners else Scope(module, program.module_scope(module))
    return _entries(program, module, Kernel(module, entry.node, "jit", scope))


def _entries(program: Program, module: SourceModule, kernel: Kernel) -> Iterator[Config]:
    found = autotune_for(program, kernel)
    if found is None:
        return
    common = {"file": module.file, "line": found.line, "column": 1, "kernel": kernel.name, "kernel_file": kernel.module.file,
              "kernel_line": kernel.node.lineno, "origin": "autotune"}  # fmt: skip
    if found.configs is None:
        yield Config(**common, unresolved=(Missing("configs", found.reason, found.reason_line),))  # type: ignore[arg-type]
        return
    for index, entry_config in enumerate(found.configs):
        options = {name: getattr(entry_config, name) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        kwargs = {name: json_value(value) for name, value in entry_config.kwargs.items()}
        yield Config(
            **common,  # type: ignore[arg-type]
            index=index,
            of=len(found.configs),
            constexprs={name: value for name, value in kwargs.items() if name not in options},
            options={name: value for name, value in options.items() if value is not None}
            | {k: v for k, v in kwargs.items() if k in options},
            unresolved=(Missing("launch", "the arguments of the kernel depend on its launch", found.line),),
            tuned={**kwargs, **{name: value for name, value in options.items() if value is not None}},
        )
