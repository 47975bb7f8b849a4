"""Names followed through imports, and what counts as a kernel."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from smem_lint.source.modules import Definition, External, Repository, SourceModule, jit_kind


def repository(tmp_path: Path, **files: str) -> Repository:
    for name, text in files.items():
        path = tmp_path / (name.replace("__init__", "%").replace("__", "/").replace("%", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Repository([tmp_path])


REEXPORTS = {
    "pkg____init__": "",
    "pkg__tt____init__": (
        "from pkg.tt.check import HAS\nif HAS:\n    import triton\n    import triton.language as tl\n"
        "else:\n    triton = object()\n    tl = object()\n"
    ),
    "pkg__tt__check": "HAS = True\n",
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import triton\n@triton.jit\ndef k(): pass", "jit"),
        ("from triton import jit\n@jit\ndef k(): pass", "jit"),
        ("import triton as t\n@t.jit(do_not_specialize=['T'])\ndef k(): pass", "jit"),
        ("from pkg.tt import triton\n@triton.jit\ndef k(): pass", "jit"),
        ("from .tt import triton as t\n@t.autotune(configs=[], key=[])\n@mine\n@t.jit\ndef k(): pass", "jit"),
        ("from pkg import tt\n@tt.triton.jit\ndef k(): pass", "jit"),
        ("from elsewhere.helpers import triton\n@triton.jit\ndef k(): pass", "jit"),
        ("import triton\nmyjit = triton.jit\n@myjit\ndef k(): pass", "jit"),
        ("import functools, triton\nj = functools.partial(triton.jit, noinline=True)\n@j\ndef k(): pass", "jit"),
        ("import triton\ndef deco(f):\n    return triton.jit(f)\n@deco\ndef k(): pass", "jit"),
        ("from triton.experimental import gluon\n@gluon.jit\ndef k(): pass", "gluon"),
        ("import triton\n@triton.constexpr_function\ndef k(): pass", "constexpr_function"),
        ("import torch\n@torch.jit.script\ndef k(): pass", None),
        ("from numba import jit\n@jit\ndef k(): pass", None),
        ("class A:\n    def f(self):\n        if x:\n            import triton\n", None),
    ],
)
def test_decorators(tmp_path: Path, text: str, kind: str | None) -> None:
    repo = repository(tmp_path, **REEXPORTS, pkg__k=text)
    module = repo.module("pkg/k.py")
    assert module is not None
    function = module.find_function("k")
    assert (jit_kind(function, module, repo) if function else None) == kind


def test_of_several_functions_the_kernel_is_found(tmp_path: Path) -> None:
    text = (
        "import triton\ndef k(): return 1\n"
        "if flag:\n    class A:\n        @triton.jit\n        def k(x): pass\nelse:\n    def k(y): pass\n"
        "def outer():\n    @triton.jit\n    def inner(): pass\n"
    )
    module = repository(tmp_path, a=text).module("a.py")
    assert module is not None
    found = module.find_function("k")
    assert found is not None and found.args.args[0].arg == "x"
    assert module.find_function("A.k") is found
    assert module.find_function("outer.<locals>.inner") is module.find_function("inner") is not None
    assert module.find_function("absent") is None


def test_names_across_modules(tmp_path: Path) -> None:
    repo = repository(
        tmp_path,
        pkg____init__="from .sub import *\nfrom . import leaf\n",
        pkg__sub____init__="from ..leaf import value as renamed, fn\nalias = fn\n",
        pkg__leaf="value = 3\ndef fn(): pass\n",
        user="import pkg.leaf as L\nimport pkg\nfrom pkg import renamed\nimport numpy as np\nif a:\n    v = 1\nelse:\n    v = 2\n",
    )
    module = repo.module("user.py")
    assert module is not None
    for name in ("L.fn", "pkg.fn", "pkg.leaf.fn", "pkg.sub.alias"):
        found = repo.resolve(module, name)
        assert isinstance(found, Definition) and found.module.file == "pkg/leaf.py" and isinstance(found.node, ast.FunctionDef), name
    value = repo.resolve(module, "renamed")
    assert isinstance(value, Definition) and ast.literal_eval(value.binding.value or "") == 3
    assert isinstance(repo.resolve(module, "L"), SourceModule)
    assert repo.resolve(module, "np.float32") == External("numpy.float32")
    assert repo.resolve(module, "missing") is None
    branches = [ast.unparse(m.binding.value or ast.Constant(0)) for m in repo.resolve_all(module, "v") if isinstance(m, Definition)]
    assert branches == ["1", "2"]
    assert [guard.taken for binding in module.bindings["v"] for guard in binding.guards] == [True, False]


def test_import_cycles_end(tmp_path: Path) -> None:
    repo = repository(tmp_path, a="from b import x\n", b="from a import x\n", c="from c import y\nz = z\n")
    for file, name in (("a.py", "x"), ("c.py", "y")):
        module = repo.module(file)
        assert module is not None and repo.resolve(module, name) is None


def test_a_package_inside_its_own_folder_resolves(tmp_path: Path) -> None:
    repository(tmp_path, **REEXPORTS, pkg__ops____init__="", pkg__ops__k="from pkg.tt import tl\n")
    repo = Repository([tmp_path / "pkg" / "ops"])
    module = repo.module("k.py")
    assert module is not None and module.dotted == "pkg.ops.k"
    assert repo.resolve(module, "tl") == External("triton.language")


def test_memory_is_bounded_and_broken_files_are_problems(tmp_path: Path) -> None:
    files = {f"m{i}": f"x = {i}\n" + "# pad\n" * 100 for i in range(20)}
    repo = repository(tmp_path, **files, broken="def f(:\n")
    small = Repository(repo.roots, cached_bytes=2_000)
    for i in range(20):
        module = small.module(f"m{i}.py")
        assert module is not None and repo.resolve(module, "x") is not None
    assert len(small._modules) <= 4
    assert small.module("broken.py") is None and small.module("absent.py") is None
    assert small.problems["broken.py"].line == 1
