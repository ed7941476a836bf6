"""Reading in threads: in order, and only a few items ahead."""

import threading

import pytest

from fsl_sweep.orchestrator.selection.reading import AHEAD, in_threads


def test_results_come_in_order_and_few_are_read_ahead():
    taken, own, readers = [], threading.get_ident(), set()

    def read(item):
        readers.add(threading.get_ident())
        return item * item

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    number = 0
    for number, result in enumerate(in_threads(read, items())):
        assert result == number**2
        assert len(taken) <= number + 1 + AHEAD
    assert (number, own in readers) == (19, False)


def test_a_failure_comes_at_its_place():
    found = in_threads(lambda item: 1 / (2 - item), range(9))
    assert [next(found), next(found)] == [0.5, 1]
    with pytest.raises(ZeroDivisionError):
        next(found)
