"""Learning rates as lists with one entry per step, computed before training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def _by_epoch(total_step: int, step_per_epoch: int, rate: Callable[[int], float]) -> list[float]:
    return [rate(step // step_per_epoch) for step in range(total_step)]


def _check(function: str, positive: dict[str, float], positive_int: dict[str, int]) -> None:
    for name, value in positive_int.items():
        if type(value) is not int or value <= 0:
            raise ValueError(f"{function}: {name} must be a positive int. Received: {name}={value!r}")
    for name, number in positive.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)) or number <= 0:
            raise ValueError(f"{function}: {name} must be a positive number. Received: {name}={number!r}")


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * min(epoch, decay_epoch) / decay_epoch)) for each step.

    Example:
        >>> cosine_decay_lr(0.0, 0.01, total_step=4, step_per_epoch=2, decay_epoch=2)
        [0.01, 0.01, 0.005, 0.005]
    """
    _check(
        "cosine_decay_lr",
        {"max_lr": max_lr},
        {"total_step": total_step, "step_per_epoch": step_per_epoch, "decay_epoch": decay_epoch},
    )
    if not isinstance(min_lr, float) or not 0 <= min_lr < max_lr:
        raise ValueError(
            f"cosine_decay_lr: min_lr must be a float from 0 to below max_lr. Received: min_lr={min_lr!r}, "
            f"max_lr={max_lr}"
        )
    half = 0.5 * (max_lr - min_lr)
    return _by_epoch(
        total_step,
        step_per_epoch,
        lambda epoch: min_lr + half * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)),
    )


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * decay_rate ** (epoch / decay_epoch) for each step; the exponent rounded down with
    ``is_stair``."""
    _check(
        "exponential_decay_lr",
        {"learning_rate": learning_rate, "decay_rate": decay_rate},
        {"total_step": total_step, "step_per_epoch": step_per_epoch, "decay_epoch": decay_epoch},
    )
    return _by_epoch(
        total_step,
        step_per_epoch,
        lambda epoch: (
            learning_rate * decay_rate ** (epoch // decay_epoch if is_stair else epoch / decay_epoch)
        ),
    )


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * exp(-decay_rate * epoch) for each step; the epoch rounded down to a multiple of
    decay_epoch with ``is_stair``."""
    _check(
        "natural_exp_decay_lr",
        {"learning_rate": learning_rate, "decay_rate": decay_rate},
        {"total_step": total_step, "step_per_epoch": step_per_epoch, "decay_epoch": decay_epoch},
    )
    return _by_epoch(
        total_step,
        step_per_epoch,
        lambda epoch: (
            learning_rate
            * math.exp(-decay_rate * (epoch // decay_epoch * decay_epoch if is_stair else epoch))
        ),
    )


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate / (1 + decay_rate * epoch / decay_epoch) for each step; the quotient rounded down with
    ``is_stair``."""
    _check(
        "inverse_decay_lr",
        {"learning_rate": learning_rate, "decay_rate": decay_rate},
        {"total_step": total_step, "step_per_epoch": step_per_epoch, "decay_epoch": decay_epoch},
    )
    return _by_epoch(
        total_step,
        step_per_epoch,
        lambda epoch: (
            learning_rate / (1 + decay_rate * (epoch // decay_epoch if is_stair else epoch / decay_epoch))
        ),
    )


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """(learning_rate - end) * (1 - epoch / decay_epoch) ** power + end for each step; the end from
    decay_epoch on, or with ``update_decay_epoch`` the nearest multiple of decay_epoch from the epoch up in
    its place."""
    _check(
        "polynomial_decay_lr",
        {"learning_rate": learning_rate, "power": power},
        {"total_step": total_step, "step_per_epoch": step_per_epoch, "decay_epoch": decay_epoch},
    )
    if not isinstance(end_learning_rate, float) or end_learning_rate < 0:
        raise ValueError(
            "polynomial_decay_lr: end_learning_rate must be a float of at least 0. Received: "
            f"{end_learning_rate!r}"
        )

    def rate(epoch: int) -> float:
        span = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (
            1 - min(epoch, span) / span
        ) ** power + end_learning_rate

    return _by_epoch(total_step, step_per_epoch, rate)


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """``learning_rates[i]`` for the steps before ``milestone[i]`` that no earlier entry covers.

    Raises:
        ValueError: the two differ in length, or milestones do not rise.
    """
    if len(milestone) != len(learning_rates) or not milestone:
        raise ValueError(
            "piecewise_constant_lr: milestone and learning_rates must be as long as each other, at least 1. "
            "Received: "
            f"{len(milestone)} and {len(learning_rates)}"
        )
    rates: list[float] = []
    for end, rate in zip(milestone, learning_rates):
        if end <= len(rates):
            raise ValueError(
                f"piecewise_constant_lr: milestone must rise from entry to entry. Received: {list(milestone)}"
            )
        rates += [rate] * (end - len(rates))
    return rates


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """learning_rate * min(epoch, warmup_epoch) / warmup_epoch for each step."""
    _check("warmup_lr", {}, {"total_step": total_step, "step_per_epoch": step_per_epoch})
    if type(warmup_epoch) is not int or warmup_epoch < 0:
        raise ValueError(f"warmup_lr: warmup_epoch must be an int of at least 0. Received: {warmup_epoch!r}")
    if not isinstance(learning_rate, float) or learning_rate < 0:
        raise ValueError(
            f"warmup_lr: learning_rate must be a float of at least 0. Received: {learning_rate!r}"
        )
    if warmup_epoch == 0:
        return [learning_rate] * total_step
    return _by_epoch(
        total_step, step_per_epoch, lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch
    )
