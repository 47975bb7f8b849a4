"""Writes every Triton launch of a process, and each config of each autotuner, as specialization records.

This file is read by the interpreter of the program that is recorded, which need not have smem-lint: it stands on its own.
``SMEM_LINT_RECORD`` holds its settings as JSON: ``output`` and ``notes`` (files that lines are appended to), ``roots`` (folders that
files are written relative to) and ``device`` (facts of the device that is stood in for; null to observe a real one).

What it holds on to are ``JITFunction.run``, ``JITFunction._do_compile`` and ``Autotuner.run`` of Triton 3.5 to 3.9: a specialization
that was not compiled before passes through ``_do_compile``, and where that returns None ``run`` launches nothing.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_NOTES = 1000


class Unrecordable(Exception):
    """A launch that a specialization record cannot say; the message says why."""


class Recorder:
    """Where records go, and what this process has written already."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.output, self.notes = settings["output"], settings["notes"]
        self.roots: list[str] = settings["roots"]
        self.device: dict[str, Any] | None = settings["device"]
        self.written: set[str] = set()
        self.noted = 0
        self.lock = threading.Lock()
        self.local = threading.local()

    @property
    def dry(self) -> bool:
        """Whether launches of this thread are written and go no further."""
        return self.device is not None or getattr(self.local, "dry", False)

    @contextmanager
    def config(self, told: dict[str, Any] | None) -> Iterator[None]:
        """Inside, launches are those of one config of an autotuner, and go no further."""
        before = (getattr(self.local, "dry", False), getattr(self.local, "told", None))
        self.local.dry, self.local.told = True, told
        try:
            yield
        finally:
            self.local.dry, self.local.told = before

    def write(self, record: dict[str, Any]) -> None:
        """Append one record, unless this process has done so. Raises OSError."""
        key = json.dumps({name: record[name] for name in record if name not in ("autotune", "launch", "case")}, sort_keys=True)
        with self.lock:
            if key not in self.written:
                _append(self.output, record)
                self.written.add(key)

    def note(self, **told: Any) -> None:
        """Say something to whoever started the recording; a full disk is not worth the program's end."""
        with self.lock, suppress(OSError):
            if self.noted < _MOST_NOTES:
                self.noted += 1
                _append(self.notes, {"pid": os.getpid(), **told})

    def failed(self, function: Any, error: BaseException) -> None:
        kernel = getattr(getattr(function, "fn", function), "__name__", str(function))
        text = str(error).strip().splitlines()
        said = "" if isinstance(error, Unrecordable) else f"{type(error).__name__}: "
        self.note(kernel=kernel, error=said + (text[0][:300] if text else ""), disk=isinstance(error, OSError))


def _append(path: str, value: dict[str, Any]) -> None:
    """One line, whole: written by one call to a file that is opened for appending, so that processes do not mix theirs."""
    line = (json.dumps(value) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        while line:
            line = line[os.write(handle, line) :]
    finally:
        os.close(handle)


def install() -> None:
    """Hook in as soon as Triton is imported; costs nothing where it is not."""
    recorder = Recorder(json.loads(os.environ["SMEM_LINT_RECORD"]))
    patches: dict[str, Callable[[ModuleType], None]] = {
        "triton.runtime.jit": functools.partial(_patch_jit, recorder),
        "triton.runtime.autotuner": functools.partial(_patch_autotuner, recorder),
    }
    if recorder.device is not None:
        import smem_lint_stand_in

        os.environ.pop("TRITON_INTERPRET", None)
        patches["triton.runtime.driver"] = functools.partial(smem_lint_stand_in.replace_driver, recorder.device)
        patches["torch"] = functools.partial(smem_lint_stand_in.replace_device, recorder.device)
    sys.meta_path.insert(0, _AfterImport(patches))


class _AfterImport:
    """Finds the modules of ``patches`` as they would be found, and patches each when it has been read."""

    def __init__(self, patches: dict[str, Callable[[ModuleType], None]]) -> None:
        self.patches, self.busy = patches, set[str]()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        patch = self.patches.get(name)
        if patch is None or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.discard(name)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            read = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                read(module)
                patch(module)

            loader.exec_module = exec_module
        return spec


def _patch_jit(recorder: Recorder, module: ModuleType) -> None:
    kind: Any = module.JITFunction
    run, compile_ = kind.run, kind._do_compile
    recorder.note(triton=_version())

    @functools.wraps(run)
    def recorded_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.dry:
            return run(self, *args, **kwargs)
        device = module.driver.active.get_current_device()
        caches = self.device_caches
        known = caches[device]
        # What was compiled before would be launched: in a cache of its own it is not.
        caches[device] = ({}, *known[1:])
        try:
            run(self, *args, **kwargs)
        finally:
            caches[device] = known
        return Launched()

    @functools.wraps(compile_)
    def recorded_compile(
        self: Any, key: Any, signature: Any, device: Any, constexprs: Any, options: Any, attrs: Any, *rest: Any, **named: Any
    ) -> Any:
        try:
            target = self.device_caches[device][2]
            recorder.write(_record(recorder, self, target, signature, constexprs, options, attrs))
        except Exception as error:
            recorder.failed(self, error)
        return None if recorder.dry else compile_(self, key, signature, device, constexprs, options, attrs, *rest, **named)

    kind.run, kind._do_compile = recorded_run, recorded_compile


def _version() -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get("triton"), "__version__", "unknown"))


class Launched:
    """What a launch that did not happen returns: enough of a compiled kernel for programs that ask one for its resources."""

    n_regs, n_spills, function, module = 32, 0, 0, None

    def __init__(self) -> None:
        self.metadata = type("Metadata", (), {"shared": 1024, "num_warps": 4, "num_stages": 3, "num_ctas": 1})()

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *_, **__: None


def _patch_autotuner(recorder: Recorder, module: ModuleType) -> None:
    kind: Any = module.Autotuner
    run = kind.run

    @functools.wraps(run)
    def recorded_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.dry:
            kept = _record_configs(recorder, self, args, kwargs)
            self.best_config = kept[0] if kept else self.configs[0]
            return Launched()
        with suppress(Exception):  # whatever goes wrong here is for the launch itself to tell
            if _is_new(self, args, kwargs):
                _record_configs(recorder, self, args, kwargs)
        return run(self, *args, **kwargs)

    kind.run = recorded_run


def _is_new(tuner: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a launch with such arguments was not seen: the autotuner's own key is made of the same."""
    named = {**dict(zip(tuner.arg_names, args, strict=False)), **kwargs}
    keys = [repr(named.get(name)) for name in tuner.keys]
    key = (*keys, *(str(value.dtype) for name, value in named.items() if name in tuner.arg_names and hasattr(value, "dtype")))
    seen = tuner.__dict__.setdefault("_smem_lint_seen", set())
    if key in seen:
        return False
    seen.add(key)
    return True


def _record_configs(recorder: Recorder, tuner: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Write every config of an autotuner for one set of arguments; the configs that its own pruning keeps."""
    before = getattr(tuner, "nargs", None)
    named = dict(zip(tuner.arg_names, args, strict=False))
    tuner.nargs = named
    configs = list(tuner.configs)
    try:
        kept = list(tuner.prune_configs(kwargs))
    except Exception as error:
        recorder.failed(tuner.base_fn, Unrecordable(f"its pruning failed: {type(error).__name__}: {error}"))
        kept = configs
    try:
        for index, config in enumerate(configs):
            given = {**kwargs, **config.all_kwargs()}
            stays = any(config is one or config == one for one in kept)
            told = {"index": index, "of": len(configs), "kept": stays, "names": list(config.kwargs)}
            try:
                if config.pre_hook is not None:
                    config.pre_hook({**named, **given})
                with recorder.config(told):
                    tuner.fn.run(*args, **given)
            except Exception as error:
                recorder.failed(tuner.base_fn, error)
    finally:
        tuner.nargs = before
    return kept


def _record(recorder: Recorder, function: Any, target: Any, signature: Any, constexprs: Any, options: Any, attrs: Any) -> dict[str, Any]:
    if function.is_gluon():
        raise Unrecordable("it is a Gluon kernel")
    if target.backend != "cuda":
        raise Unrecordable(f"it is compiled for {target.backend}")
    names = [parameter.name for parameter in function.params]
    if any(len(path) != 1 for path in (*constexprs, *attrs)) or not all(isinstance(kind, str) for kind in signature.values()):
        raise Unrecordable("it takes a tuple")
    source = inspect.getsourcefile(function.fn)
    if source is None or not os.path.isfile(source):
        raise Unrecordable("its source is in no file")
    root, file = _placed(recorder, source, function.fn.__module__)
    record: dict[str, Any] = {
        "file": file, "kernel": function.fn.__name__, "signature": dict(signature),
        "constexprs": {names[path[0]]: _plain(value) for path, value in constexprs.items()},
        "attrs": {names[path[0]]: dict(facts) for path, facts in attrs.items() if facts},
        "num_warps": options.num_warps, "num_stages": options.num_stages, "num_ctas": options.num_ctas, "target": f"cuda:{target.arch}",
    }  # fmt: skip
    if options.maxnreg:
        record["maxnreg"] = options.maxnreg
    told = getattr(recorder.local, "told", None)
    if told is not None:
        record["autotune"] = told
    launch = _launch(recorder)
    if launch is not None:
        record["launch"] = launch
    case = os.environ.get("PYTEST_CURRENT_TEST")
    if case:
        record["case"] = case.rpartition(" ")[0]
    return {**record, "root": root, "recorded_with": _version()}


def _plain(value: Any) -> Any:
    if type(value).__name__ == "constexpr":
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if type(value).__module__ == "triton.language.core" and type(value).__name__ in ("dtype", "pointer_type", "block_type"):
        return {"dtype": str(value)}
    return {"repr": repr(value)}


def _placed(recorder: Recorder, path: str, module: str) -> tuple[str, str]:
    """The root of a file and its path below: under a given root, else under the folder that its module is imported from."""
    path = os.path.realpath(path)
    for root in recorder.roots:
        if path.startswith(root + os.sep):
            return root, os.path.relpath(path, root)
    stem = os.path.splitext(path)[0]
    for name in (module, f"{module}.__init__"):
        tail = os.sep + name.replace(".", os.sep)
        if stem.endswith(tail):
            root = stem[: -len(tail)] or os.sep
            return root, os.path.relpath(path, root)
    return os.path.split(path)


def _launch(recorder: Recorder) -> str | None:
    """The line that launched: the innermost one that is neither Triton's nor ours."""
    triton = os.path.dirname(sys.modules["triton"].__file__ or "")
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((triton + os.sep, _HERE, "<")):
            _, place = _placed(recorder, file, frame.f_globals.get("__name__", ""))
            return f"{place}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None
