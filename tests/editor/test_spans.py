"""Which lines of a text a launch, a list and its entries take."""

from smem_lint.cli.editor.spans import Spans

WRITTEN = """\
@triton.autotune(
    configs=[
        triton.Config({"B": 16}),
        triton.Config(
            {"B": 32},
        ),
    ],
    key=["N"],
)
@triton.jit
def kernel(
    x,
    B: tl.constexpr,
):
    pass


def launch(x):
    kernel[(1,)](
        x,
    )
"""


def test_entries_of_a_list_that_is_written_out():
    tuned = Spans(WRITTEN).tuned(1)
    assert tuned.lines == range(1, 10) and tuned.entries == (range(3, 4), range(4, 7))
    assert [tuned.entry(line) for line in (2, 3, 4, 6, 7)] == [None, 0, 1, 1, None]


def test_the_lines_of_a_launch_and_of_a_kernel():
    spans = Spans(WRITTEN)
    assert spans.call(19, 5) == range(19, 22)
    assert spans.heading(11) == range(1, 15)


def test_a_list_made_elsewhere_is_followed_by_name():
    made = "def make():\n    return [\n        C(1),\n        C(2),\n    ]\n\nconfigs = make()\n\n"
    text = made + "@tune(configs, key=[])\ndef kernel():\n    pass\n"
    tuned = Spans(text).tuned(9)
    assert tuned.entries == (range(3, 4), range(4, 5))
    assert [line for line in range(1, 12) if tuned.holds(line)] == [1, 2, 3, 4, 5, 7, 9]


def test_a_list_that_is_computed_has_no_entries():
    text = "configs = [C(b) for b in (1, 2)]\n@tune(configs=configs)\ndef kernel():\n    pass\n"
    assert Spans(text).tuned(2).entries == () and Spans(text).tuned(2).holds(1)
    two = "a = [C(1)]\nb = [C(2)]\n@tune(configs=a + b)\ndef kernel():\n    pass\n"
    assert Spans(two).tuned(3).entries == () and Spans(two).tuned(3).holds(2)


def test_a_text_that_is_no_python_has_single_lines():
    spans = Spans("def broken(:\n")
    assert spans.call(1, 1) == range(1, 2) and spans.tuned(1).lines == range(1, 2)
