"""Offsets from lifetimes: no two live buffers overlap, and the arena is not much larger than it must be."""
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelia.plan.memory import ALIGNMENT, Lifetime, aligned, assign_offsets, peak

lifetimes = st.lists(st.builds(lambda n, start, length: Lifetime(n, start, start + length),
                               st.integers(0, 5000), st.integers(0, 40), st.integers(0, 15)), max_size=60)


@settings(max_examples=300, deadline=None)
@given(lifetimes)
def test_no_two_live_buffers_overlap(buffers):
    layout = assign_offsets(buffers)
    for i, a in enumerate(buffers):
        first = layout.offsets[i]
        assert first % ALIGNMENT == 0 and first + a.nbytes <= layout.nbytes
        for j in range(i):
            b, second = buffers[j], layout.offsets[j]
            if a.start <= b.end and b.start <= a.end and a.nbytes and b.nbytes:
                assert first + a.nbytes <= second or second + b.nbytes <= first
    assert peak(buffers) <= layout.nbytes <= sum(aligned(b.nbytes) for b in buffers)


def test_a_chain_needs_two_buffers():
    buffers = [Lifetime(1000, i, i + 1) for i in range(50)]
    assert assign_offsets(buffers).nbytes == 2 * aligned(1000) == peak(buffers)


def test_nothing():
    assert assign_offsets([]).nbytes == peak([]) == 0
