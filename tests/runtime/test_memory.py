"""The memory pool and its buddy allocator: no two live blocks overlap, whatever happens, and what is free
comes back."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelia.runtime.buddy import Buddy
from mycelia.runtime.memory import KEEP, SLAB, MemoryPool, OutOfMemory, limit_from_environment, parse_size

MB = 1 << 20


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 100)), max_size=60))
def test_buddy_blocks_never_overlap_and_merge_again(steps):
    buddy = Buddy(unit=4)
    buddy.add_region(0, 256)
    buddy.add_region(1024, 128)
    live: dict[int, int] = {}
    for allocate, number in steps:
        if allocate:
            address = buddy.allocate(number)
            if address is None:
                assert buddy.largest_free < buddy.block_bytes(number)
                continue
            assert address % buddy.block_bytes(number) == 0 or address >= 1024
            live[address] = buddy.block_bytes(number)
        elif live:
            address = sorted(live)[number % len(live)]
            assert buddy.free(address) == live.pop(address)
        spans = sorted((a, a + n) for a, n in live.items())
        assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
        assert all(0 <= a < b <= 256 or 1024 <= a < b <= 1152 for a, b in spans)
        assert buddy.free_bytes == 384 - sum(live.values())
        assert sum(n for _, n, _ in buddy.blocks()) == 384
    for address in live:
        buddy.free(address)
    assert list(buddy.blocks()) == [(0, 256, False), (1024, 128, False)]


def test_freeing_what_is_not_allocated_is_an_error():
    buddy = Buddy(unit=4)
    buddy.add_region(0, 16)
    buddy.allocate(4)
    with pytest.raises(KeyError):
        buddy.free(8)


def test_churn():
    pool, rng, live = MemoryPool(), random.Random(1), {}
    total = 0
    for step in range(20_000):
        if live and (rng.random() < 0.5 or total > 1 << 30):
            address = rng.choice(list(live))
            nbytes = live.pop(address)
            total -= nbytes
            pool.free(address, nbytes)
        else:
            nbytes = int(2 ** rng.uniform(0, 25))
            address = pool.allocate(nbytes)
            assert address % 64 == 0
            assert address not in live
            live[address] = nbytes
            total += nbytes
        if step % 500 == 0:
            spans = sorted((a, a + n) for a, n in live.items())
            assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
            assert pool.statistics().allocated >= total
    for address, nbytes in live.items():
        pool.free(address, nbytes)
    after = pool.statistics()
    assert after.allocated == 0
    assert after.peak_allocated >= total
    assert after.external_fragmentation < 1


def test_blocks_are_reused():
    pool = MemoryPool()
    for nbytes in (1, 100, 5000, 70_000, 3 * MB, 100 * MB):
        address = pool.allocate(nbytes)
        pool.free(address, nbytes)
        assert pool.allocate(nbytes) == address


def test_memory_that_a_step_needs_again_is_kept_and_the_rest_returned():
    pool = MemoryPool()
    for _ in range(20):
        address = pool.allocate(600 * MB)
        pool.free(address, 600 * MB)
    assert pool.statistics().reserved >= 600 * MB, "a step that repeats finds its pages again"
    pool.release_unused()
    assert pool.statistics().reserved <= KEEP
    pool.release_unused(0)
    assert pool.statistics().reserved == 0


def test_the_limit_is_kept_and_named():
    pool = MemoryPool(limit=8 * MB)
    a = pool.allocate(3 * MB)
    b = pool.allocate(100)
    with pytest.raises(
        OutOfMemory,
        match=r"asked for 4.0 MB, the limit is 8.0 MB; raise MS_MEMORY_POOL_SIZE. "
        r"In use: 4.0 MB, reserved: 6.0 MB, peak: 4.0 MB",
    ):
        pool.allocate(4 * MB)
    pool.free(a, 3 * MB)
    assert pool.allocate(4 * MB)
    assert pool.statistics().reserved <= 8 * MB
    pool.free(b, 100)


def test_a_collection_may_save_from_the_limit():
    pool = MemoryPool(limit=8 * MB)

    class Holder:
        def __init__(self) -> None:
            self.me = self
            self.block = pool.allocate(4 * MB)

        def __del__(self) -> None:
            pool.free(self.block, 4 * MB)

    Holder()
    assert pool.allocate(6 * MB)


def test_fragmentation():
    pool = MemoryPool()
    blocks = [pool.allocate(3 * MB) for _ in range(16)]
    assert pool.statistics().internal_fragmentation == 0.25
    for block in blocks[::2]:
        pool.free(block, 3 * MB)
    assert pool.statistics().external_fragmentation == 1 - 4 / 32
    for block in blocks[1::2]:
        pool.free(block, 3 * MB)
    after = pool.statistics()
    assert (after.internal_fragmentation, after.external_fragmentation) == (0, 0)


def test_areas_are_apart():
    pool = MemoryPool()
    a = pool.allocate(3 * MB)
    b = pool.allocate(3 * MB, persistent=True)
    assert [(area, used) for area, _, _, used in pool.map() if used] == [
        ("temporary", True),
        ("persistent", True),
    ]
    pool.free(a, 3 * MB)
    pool.free(b, 3 * MB, persistent=True)
    assert not [block for block in pool.map() if block[3]]


def test_threads_share_a_pool():
    pool, failures = MemoryPool(), []

    def work(seed: int) -> None:
        import ctypes

        rng, live = random.Random(seed), []
        for _ in range(3000):
            if live and rng.random() < 0.5:
                address, nbytes = live.pop(rng.randrange(len(live)))
                if ctypes.string_at(address, 8) != seed.to_bytes(8, "little"):
                    failures.append(seed)
                pool.free(address, nbytes)
            else:
                nbytes = rng.choice([8, 64, 5000, 60_000, 3 * MB])
                address = pool.allocate(nbytes)
                ctypes.memmove(address, seed.to_bytes(8, "little"), 8)
                live.append((address, nbytes))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("1024", 1024), ("512MB", 512 * MB), ("32GB", 32 << 30), ("1.5 gb", 3 << 29), ("2K", 2048)],
)
def test_sizes(text, nbytes, monkeypatch):
    assert parse_size(text) == nbytes
    monkeypatch.setenv("MS_MEMORY_POOL_SIZE", text)
    assert limit_from_environment() == nbytes


@pytest.mark.parametrize("text", ["lots", "-1", "0", "3 bananas", "GB"])
def test_nonsense_sizes(text):
    with pytest.raises(ValueError, match="MS_MEMORY_POOL_SIZE must be"):
        parse_size(text)


def test_a_slab_serves_many_small_blocks():
    pool = MemoryPool()
    addresses = [pool.allocate(64) for _ in range(SLAB // 64)]
    assert len(set(addresses)) == len(addresses)
    assert pool.statistics().reserved == SLAB
