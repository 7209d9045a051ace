"""The log (`mindspore.log`): ``from mindspore import log as logger; logger.warning("...")``.

The level is taken from the environment: ``GLOG_v`` = 0 (debug), 1 (info), 2 (warning, the default), 3
(error), 4
(critical). ``GLOG_logtostderr=0`` with ``GLOG_log_dir`` writes to a file in that folder instead of stderr.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
import threading
from typing import Any

DEBUG, INFO, WARNING, ERROR, CRITICAL = 0, 1, 2, 3, 4
_LEVELS = {
    DEBUG: logging.DEBUG,
    INFO: logging.INFO,
    WARNING: logging.WARNING,
    ERROR: logging.ERROR,
    CRITICAL: logging.CRITICAL,
}
_FORMAT = (
    "[%(levelname)s] ME(%(process)d:%(thread)d,%(processName)s):%(asctime)s [%(pathname)s:%(lineno)d] "
    "%(message)s"
)
_lock = threading.Lock()
_logger: logging.Logger | None = None


def _level() -> int:
    given = os.environ.get("GLOG_v", str(WARNING))  # noqa: SIM112
    if given not in map(str, _LEVELS):
        raise ValueError(
            f"GLOG_v must be an integer from 0 (debug) to 4 (critical). Received: GLOG_v={given!r}"
        )
    return int(given)


class _ToStderr(logging.StreamHandler):
    """Writes to what is ``sys.stderr`` now, and not when the log was set up."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:  # type: ignore[override]
        return sys.stderr


def _get_logger() -> logging.Logger:
    """The logger, made at the first message."""
    global _logger
    with _lock:
        if _logger is None:
            logger = logging.getLogger("mycelia")
            logger.propagate = False
            logger.setLevel(_LEVELS[_level()])
            logger.handlers[:] = [_handler()]
            _logger = logger
        return _logger


def _handler() -> logging.Handler:
    folder = os.environ.get("GLOG_log_dir")  # noqa: SIM112
    if os.environ.get("GLOG_logtostderr", "1") == "0":  # noqa: SIM112
        if not folder:
            raise ValueError("GLOG_logtostderr=0 needs GLOG_log_dir, the folder to write the log to")
        path = os.path.join(os.path.expanduser(folder), f"rank_{os.environ.get('RANK_ID', '0')}", "logs")
        os.makedirs(path, exist_ok=True)
        handler: logging.Handler = logging.handlers.RotatingFileHandler(
            os.path.join(path, "mindspore.log"),
            maxBytes=int(os.environ.get("logger_maxBytes", 50 * 2**20)),  # noqa: SIM112  (MindSpore's name)
            backupCount=int(os.environ.get("logger_backupCount", 30)),  # noqa: SIM112
        )
    else:
        handler = _ToStderr()
    handler.setFormatter(logging.Formatter(_FORMAT))
    return handler


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at level 0."""
    _get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at level 1."""
    _get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at level 2."""
    _get_logger().warning(msg, *args, stacklevel=2, **kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at level 3."""
    _get_logger().error(msg, *args, stacklevel=2, **kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at level 4."""
    _get_logger().critical(msg, *args, stacklevel=2, **kwargs)


def get_level() -> str:
    """The level that is logged from, ``"0"`` to ``"4"``."""
    own = _get_logger().level
    return str(next(number for number, level in _LEVELS.items() if level == own))


def get_log_config() -> dict[str, str]:
    """The environment's settings of the log that are set, once something was logged."""
    names = ("GLOG_v", "GLOG_log_dir", "GLOG_logtostderr", "logger_maxBytes", "logger_backupCount")
    return {name: os.environ[name] for name in names if name in os.environ} if _logger is not None else {}


class _LogActionOnce:
    """Logs a message the first time that its key comes up.

    Args:
        logger: has ``warning``.
        key: tells messages apart.
        no_warning: says nothing at all.
    """

    said: set[str] = set()

    def __init__(self, logger: Any, key: str, no_warning: bool = False) -> None:
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, function: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            original = self.logger.warning
            if self.no_warning or self.key in self.said:
                self.logger.warning = lambda *_, **__: None
            self.said.add(self.key)
            try:
                return function(*args, **kwargs)
            finally:
                self.logger.warning = original

        return run
