"""What the installed Triton does to one kernel, pass by pass, on a machine without a GPU: what each pass of the model is held against.

usage: python -m smem_lint.verify.oracle RECORDS.jsonl OUT_DIR --root DIR [--index N ...]

Writes one folder for each record: ``00-frontend.mlir``, then ``NN-pass.mlir`` after every pass that changed the program;
``passes.txt`` names all passes in order, with ``(no change)`` behind those that changed nothing; ``record.json`` is the
specialization. The order of the passes is the installed Triton's own. The kernel's module is not imported: the kernel is cut out of
its source, as for the ``compiler`` engine.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import tempfile
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.verify import compile_child
from smem_lint.verify.cut import CannotCut, cut

FRONTEND = "frontend"


class Step(NamedTuple):
    """A pass that ran, and the program after it without locations; ``text`` is None where the pass changed nothing."""

    name: str
    text: str | None


class _Programs:
    """The module as passes change it, and what it was after each."""

    def __init__(self, context: Any, module: Any) -> None:
        self.context, self.module, self.last = context, module, ""
        self.steps: list[Step] = []

    def keep(self, name: str) -> None:
        text = str(self.module.str_nodebug()) if hasattr(self.module, "str_nodebug") else str(self.module)
        self.steps.append(Step(name, None if text == self.last else text))
        self.last = text

    def run(self, add: Any, name: str, arguments: Sequence[Any]) -> None:
        from triton._C.libtriton import ir

        manager = ir.pass_manager(self.context)
        add(manager, *arguments)
        try:
            manager.run(self.module, name)
        except TypeError:  # before 3.6
            manager.run(self.module)
        self.keep(name)


class _Immediately:
    """Stands where the backend looks for its passes: each runs when it is added to a pipeline."""

    def __init__(self, real: Any, programs: _Programs) -> None:
        self._real, self._programs = real, programs

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if isinstance(real, types.ModuleType):
            return _Immediately(real, self._programs)
        if not name.startswith("add_"):
            return real
        return lambda _, *arguments: self._programs.run(real, name.removeprefix("add_"), arguments)


def steps_of(kernel: Any, record: dict[str, Any]) -> list[Step]:
    """Every pass up to the allocation of shared memory, for a ``JITFunction`` and its specialization's record.

    Raises what the compiler raises, and AttributeError where this Triton's passes are not those that are known.
    """
    import triton.backends.nvidia.compiler as backend_module
    from triton._C.libtriton import ir

    source, target, backend, options = compile_child._prepare(kernel, record)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generate, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    given = (target, options) if "target" in inspect.signature(source.make_ir).parameters else (options,)
    programs = _Programs(context, source.make_ir(*given, generate, modules, context))
    programs.keep(FRONTEND)
    real = backend_module.passes, backend_module.nvidia
    passes, nvidia = (_Immediately(one, programs) for one in real)
    backend_module.passes, backend_module.nvidia = passes, nvidia
    try:
        metadata: dict[str, Any] = {}
        programs.module = backend.make_ttir(programs.module, metadata, options, target.arch)
        programs.module = backend.make_ttgir(programs.module, metadata, options, target.arch)
        _allocate(passes, nvidia, target.arch)
    finally:
        backend_module.passes, backend_module.nvidia = real
    return programs.steps


def _allocate(passes: Any, nvidia: Any, capability: int) -> None:
    """The first passes of ``make_llir``, which end with the allocation."""
    passes.ttgpuir.add_combine_tensor_select_and_if(None)
    try:
        passes.ttgpuir.add_allocate_warp_groups(None, False)
    except TypeError:  # before 3.8
        passes.ttgpuir.add_allocate_warp_groups(None)
    passes.convert.add_scf_to_cf(None)
    if hasattr(passes, "gluon") and hasattr(passes.gluon, "add_inliner"):
        passes.gluon.add_inliner(None)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(None, capability, 90)


def write(steps: Sequence[Step], folder: Path, record: dict[str, Any]) -> None:
    """Write the files of one record into ``folder``, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    order = []
    for number, step in enumerate(steps):
        order.append(f"{number:02d} {step.name}{'' if step.text is not None else '  (no change)'}")
        if step.text is not None:
            (folder / f"{number:02d}-{step.name}.mlir").write_text(step.text)
    (folder / "passes.txt").write_text("\n".join(order) + "\n")
    (folder / "record.json").write_text(json.dumps(record))


def load(repository: Repository, specialization: Specialization, folder: Path) -> Any:
    """The kernel's ``JITFunction``, out of modules that are written to ``folder`` and hold jit functions alone; raises CannotCut."""
    piece = cut(repository, specialization.file, specialization.kernel, specialization.capability)
    for name, text in piece.modules.items():
        (folder / f"{name}.py").write_text(text)
    outside = types.ModuleType("smem_lint_cut")
    outside.outside = compile_child._outside  # type: ignore[attr-defined]
    sys.modules["smem_lint_cut"] = outside
    sys.path.insert(0, str(folder))
    try:
        return compile_child._load({"folder": str(folder), "main": piece.main, "kernel": piece.kernel})
    finally:
        sys.path.remove(str(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--index", type=int, action="append", help="only these records, counted from 0")
    options = parser.parse_args(arguments)
    repository = Repository(options.root)
    failed = 0
    for number, line in enumerate(options.records.read_text().splitlines()):
        if options.index and number not in options.index:
            continue
        record = json.loads(line)
        specialization = Specialization.from_record(record)
        with tempfile.TemporaryDirectory() as folder:
            try:
                steps = steps_of(load(repository, specialization, Path(folder)), specialization.to_record())
            except (CannotCut, Exception) as error:
                print(f"{number} {specialization.kernel}: {error}", file=sys.stderr)
                failed += 1
                continue
        write(steps, options.out / f"{options.records.stem}-{number}", record)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
