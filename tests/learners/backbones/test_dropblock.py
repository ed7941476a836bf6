import numpy as np
import pytest
import torch
from small import generator

from fsl_sweep.learners.backbones.dropblock import DropSchedule, drop_blocks, one_training_step

CPU = torch.device("cpu")


def dropped(shape, rate, block):
    ones = drop_blocks(torch.ones(shape), rate, block, generator())
    return ones == 0, ones[ones != 0]


def test_dropped_regions_are_the_union_of_blocks():
    mask, _ = dropped((6, 4, 9, 8), 0.2, 3)
    # The same draws as corners, grown one block at a time.
    gamma = 0.2 * 72 / (9 * 7 * 6)
    corners = torch.rand(6, 4, 7, 6, generator=generator()).numpy() < gamma
    expected = np.zeros(mask.shape, bool)
    for n, c, row, column in np.argwhere(corners):
        expected[n, c, row : row + 3, column : column + 3] = True
    assert expected.any()
    np.testing.assert_array_equal(mask.numpy(), expected)


@pytest.mark.parametrize(("block", "rate"), [(1, 0.1), (1, 0.5), (2, 0.1), (3, 0.05), (5, 0.1)])
def test_the_share_of_dropped_units_is_the_rate_and_the_others_keep_the_mean(block, rate):
    mask, survivors = dropped((100, 40, 10, 10), rate, block)
    # Blocks overlap now and then, so the share falls a little short of the rate.
    assert 0.9 * rate < mask.float().mean().item() < 1.02 * rate
    assert len(survivors.unique()) == 1
    assert survivors.double().sum().item() == pytest.approx(mask.numel(), rel=1e-6)


def test_a_block_larger_than_the_map_shrinks_to_it_and_drops_all_without_nan():
    counts = dropped((2000, 1, 2, 2), 0.3, 5)[0].flatten(1).sum(1)
    assert set(counts.tolist()) == {0, 4}
    assert abs((counts == 4).float().mean().item() - 0.3) < 0.05
    assert dropped((1, 1, 1, 1), 0.999999, 1)[0].all()


def test_gradients_flow_through_survivors_only():
    features = torch.randn(2, 3, 6, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: drop_blocks(x, 0.3, 2, generator()), (features,))


def test_each_step_seed_and_pass_has_its_own_draws_which_a_loaded_schedule_makes_too():
    schedule, loaded, other = (DropSchedule(0.1, 10) for _ in range(3))
    seeds = [s.advance(CPU).initial_seed() for s in (schedule, schedule, other)]
    with one_training_step(torch.nn.ModuleList([schedule])):
        seeds += [schedule.advance(CPU).initial_seed() for _ in range(3)]
    assert (len(set(seeds)), int(schedule.step)) == (6, 3)
    loaded.load_state_dict(schedule.state_dict())
    for _ in range(2):
        draws = [torch.rand(5, generator=s.advance(CPU)) for s in (schedule, loaded)]
        assert torch.equal(*draws)
        assert schedule.rate == loaded.rate
