"""Host code to configs, under the profile and the assumptions of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from smem_lint.cli.errors import UsageError
from smem_lint.config import Settings
from smem_lint.host import resolve
from smem_lint.host.config import Config
from smem_lint.host.profile import BadProfile, Profile, load
from smem_lint.source.modules import Repository
from smem_lint.source.reading import Problem


def resolved(repository: Repository, files: Iterable[str], capability: int, settings: Settings) -> Iterator[Config | Problem]:
    """Every config of the files for a target, and a problem for each file that cannot be read. Raises UsageError."""
    return resolve(repository, files, capability=capability, profile=profile_of(settings), tuned=settings.tuned)


def profile_of(settings: Settings) -> Profile:
    """The named profiles, what a later one says standing first; a name that ends in ``.toml`` is a file beside the settings.

    Raises UsageError.
    """
    folder = Path(settings.origin).parent if settings.origin else Path.cwd()
    names = settings.profile or ("generic",)
    try:
        found = [load(str(folder / name) if name.endswith(".toml") else name, settings.assume) for name in names]
    except BadProfile as error:
        raise UsageError(f"profile: {error}") from error
    made = found[0]
    for later in found[1:]:
        groups = {group.name: group for group in (*made.groups, *later.groups)}
        made = replace(
            later, groups=tuple(groups.values()), pointers=(*later.pointers, *made.pointers), scalars=(*later.scalars, *made.scalars)
        )
    return made
