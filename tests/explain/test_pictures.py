"""``--plot`` and ``--graph``: what they hold, that they come out the same each time, and what happens without matplotlib."""

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from smem_lint.cli import main
from smem_lint.explain import peak
from smem_lint.model import ModelEngine
from smem_lint.report.graph import draw, program_graph
from smem_lint.specialization import Specialization

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "fixtures" / "kernels"
MLA = f"{KERNELS / 'mla_decode.py'}::_mla_decode_split"


def record(kernel, **wanted):
    for line in (ROOT / "fixtures" / "truth" / "fixtures.jsonl").read_text().splitlines():
        one = json.loads(line)
        told = {**one["signature"], **one["constexprs"], "num_stages": one["num_stages"], "target": one.get("target", "cuda:120")}
        if one["kernel"] == kernel and all(told.get(name) == value for name, value in wanted.items()):
            return Specialization.from_record(one)
    raise LookupError(kernel)


def graph_of(one):
    return program_graph(ModelEngine([KERNELS]), one, (KERNELS / one.file).read_text().splitlines())


@pytest.fixture(scope="module")
def mla():
    return graph_of(record("_mla_decode_split", kv_cache="*fp8e4nv", LATENT=512, BLOCK_N=32, num_stages=2))


def test_a_graph_holds_every_byte_of_the_peak(mla):
    held = [data for _, data in mla.nodes(data=True) if data["peak"]]
    assert sum(data["bytes"] for data in held) == mla.graph["total"] == 102400
    assert {(data["kind"], data["line"], data["bytes"]) for data in held} == {
        ("operand", 44, 32768), ("operand", 32, 16384), ("staged", 44, 16384), ("operand", 33, 2048), ("staged", 48, 2048),
    }  # fmt: skip


def test_a_graph_follows_the_data(mla):
    edges = {(mla.nodes[a]["kind"], mla.nodes[a]["line"], mla.nodes[b]["kind"], mla.nodes[b]["line"]) for a, b in mla.edges}
    assert {
        ("load", 42, "load", 44), ("load", 44, "staged", 44), ("staged", 44, "operand", 44), ("operand", 44, "dot", 47),
        ("operand", 44, "dot", 57), ("operand", 32, "dot", 47), ("dot", 47, "dot", 51), ("dot", 57, "scratch", 61),
        ("scratch", 61, "store", 61),
    } <= edges  # fmt: skip
    inside = {data["line"] for _, data in mla.nodes(data=True) if data["loop"] is not None}
    assert inside == {42, 44, 47, 48, 51, 54, 56, 57, 58} and mla.graph["loops"] == {0: (None, 39)}


def test_a_function_that_is_inlined_twice_has_two_loops():
    graph = graph_of(record("_attn_fwd", STAGE=3, num_stages=2))
    loads = [data["loop"] for _, data in graph.nodes(data=True) if data["kind"] == "load" and data["line"] == 46]
    assert sorted(loads) == [0, 1]


def test_descriptor_loads_lead_to_their_buffers():
    graph = graph_of(record("descriptor_matmul_kernel"))
    edges = {(graph.nodes[a]["kind"], graph.nodes[b]["kind"]) for a, b in graph.edges}
    assert ("load", "staged") in edges and ("staged", "dot") in edges and ("load", "barrier") not in edges


def test_every_fixture_has_a_graph_that_holds_its_peak():
    seen = set()
    for line in (ROOT / "fixtures" / "truth" / "fixtures.jsonl").read_text().splitlines():
        one = json.loads(line)
        if one["kernel"] in seen or not (KERNELS / one["file"]).is_file():
            continue
        seen.add(one["kernel"])
        specialization = Specialization.from_record(one)
        (estimate,) = ModelEngine([KERNELS]).estimate([specialization])
        found = peak(estimate)
        graph = graph_of(specialization)
        assert graph.graph["total"] == estimate.bytes
        held = sum(data["bytes"] for _, data in graph.nodes(data=True) if data["peak"])
        assert held == (found.total - found.gaps if found is not None else 0), one["kernel"]
    assert len(seen) >= 20


def test_dot_text(mla, tmp_path):
    draw(mla, tmp_path / "g.dot", 'a "kernel"')
    text = (tmp_path / "g.dot").read_text()
    assert text.startswith('digraph "a \\"kernel\\"" {') and text.count("{") == text.count("}")
    assert "subgraph cluster_0 {" in text and 'label="loop, line 39"' in text
    assert "staged 1 × 512×32 fp8e4nv\\n16,384 B at 81,920, at the peak" in text


@pytest.mark.parametrize("option", ["--plot", "--graph"])
def test_pictures_come_out_the_same(option, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")
    for name in ("a.svg", "b.svg", "c.png"):
        assert main(["explain", MLA, "kv_cache=*bf16,*fp8e4nv", "num_stages=1,2", option, str(tmp_path / name)]) == 0
    capsys.readouterr()
    one, other = (tmp_path / "a.svg").read_bytes(), (tmp_path / "b.svg").read_bytes()
    assert one == other and ET.fromstring(one).tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["explain", MLA, "--html", str(tmp_path / "x.html"), "--graph", str(tmp_path / "x.dot")]) == 1
    capsys.readouterr()
    code = main(["explain", MLA, "--plot", str(tmp_path / "x.svg")])
    assert code == 2
    assert capsys.readouterr().err == "smem-lint: error: pictures need matplotlib: pip install 'smem-lint[report]'\n"
