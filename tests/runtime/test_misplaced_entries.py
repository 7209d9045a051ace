"""An entry of the object cache under another's name is other code: it reads as absent."""

from mycelia.runtime.cache import ObjectCache


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
