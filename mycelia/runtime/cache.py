"""The object cache on disk: machine code of earlier runs, by the hash of everything that it depends on.

``MYCELIA_CACHE_DIR`` names the folder (default ``$XDG_CACHE_HOME/mycelia`` or ``~/.cache/mycelia``);
``MYCELIA_CACHE=off`` does without. The folder is private to its owner, since what it holds will be executed.
An entry is written beside its place and renamed, and carries a hash of its key and content: a half-written,
damaged or misplaced one reads as absent. Whatever goes wrong with the folder costs time, never a result.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from pathlib import Path

LIMIT = 1 << 30  # bytes
_MAGIC = b"MYCOBJ2\n"
_DIGEST = 32


class CacheWarning(UserWarning):
    """The object cache cannot be used; kernels are compiled anew in each process."""


def default_folder() -> Path | None:
    """Where the cache lives according to the environment; None when it is off."""
    if os.environ.get("MYCELIA_CACHE", "").lower() in ("off", "0", "false", "no"):
        return None
    chosen = os.environ.get("MYCELIA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mycelia"


def digest(*parts: str | bytes) -> str:
    """A key from everything that an entry depends on."""
    h = hashlib.blake2b(digest_size=20)
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        h.update(len(raw).to_bytes(8, "little"))
        h.update(raw)
    return h.hexdigest()


class ObjectCache:
    """A folder of entries ``objects/<key>``, bounded in size, least recently used out.

    Args:
        folder: None for no cache: nothing is found and nothing kept.
        limit: bytes; checked now and then after a write.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder, limit
        self._objects = folder / "objects" if folder else None
        self._usable: bool | None = None if folder else False

    @property
    def usable(self) -> bool:
        """Whether the folder exists (it is made on first use) and may be trusted."""
        if self._usable is None:
            self._usable = self._prepare()
        return self._usable

    def get(self, key: str) -> bytes | None:
        """The entry's content, or None: absent, damaged or unreadable."""
        if not self.usable:
            return None
        path = self._objects / key  # type: ignore[operator]
        try:
            data = path.read_bytes()
        except OSError:
            return None
        content = data[len(_MAGIC) + _DIGEST :]
        if data[: len(_MAGIC) + _DIGEST] != _MAGIC + _checksum(key, content):
            _remove(path)
            return None
        try:
            os.utime(path)  # used now: eviction goes by this time
        except OSError:
            pass
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keeps an entry. A full disk or the like ends caching for this process, with one warning."""
        if not self.usable:
            return
        try:
            handle, temporary = tempfile.mkstemp(prefix=".new-", dir=self._objects)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _checksum(key, content) + content)
                os.replace(temporary, self._objects / key)  # type: ignore[operator]
            except BaseException:
                _remove(Path(temporary))
                raise
        except OSError as error:
            self._refuse(f"cannot write to it: {error.strerror or error}")
            return
        if key.endswith("00"):  # one write in 256 looks whether the folder has grown too large
            self.trim()

    def trim(self) -> None:
        """Removes the least recently used entries until three quarters of the limit are left, if it is
        exceeded."""
        entries = []
        try:
            with os.scandir(self._objects) as found:
                for entry in found:
                    info = entry.stat(follow_symlinks=False)
                    entries.append((info.st_mtime_ns, info.st_size, entry.path))
        except OSError:
            return
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            _remove(Path(path))
            total -= size
            if total <= self.limit * 3 // 4:
                break

    def _prepare(self) -> bool:
        assert self.folder is not None and self._objects is not None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = os.stat(self.folder)
            if info.st_uid != os.getuid():
                return self._refuse(
                    f"it belongs to user {info.st_uid}, not to you (user {os.getuid()}); code from it could "
                    f"be anybody's"
                )
            if stat.S_IMODE(info.st_mode) & 0o022:
                return self._refuse(
                    "others may write to it; code from it could be anybody's (chmod go-w helps)"
                )
            self._objects.mkdir(mode=0o700, exist_ok=True)
            if os.stat(self._objects, follow_symlinks=False).st_uid != os.getuid():
                return self._refuse(f"{self._objects} belongs to somebody else")
            os.chmod(self._objects, 0o700)
        except OSError as error:
            return self._refuse(f"cannot use it: {error.strerror or error}")
        return True

    def _refuse(self, reason: str) -> bool:
        if self._usable is not False:
            self._usable = False
            warnings.warn(
                f"object cache {self.folder}: {reason}. Going on without: kernels are compiled anew in each "
                f"process. "
                f"Set MYCELIA_CACHE_DIR to a folder of your own, or MYCELIA_CACHE=off.",
                CacheWarning,
                stacklevel=4,
            )
        return False


def _checksum(key: str, content: bytes) -> bytes:
    """Of the key too: a whole entry under another's name is other code, and must read as absent."""
    return hashlib.blake2b(key.encode() + b"\n" + content, digest_size=_DIGEST).digest()


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass
