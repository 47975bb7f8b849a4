"""The settings in force: ``[tool.smem-lint]`` of the nearest ``pyproject.toml``, or a ``smem-lint.toml``, under the command line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from smem_lint.toml import TOMLError, load_toml

ENGINES = ("auto", "model", "compiler", "gpu")
OUTPUT_FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")


class ConfigError(ValueError):
    """A setting that cannot be used; the message begins with the file that holds it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, with its default. Names are those of the configuration file, with ``_`` for ``-``.

    ``target``: compute capabilities or cards, comma-separated. ``triton``: the version to model. ``assume``: values of names that
    the source leaves open (``{"BLOCK_M": 128, "KV_Buffer": "*fp8e4nv"}``). ``profile``: names of shape profiles that ship with
    smem-lint, or TOML files of your own. ``tuned``: folder patterns of tuned JSON files to the kernels that read them. ``rules``:
    folders or files with rules of your own. ``near_limit``: bytes of headroom under which a config is near.
    """

    target: str = "sm_120"
    triton: str = ""
    engine: str = "auto"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    profile: tuple[str, ...] = ("vllm",)
    assume: Mapping[str, Any] = field(default_factory=dict)
    tuned: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    baseline: str = ""
    output_format: str = "full"
    jobs: int = 0
    cache_dir: str = ""
    near_limit: int = 4096
    max_configs: int = 4096
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        return {one.name.replace("_", "-"): _plain(getattr(self, one.name)) for one in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return list(value) if isinstance(value, tuple) else value


_LISTS = {"select", "ignore", "exclude", "profile", "rules"}
_TABLES = {"per_file_ignores", "assume", "tuned"}
_NUMBERS = {"jobs", "near_limit", "max_configs"}
_CHOICES = {"engine": ENGINES, "output_format": OUTPUT_FORMATS}


def find_config(start: Path) -> Path | None:
    """The nearest file at or above ``start`` that configures smem-lint."""
    folder = start if start.is_dir() else start.parent
    for where in (folder.resolve(), *folder.resolve().parents):
        for name in (".smem-lint.toml", "smem-lint.toml"):
            if (where / name).is_file():
                return where / name
        project = where / "pyproject.toml"
        if project.is_file() and _mentions(project):
            return project
    return None


def _mentions(project: Path) -> bool:
    """Whether it has a table of ours; one that has, but is no TOML, is not passed over: loading it says what is wrong."""
    data = b""
    try:
        data = project.read_bytes()
        return b"smem-lint" in data and "smem-lint" in load_toml(project).get("tool", {})
    except (TOMLError, UnicodeDecodeError):
        return b"[tool.smem-lint" in data
    except (OSError, TypeError, AttributeError):
        return False


def load(path: Path | None) -> Settings:
    """The settings of a file (the defaults for None); raises ConfigError with the file, and the key where it is known."""
    if path is None:
        return Settings()
    try:
        table = load_toml(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (TOMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    if path.name == "pyproject.toml" or "tool" in table:
        for name in ("tool", "smem-lint"):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{path}: {name}: expected a table")
    settings = apply(Settings(), table, str(path))
    baseline, cache_dir = (str(path.parent / place) if place else "" for place in (settings.baseline, settings.cache_dir))
    return replace(settings, origin=str(path), baseline=baseline, cache_dir=cache_dir)


def apply(settings: Settings, given: Mapping[str, Any], origin: str) -> Settings:
    """``settings`` changed by a table of keys (``-`` or ``_``); raises ConfigError."""
    known = {one.name for one in fields(Settings)} - {"origin"}
    changes = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"; did you mean {near[0].replace('_', '-')!r}?" if near else ""
            raise ConfigError(f"{origin}: unknown setting {key!r}{hint}")
        changes[name] = _checked(name, value, f"{origin}: {key}")
    return replace(settings, **changes)


def _checked(name: str, value: Any, where: str) -> Any:
    if name in _LISTS:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, (list, tuple)) or not all(isinstance(one, str) for one in values):
            raise ConfigError(f"{where}: expected a list of text")
        return tuple(values)
    if name in _TABLES:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a table")
        return _ignores(value, where) if name == "per_file_ignores" else dict(value)
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{where}: expected a whole number, got {value!r}")
        return value
    if name == "target" and isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    if not isinstance(value, str):
        raise ConfigError(f"{where}: expected text, got {value!r}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(f"{where}: {value!r} is not one of {', '.join(_CHOICES[name])}")
    return value


def _ignores(value: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
    result = {}
    for pattern, codes in value.items():
        listed = [codes] if isinstance(codes, str) else codes
        if not isinstance(listed, list) or not all(isinstance(code, str) for code in listed):
            raise ConfigError(f"{where}: {pattern}: expected a list of rules")
        result[pattern] = tuple(listed)
    return result
