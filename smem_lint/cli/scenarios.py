"""Host code to configs, under the profile and the assumptions of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from smem_lint.cli.errors import UsageError
from smem_lint.config import Settings
from smem_lint.host.config import Config
from smem_lint.host.profile import BadProfile
from smem_lint.host.resolve import resolve
from smem_lint.source.modules import Repository
from smem_lint.source.reading import Problem


def resolved(repository: Repository, files: Iterable[str], capability: int, settings: Settings) -> Iterator[Config | Problem]:
    """Every config of the files for a target, and a problem for each file that cannot be read. Raises UsageError."""
    name = settings.profile[0] if settings.profile else "vllm"
    try:
        yield from resolve(repository, files, capability=capability, profile=name, assume=settings.assume)
    except BadProfile as error:
        raise UsageError(str(error)) from error
