"""The device table holds together, and a device is found by the names that people and files use."""

import pytest

from smem_lint.devices import UnknownTarget, by_capability, device, devices, parse_targets


def test_every_capability_from_7_0_to_12_1():
    """NVIDIA's list of compute capabilities (CUDA 13, and 7.x of CUDA 12)."""
    assert [one.capability for one in devices()] == [70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


@pytest.mark.parametrize("one", devices(), ids=lambda one: one.target)
def test_a_row_agrees_with_itself(one):
    assert one.optin == one.per_sm - one.reserved_per_block
    assert one.reserved_per_block == (1024 if one.capability >= 80 else 0)
    assert one.optin % 1024 == 0 and 64 * 1024 <= one.optin <= 228 * 1024
    assert one.threads_per_sm in (1024, 1536, 2048) and one.blocks_per_sm in (16, 24, 32)
    assert one.source
    assert one.blocks_by_shared_memory(one.optin) == 1
    assert one.blocks_by_shared_memory(one.optin + 1) == 0
    assert one.blocks_by_shared_memory(0) == one.blocks_per_sm


def test_limits_that_were_seen_in_errors():
    """``Hardware limit`` of ``OutOfResources``, as Triton prints it on these devices."""
    assert [by_capability(one).optin for one in (90, 120, 121, 89, 80)] == [232448, 101376, 101376, 101376, 166912]


def test_no_card_is_named_twice():
    cards = [card for one in devices() for card in one.cards]
    assert len(cards) == len(set(cards))


@pytest.mark.parametrize(
    "name, target",
    [
        ("sm_120", "sm_120"), ("SM_120", "sm_120"), ("sm120", "sm_120"), ("12.0", "sm_120"), ("cuda:120", "sm_120"), ("sm_120a", "sm_120"),
        ("sm_100f", "sm_100"), ("GB10", "sm_121"), ("DGX Spark", "sm_121"), ("RTX PRO 6000", "sm_120"), ("rtx pro 6000", "sm_120"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "sm_120"), ("NVIDIA GeForce RTX 5090", "sm_120"), ("RTX 4090", "sm_89"),
        ("NVIDIA_H100_80GB_HBM3", "sm_90"), ("NVIDIA H200", "sm_90"), ("NVIDIA_A100-SXM4-80GB", "sm_80"), ("NVIDIA_L40S", "sm_89"),
        ("NVIDIA_B200", "sm_100"), ("RTX 6000 Ada", "sm_89"), ("Quadro RTX 6000", "sm_75"), ("A10G", "sm_86"), ("Tesla T4", "sm_75"),
    ],
)  # fmt: skip
def test_names(name, target):
    assert device(name).target == target


@pytest.mark.parametrize(
    "name, hint", [("sm_130", "did you mean"), ("RTX PRO 600", "RTX PRO 6000"), ("MI300X", "smem-lint devices"), ("", "smem-lint devices")]
)
def test_unknown_names(name, hint):
    with pytest.raises(UnknownTarget, match=hint):
        device(name)


def test_lists_of_targets():
    assert [one.target for one in parse_targets("sm_120, H100,sm_90")] == ["sm_120", "sm_90"]
    assert parse_targets("ALL") == devices()
    with pytest.raises(UnknownTarget, match="no target was named"):
        parse_targets(" , ")


def test_occupancy():
    """By the rule of the CUDA guide: (bytes + 1 KiB reserved) rounded up to 128 bytes, into what a multiprocessor has."""
    sm_120 = device("sm_120")
    assert [sm_120.blocks_by_shared_memory(n) for n in (50176, 50177, 33109, 101376)] == [2, 1, 2, 1]
    assert [sm_120.blocks_by_threads(warps) for warps in (1, 4, 8, 16, 32)] == [24, 12, 6, 3, 1]
