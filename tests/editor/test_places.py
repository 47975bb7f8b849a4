"""Lines and columns of findings as editors count them."""

import pytest

from smem_lint.cli.editor.places import Place, Places

TEXT = "é = 1\r\n\x0c𝛼 = f(é)  # x\x0by\rlast"


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 8), ("utf-16", 6), ("utf-32", 5)])
def test_a_column_in_bytes_becomes_one_in_units_of_the_encoding(encoding, character):
    assert Places(TEXT, encoding).at(2, 1 + len("\x0c𝛼 = ".encode())) == Place(1, character)


def test_only_line_ends_end_lines():
    places = Places(TEXT)
    assert places.lines == ["é = 1", "\x0c𝛼 = f(é)  # x\x0by", "last"]
    assert [places.offset(place) for place in (0, 2, 8, 9)] == [Place(0, 0), Place(0, 1), Place(1, 0), Place(1, 1)]


def test_what_lies_behind_the_text_is_its_end():
    assert Places("a\nbc").at(9, 9) == Place(1, 2)
    assert Places("x = 1   \n").end(1) == Place(0, 5)
