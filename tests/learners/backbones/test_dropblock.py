import numpy as np
import pytest
import torch

from fsl_sweep.learners.backbones.dropblock import DropSchedule, drop_blocks


def draws(seed=0):
    return torch.Generator().manual_seed(seed)


def test_dropped_regions_are_the_union_of_blocks():
    features = torch.ones(6, 4, 9, 8)
    dropped = (drop_blocks(features, 0.2, 3, draws()) == 0).numpy()
    # The same draws as corners, grown one block at a time.
    gamma = 0.2 * 72 / (9 * 7 * 6)
    corners = torch.rand(6, 4, 7, 6, generator=draws()).numpy() < gamma
    expected = np.zeros_like(dropped)
    for n, c, row, column in np.argwhere(corners):
        expected[n, c, row : row + 3, column : column + 3] = True
    assert expected.any()
    np.testing.assert_array_equal(dropped, expected)


@pytest.mark.parametrize("block", [1, 2, 5])
def test_survivors_are_rescaled_to_keep_the_mean_of_ones(block):
    out = drop_blocks(torch.ones(8, 16, 10, 10), 0.1, block, draws())
    assert (out == 0).any()
    torch.testing.assert_close(out.mean(), torch.tensor(1.0))
    assert len(out.unique()) == 2


@pytest.mark.parametrize(("block", "rate"), [(1, 0.1), (1, 0.5), (3, 0.05), (5, 0.1)])
def test_the_expected_share_of_dropped_units_is_the_rate(block, rate):
    out = drop_blocks(torch.ones(100, 40, 10, 10), rate, block, draws())
    share = (out == 0).float().mean().item()
    # Blocks overlap now and then, so the share falls a little short of the rate.
    assert 0.9 * rate < share < 1.02 * rate


def test_a_block_larger_than_the_map_shrinks_to_it():
    out = drop_blocks(torch.ones(2000, 1, 2, 2), 0.3, 5, draws())
    per_map = (out == 0).flatten(1).sum(1)
    assert set(per_map.tolist()) == {0, 4}
    assert abs((per_map == 4).float().mean().item() - 0.3) < 0.05


def test_dropping_everything_gives_zeros_and_not_nan():
    out = drop_blocks(torch.ones(1, 1, 1, 1), 0.999999, 1, draws())
    assert out.tolist() == [[[[0.0]]]]


def test_gradients_flow_through_survivors_only():
    features = torch.randn(2, 3, 6, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: drop_blocks(x, 0.3, 2, draws()), (features,))


def test_the_rate_rises_linearly_and_stays():
    schedule = DropSchedule(0.1, steps=4)
    rates = []
    for _ in range(6):
        schedule.advance(torch.device("cpu"))
        rates.append(schedule.rate)
    np.testing.assert_allclose(rates, [0.025, 0.05, 0.075, 0.1, 0.1, 0.1])


def test_a_loaded_schedule_makes_the_draws_that_the_saved_one_would_have_made():
    first, second = DropSchedule(0.1, 10), DropSchedule(0.1, 10)
    for _ in range(3):
        first.advance(torch.device("cpu"))
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        ours, theirs = (s.advance(torch.device("cpu")) for s in (first, second))
        assert torch.equal(torch.rand(5, generator=ours), torch.rand(5, generator=theirs))
        assert first.rate == second.rate


def test_each_step_and_each_seed_has_its_own_draws():
    schedule, other = DropSchedule(0.1, 10), DropSchedule(0.1, 10)
    drawn = [
        torch.rand(5, generator=s.advance(torch.device("cpu"))) for s in (schedule, schedule, other)
    ]
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
