"""Compilation: tables, cache, workers, and everything that may happen to them."""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import threading
import time
import warnings

import pytest

from mycelia.codegen.target import ALL, Target
from mycelia.kernels.api import Code
from mycelia.runtime import compile as compiler
from mycelia.runtime import workers
from mycelia.runtime.cache import CacheWarning, ObjectCache, default_folder

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
made: list[str] = []


def code(name: str, value: int) -> Code:
    def text() -> str:
        made.append(name)
        return f"define i32 @answer(ptr %a, i64 %c) {{\n ret i32 {value}\n}}"

    return Code("answer", f"test: {name}", text)


def answer(address: int) -> int:
    return FUNCTION(address)(None, 0)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own, and a process that has compiled nothing yet."""
    made.clear()
    monkeypatch.setattr(compiler, "_addresses", {})
    fresh = ObjectCache(tmp_path / "cache")
    compiler.set_object_cache(fresh)
    yield fresh
    compiler.set_object_cache(None)


def forget() -> None:
    compiler._addresses.clear()


def test_each_key_is_compiled_once(cache):
    addresses = compiler.compile_all([code("a", 1), code("b", 2), code("a", 1)])
    assert {k: answer(v) for k, v in addresses.items()} == {"test: a": 1, "test: b": 2}
    assert sorted(made) == ["a", "b"]
    assert compiler.compile_all([code("a", 1)])["test: a"] == addresses["test: a"]
    forget()
    assert answer(compiler.compile_all([code("a", 1)])["test: a"]) == 1
    assert sorted(made) == ["a", "b"], "found in the cache, so the text was not made again"


def test_the_cache_folder_is_private(cache):
    compiler.compile_all([code("a", 1)])
    assert stat.S_IMODE(os.stat(cache.folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(cache.folder / "objects").st_mode) == 0o700


def test_a_folder_that_others_may_write_to_is_not_trusted(cache):
    cache.folder.mkdir()
    cache.folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="others may write to it"):
        assert answer(compiler.compile_all([code("a", 1)])["test: a"]) == 1
    assert not list(cache.folder.iterdir())


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage"])
def test_damaged_entries_are_compiled_again(cache, damage):
    compiler.compile_all([code("a", 1)])
    for path in (cache.folder / "objects").iterdir():
        data = path.read_bytes()
        path.write_bytes(
            {
                "truncate": data[:-5],
                "flip": data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
                "empty": b"",
                "garbage": b"x" * len(data),
            }[damage]
        )
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer(compiler.compile_all([code("a", 1)])["test: a"]) == 1
    assert made == ["a", "a"]
    forget()
    compiler.compile_all([code("a", 1)])
    assert made == ["a", "a"], "the entry was written anew"


def test_an_entry_under_another_key_reads_as_absent(tmp_path):
    folder = tmp_path / "cache"
    cache = ObjectCache(folder)
    cache.put("a1", b"code of a")
    cache.put("b1", b"code of b")
    (folder / "objects" / "b1").write_bytes((folder / "objects" / "a1").read_bytes())
    assert cache.get("a1") == b"code of a"
    assert cache.get("b1") is None
    cache.put("b1", b"code of b")
    assert cache.get("b1") == b"code of b"


def test_a_full_disk_costs_one_warning(cache):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        with pytest.warns(CacheWarning, match="cannot write to it.*Going on without"):
            assert answer(compiler.compile_all([code("a", 1)])["test: a"]) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert answer(compiler.compile_all([code("b", 2)])["test: b"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not list((cache.folder / "objects").iterdir()), "no half-written file is left"


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path, cache):
    (tmp_path / "file").write_text("")
    compiler.set_object_cache(ObjectCache(tmp_path / "file" / "cache"))
    with pytest.warns(CacheWarning, match="cannot use it: Not a directory.*MYCELIA_CACHE_DIR"):
        assert answer(compiler.compile_all([code("a", 1)])["test: a"]) == 1


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path, cache, monkeypatch):
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.warns(CacheWarning, match="belongs to user"):
        compiler.compile_all([code("a", 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler.compile_all([code("b", 1)])


def test_the_environment_places_the_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("MYCELIA_CACHE", raising=False)
    monkeypatch.setenv("MYCELIA_CACHE_DIR", str(tmp_path / "here"))
    assert default_folder() == tmp_path / "here"
    monkeypatch.delenv("MYCELIA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "mycelia"
    monkeypatch.setenv("MYCELIA_CACHE", "off")
    assert default_folder() is None
    assert ObjectCache(None).get("x") is None


def test_the_least_recently_used_entries_go_first(tmp_path):
    cache = ObjectCache(tmp_path, limit=10_000)
    for i in range(8):
        cache.put(f"entry{i}", bytes(1000))
        os.utime(tmp_path / "objects" / f"entry{i}", (i + 1, i + 1))
    assert cache.get("entry0") is not None  # used now
    for i in range(8, 12):
        cache.put(f"entry{i}", bytes(1000))
    cache.trim()
    left = {p.name for p in (tmp_path / "objects").iterdir()}
    assert "entry0" in left and "entry11" in left
    assert "entry1" not in left
    assert sum(p.stat().st_size for p in (tmp_path / "objects").iterdir()) <= 10_000


def test_two_processes_may_fill_one_cache(script, tmp_path):
    source = """
        import ctypes
        from mycelia.kernels.api import Code
        from mycelia.runtime.compile import compile_all
        def code(i):
            text = f"define i32 @answer(ptr %a, i64 %c) {{\\n ret i32 {i}\\n}}"
            return Code("answer", f"test: {i}", lambda: text)
        codes = [code(i) for i in range(60)]
        call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
        print(all(call(compile_all([c])[c.key])(None, 0) == i for i, c in enumerate(codes)))
    """
    environment = {"MYCELIA_CACHE_DIR": str(tmp_path / "shared")}
    both = [script(source, env=environment) for _ in range(2)]
    assert [p.communicate(timeout=60) for p in both] == [("True\n", "")] * 2
    names = {p.name for p in (tmp_path / "shared" / "objects").iterdir()}
    assert not [n for n in names if n.startswith(".new")]


def test_a_warm_start_does_not_load_llvm(script, tmp_path):
    source = """
        import sys
        from native_kernels import ADD, address
        address(ADD)
        print("llvmlite.binding" in sys.modules)
    """
    environment = {"MYCELIA_CACHE_DIR": str(tmp_path / "cache")}
    outputs = []
    for _ in range(2):
        outputs.append(script(source, env=environment).communicate(timeout=60))
    assert outputs[1] == ("False\n", "")


@pytest.mark.parametrize("target", ALL, ids=[t.cpu for t in ALL])
def test_emit_for_any_target(target):
    assert compiler.undefined_symbols(compiler.emit(code("a", 1), target)) == set()


def test_bad_text_names_the_kernel(cache):
    with pytest.raises(RuntimeError, match=r"(?s)kernel f \(test: bad\).*expected"):
        compiler.compile_all([Code("f", "test: bad", lambda: "define nonsense")])


# -- workers
# -----------------------------------------------------------------------------------------------------
@pytest.fixture
def one_worker(monkeypatch, cache):
    workers.shutdown()
    monkeypatch.setenv("MYCELIA_COMPILE_WORKERS", "1")
    yield
    workers.shutdown()


def test_workers_compile(one_worker):
    workers._team(1)
    codes = [code(str(i), i) for i in range(40)]
    assert [answer(a) for a in compiler.compile_all(codes).values()] == list(range(40))
    assert len(workers._workers) == 1


def test_a_worker_s_error_is_the_caller_s(one_worker):
    workers._team(1)
    time.sleep(1)  # it is ready, and takes one of the bad texts
    bad = [Code("f", f"test: bad {i}", lambda: "define nonsense") for i in range(6)]
    with pytest.raises(RuntimeError, match=r"(?s)kernel f \(test: bad \d\).*expected"):
        compiler.compile_all(bad)
    assert answer(compiler.compile_all([code("good", 5)])["test: good"]) == 5


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_killed_worker_costs_nothing_but_time(one_worker, when):
    workers._team(1)
    process = workers._workers[0].process
    if when == "before":
        process.kill()
        process.wait()
    else:
        threading.Timer(0.15, process.kill).start()
    codes = [code(str(i), i) for i in range(80)]
    assert [answer(a) for a in compiler.compile_all(codes).values()] == list(range(80))


def test_a_hung_worker_is_given_up(one_worker, monkeypatch):
    import signal

    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    workers._team(1)
    process = workers._workers[0].process
    process.send_signal(signal.SIGSTOP)
    codes = [code(str(i), i) for i in range(6)]
    assert [answer(a) for a in compiler.compile_all(codes).values()] == list(range(6))
    assert process.poll() is not None


def test_no_worker_on_one_cpu(monkeypatch):
    monkeypatch.delenv("MYCELIA_COMPILE_WORKERS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert workers.wanted() == 0


def test_the_host_is_described_as_llvm_sees_it(cache):
    from mycelia.codegen import target

    first = compiler._remembered(target._detect)
    again = compiler._remembered(lambda: pytest.fail("asked LLVM again"))
    assert first == again == target._detect() == Target.host()
