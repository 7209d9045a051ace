"""The process's place among those that train together: rank 0 of 1."""

from __future__ import annotations

import os
from typing import Any

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
_WORLD = (HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP)
_BACKENDS = ("hccl", "nccl", "mccl")
_SIZE_VARIABLES = ("RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "MS_WORKER_NUM", "WORLD_SIZE")


class GlobalComm:
    """The group of all processes."""

    BACKEND = "mccl"
    WORLD_COMM_GROUP = MCCL_WORLD_COMM_GROUP
    INITED = False
    CHECK_ENVS = True


_groups: set[str] = set()


def init(backend_name: str | None = None, *, backend: str | None = None) -> None:
    """Joins the processes that train together.

    Args:
        backend_name: ``"hccl"``, ``"nccl"`` or ``"mccl"``; ``backend`` is another spelling.

    Raises:
        TypeError: the backend is no string.
        ValueError: an unknown backend.
        NotImplementedError: the environment speaks of several processes.
    """
    name = backend_name if backend is None else backend
    if name is not None and not isinstance(name, str):
        raise TypeError(
            f"init: backend_name must be a str. Received: {name!r} (of type {type(name).__name__})"
        )
    if name is not None and name not in _BACKENDS:
        raise ValueError(f"Unsupported backend: {name!r}; init takes {', '.join(map(repr, _BACKENDS))}")
    for variable in _SIZE_VARIABLES:
        size = os.environ.get(variable, "1")
        if size not in ("", "0", "1"):
            raise NotImplementedError(
                f"init: training over several processes is not built yet, and the environment says "
                f"{variable}={size}. Start one process, or unset {variable}"
            )
    GlobalComm.INITED = True
    if name is not None:
        GlobalComm.BACKEND, GlobalComm.WORLD_COMM_GROUP = name, f"{name}_world_group"


def release() -> None:
    """Leaves the processes that train together."""
    GlobalComm.INITED = False
    _groups.clear()


def get_rank(group: str = "hccl_world_group") -> int:
    """This process's number in a group: 0.

    Raises:
        TypeError: group is no string.
        ValueError: no such group.
    """
    _require_group("get_rank", group)
    return 0


def get_group_size(group: str = "hccl_world_group") -> int:
    """How many processes a group has: 1."""
    _require_group("get_group_size", group)
    return 1


def get_local_rank(group: str = "hccl_world_group") -> int:
    """This process's number among those of its machine: 0."""
    _require_group("get_local_rank", group)
    return 0


def get_local_rank_size(group: str = "hccl_world_group") -> int:
    """How many of a group's processes run on this machine: 1."""
    _require_group("get_local_rank_size", group)
    return 1


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The number among all processes of the one with a number in a group."""
    _require_rank("get_world_rank_from_group_rank", group, group_rank_id)
    return 0


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The number in a group of the process with a number among all."""
    _require_rank("get_group_rank_from_world_rank", group, world_rank_id)
    return 0


def get_process_group_ranks(group: str = "hccl_world_group") -> list[int]:
    """Numbers of a group's processes."""
    _require_group("get_process_group_ranks", group)
    return [0]


def create_group(group: str, rank_ids: Any, options: Any = None) -> None:
    """Makes a group of some of the processes.

    Raises:
        ValueError: numbers of processes that there are not.
    """
    if not isinstance(group, str) or not group:
        raise TypeError(f"create_group: group must be a non-empty str. Received: group={group!r}")
    if list(rank_ids) != [0]:
        raise ValueError(
            f"create_group: there is one process, so rank_ids must be [0]. Received: rank_ids={rank_ids!r}"
        )
    _groups.add(group)


def destroy_group(group: str) -> None:
    """Forgets a group.

    Raises:
        ValueError: no such group, or the one of all processes.
    """
    if group in _WORLD:
        raise ValueError(f"destroy_group: the group of all processes stays. Received: group={group!r}")
    _require_group("destroy_group", group)
    _groups.remove(group)


def _require_group(function: str, group: Any) -> None:
    if not isinstance(group, str):
        raise TypeError(
            f"{function}: group must be a str. Received: {group!r} (of type {type(group).__name__})"
        )
    if group not in _WORLD and group not in _groups:
        raise ValueError(
            f"{function}: there is no group {group!r}; make it with create_group({group!r}, [0])"
        )


def _require_rank(function: str, group: Any, rank: Any) -> None:
    _require_group(function, group)
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise TypeError(
            f"{function}: the rank must be an int. Received: {rank!r} (of type {type(rank).__name__})"
        )
    if rank:
        raise ValueError(f"{function}: there is one process, so the rank must be 0. Received: {rank}")
