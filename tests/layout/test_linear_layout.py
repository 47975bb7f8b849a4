"""The laws of the layout algebra, on layouts that encodings can describe (bits permuted and repeated) and on arbitrary ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smem_lint.layout.linear import LinearLayout, log2

SHAPES = st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=3).map(tuple)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...] | None = None) -> LinearLayout:
    """Each element bit goes to a register, lane or warp bit; broadcast bits are mixed in. Every element is held somewhere."""
    tile = draw(SHAPES) if shape is None else shape
    bits = draw(st.permutations(range(sum(log2(size) for size in tile))))
    bases = [1 << bit for bit in bits] + [0] * draw(st.integers(0, 3))
    columns: tuple[list[int], ...] = ([], [], [])
    for basis in draw(st.permutations(bases)):
        draw(st.sampled_from(columns)).append(basis)
    return LinearLayout(("register", "lane", "warp"), columns, tile)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout]:
    shape = draw(SHAPES)
    return draw(layouts(shape)), draw(layouts(shape))


@st.composite
def maps(draw: st.DrawFn, inputs: tuple[int, ...], shape: tuple[int, ...]) -> LinearLayout:
    """Any linear map between tiles of these sizes."""
    bits = sum(log2(size) for size in shape)
    columns = [draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=log2(size), max_size=log2(size))) for size in inputs]
    return LinearLayout([f"in{i}" for i in range(len(inputs))], columns, shape)


@given(st.data())
def test_composition_is_associative(data: st.DataObject) -> None:
    sizes = [data.draw(SHAPES) for _ in range(4)]
    f, g, h = (data.draw(maps(sizes[i], sizes[i + 1])) for i in range(3))
    assert f.compose(g).compose(h) is f.compose(g.compose(h))


@given(st.data())
def test_a_composition_applies_one_map_after_the_other(data: st.DataObject) -> None:
    sizes = [data.draw(SHAPES) for _ in range(3)]
    f, g = (data.draw(maps(sizes[i], sizes[i + 1])) for i in range(2))
    place = {name: data.draw(st.integers(0, f.size(name) - 1)) for name in f.inputs}
    between = dict(zip(g.inputs, f.apply(**place), strict=True))
    assert f.compose(g).apply(**place) == g.apply(**between)


@given(pairs())
def test_invert_and_compose_finds_the_same_element(pair: tuple[LinearLayout, LinearLayout]) -> None:
    here, there = pair
    assert here.invert_and_compose(there).compose(there) is here


@given(layouts())
def test_a_layout_maps_to_itself_by_the_identity(layout: LinearLayout) -> None:
    moves = layout.invert_and_compose(layout)
    assert list(moves.all_bases()) == [1 << bit for bit in range(sum(map(len, layout.bases)))]


@given(layouts())
def test_a_bijective_layout_has_an_inverse(layout: LinearLayout) -> None:
    unique = layout
    for name in layout.inputs:
        unique = unique.without_zeros(name)
    assert unique.is_injective() and unique.is_surjective()
    elements = LinearLayout(["element"], [[1 << bit for bit in range(unique.bits)]], unique.shape)
    places = elements.invert_and_compose(unique)
    assert places.compose(unique) is elements
    assert unique.invert_and_compose(elements).compose(LinearLayout(["element"], places.bases, places.shape)).bits == unique.bits


@given(layouts(), st.data())
def test_transposing_back_and_forth_changes_nothing(layout: LinearLayout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.rank)))
    inverse = sorted(range(layout.rank), key=order.__getitem__)
    assert layout.transpose(order).transpose(inverse) is layout
    element = layout.apply(register=layout.size("register") - 1)
    assert layout.transpose(order).apply(register=layout.size("register") - 1) == tuple(element[dim] for dim in order)


@given(layouts())
def test_reshape_keeps_row_major_order(layout: LinearLayout) -> None:
    flat = layout.reshape((1 << layout.bits,))
    for name in layout.inputs:
        for coordinates, (number,) in zip(layout.coordinate_bases(name), flat.coordinate_bases(name), strict=True):
            row_major = 0
            for size, at in zip(layout.shape, coordinates, strict=True):
                row_major = row_major * size + at
            assert row_major == number
    assert flat.reshape(layout.shape) is layout


@given(layouts())
def test_free_bits_are_those_that_add_no_element(layout: LinearLayout) -> None:
    kept = {
        name: [basis for bit, basis in enumerate(layout[name]) if not mask >> bit & 1]
        for name, mask in layout.free_masks().items()
    }  # fmt: skip
    assert layout.replace(**kept).is_injective() and layout.replace(**kept).is_surjective()


@given(layouts())
def test_forgetting_a_coordinate_forgets_only_that_one(layout: LinearLayout) -> None:
    for dim in range(layout.rank):
        for name in layout.inputs:
            expected = [basis[:dim] + basis[dim + 1 :] for basis in layout.coordinate_bases(name)]
            assert list(layout.without_dim(dim).coordinate_bases(name)) == expected


def test_layouts_exist_once() -> None:
    assert LinearLayout.of((4, 8), register=[(0, 1)]) is LinearLayout(["register"], [[4]], (4, 8))


def test_the_worked_example() -> None:
    layout = LinearLayout.of((4, 8), register=[(0, 1), (0, 2)], lane=[(0, 4), (1, 0), (2, 0)])
    assert layout.bases == ((4, 8), (16, 1, 2))
    assert layout.apply(register=3, lane=5) == (2, 7)


def test_columns_of_the_first_inputs_are_preferred() -> None:
    """Element 1 is in a register and a lane of the target: the register is chosen (``lstsq`` with free variables zero)."""
    here = LinearLayout(["register", "lane"], [[], [1, 2]], (4,))
    there = LinearLayout(["register", "lane"], [[1], [1, 2]], (4,))
    assert here.invert_and_compose(there).coordinate_bases("lane") == ((0, 1), (0, 2))  # equal inputs map to themselves
    swapped = LinearLayout(["register", "lane"], [[], [2, 1]], (4,))
    assert swapped.invert_and_compose(there).coordinate_bases("lane") == ((0, 2), (1, 0))


def test_an_element_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no place"):
        LinearLayout(["lane"], [[1, 2]], (4,)).invert_and_compose(LinearLayout(["lane"], [[1]], (4,)))
