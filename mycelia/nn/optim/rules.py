"""Update rules, one function each: from a parameter, its gradient and its state to their next values.

Every optimizer of `mycelia.nn`, `mycelia.experimental.optim` and `mycelia.mint.optim` computes with these;
what
differs between them is where rates, decays and options come from. A rule reads and returns tensors and writes
nothing, so that a whole training step is one graph whose updates fuse.
"""

from __future__ import annotations

from typing import Any

from mycelia.ops.arithmetic import Abs, Maximum, Pow, Sign, Square
from mycelia.ops.comparison import Greater, Less
from mycelia.ops.constants import like
from mycelia.ops.exponential import Exp, Log, Sqrt
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

Number = Any  # a Python number or a scalar tensor of the parameter's dtype


def moments(g: Tensor, m: Tensor, v: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    """Moving means of the gradient and of its square (Kingma and Ba 2014, algorithm 1)."""
    return m * beta1 + g * (1.0 - beta1), v * beta2 + Square(g) * (1.0 - beta2)


def adam_step(
    w: Tensor, g: Tensor, m: Tensor, v: Tensor, rate: Number, beta1: float, eps: float, nesterov: bool = False
) -> Tensor:
    """The parameter after a step along the moments; the rate carries the correction for their start at zero,
    so that eps is added to the uncorrected root (Kingma and Ba 2014, end of section 2)."""
    ahead = m * beta1 + g * (1.0 - beta1) if nesterov else m
    return w - rate * ahead / (Sqrt(v) + eps)


def corrected_adam_step(w: Tensor, m: Tensor, v: Tensor, rate: Number, root: Number, eps: float) -> Tensor:
    """Like `adam_step`, but eps is added to the corrected root (the same paper, algorithm 1)."""
    return w - rate * (m / (Sqrt(v) / root + eps))


def adamax(
    w: Tensor,
    g: Tensor,
    m: Tensor,
    u: Tensor,
    rate: Number,
    beta1: float,
    beta2: float,
    eps: float,
    inside: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Adam by the infinity norm (Kingma and Ba 2014, algorithm 2); eps guards the division, or is added to
    the
    gradient's size ``inside`` the maximum."""
    m = m * beta1 + g * (1.0 - beta1)
    u = Maximum(u * beta2, Abs(g) + eps if inside else Abs(g))
    return w - rate * m / (u if inside else u + eps), m, u


def adagrad(
    w: Tensor, g: Tensor, accum: Tensor, rate: Number, eps: float = 0.0, update: bool = True
) -> tuple[Tensor, Tensor]:
    """Rates shrink with the sum of squared gradients (Duchi, Hazan and Singer 2011)."""
    accum = accum + Square(g) if update else accum
    root = Sqrt(accum)
    return w - rate * g / (root + eps if eps else root), accum


def adadelta(
    w: Tensor, g: Tensor, accum: Tensor, moved: Tensor, rate: Number, rho: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Steps in units of the parameter (Zeiler 2012, algorithm 1)."""
    accum = accum * rho + Square(g) * (1.0 - rho)
    step = Sqrt(moved + eps) / Sqrt(accum + eps) * g
    return w - rate * step, accum, moved * rho + Square(step) * (1.0 - rho)


def proximal(z: Tensor, rate: Number, l1: float, l2: float) -> Tensor:
    """The proximal operator of l1 * |w| + l2 / 2 * w² (Duchi and Singer 2009, "FOBOS")."""
    if l1:
        z = Sign(z) * Maximum(Abs(z) - rate * l1, like(0, z))
    return z / (1.0 + rate * l2) if l2 else z


def proximal_adagrad(
    w: Tensor, g: Tensor, accum: Tensor, rate: Number, l1: float, l2: float
) -> tuple[Tensor, Tensor]:
    """Adagrad followed by the proximal operator at the adapted rate."""
    accum = accum + Square(g)
    adapted = rate / Sqrt(accum)
    return proximal(w - adapted * g, adapted, l1, l2), accum


def ftrl(
    w: Tensor, g: Tensor, accum: Tensor, linear: Tensor, rate: Number, power: float, l1: float, l2: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Follow the regularised leader, per coordinate (McMahan et al. 2013, algorithm 1)."""
    larger = accum + Square(g)
    before, after = _to_power(accum, -power), _to_power(larger, -power)
    linear = linear + g - (after - before) / rate * w
    bound = like(l1, linear)
    closed = (Sign(linear) * bound - linear) / (after / rate + 2.0 * l2)
    return Select(Greater(Abs(linear), bound), closed, like(0, w) * w), larger, linear


def _to_power(x: Tensor, power: float) -> Tensor:
    if power == 0.5:
        return Sqrt(x)
    return like(1, x) + x * 0.0 if power == 0 else Exp(Log(x) * power)


def rmsprop(
    w: Tensor,
    g: Tensor,
    square: Tensor,
    mean: Tensor | None,
    moment: Tensor | None,
    rate: Number,
    decay: float,
    momentum: float,
    eps: float,
    under_root: bool,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients over the root of their moving mean square (Hinton, lecture 6e, 2012); with ``mean`` that of
    their moving variance (Graves 2013, equations 38 to 45).

    With ``under_root`` eps is added to the square and the moment holds rates times gradients, else eps is
    added
    to the root and the moment holds gradients.
    """
    square = square * decay + Square(g) * (1.0 - decay)
    spread = square
    if mean is not None:
        mean = mean * decay + g * (1.0 - decay)
        spread = square - Square(mean)
    step = g / (Sqrt(spread + eps) if under_root else Sqrt(spread) + eps)
    if under_root:
        step = rate * step
    if moment is not None:
        step = moment = moment * momentum + step
    return w - (step if under_root else rate * step), square, mean, moment


def heavy_ball(
    g: Tensor, v: Tensor, momentum: Number, nesterov: bool, share: Number = None
) -> tuple[Tensor, Tensor]:
    """The step's direction and the moving sum of gradients, of which ``share`` of each is taken (Sutskever et
    al. 2013)."""
    v = v * momentum + (g if share is None else g * share)
    return g + v * momentum if nesterov else v, v


def rprop(
    w: Tensor,
    g: Tensor,
    previous: Tensor,
    size: Tensor,
    shrink: float,
    grow: float,
    smallest: float,
    largest: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Steps whose sizes grow while the gradient keeps its sign, and shrink when it turns; a turn skips one
    step
    (Riedmiller and Braun 1993)."""
    from mycelia.ops.arithmetic import Minimum

    agreement, zero = g * previous, like(0, g)
    turned = Less(agreement, zero)
    factor = Select(Greater(agreement, zero), like(grow, g), Select(turned, like(shrink, g), like(1, g)))
    size = Minimum(Maximum(size * factor, like(smallest, g)), like(largest, g))
    g = Select(turned, zero, g)
    return w - Sign(g) * size, g, size


def averaged_sgd(
    w: Tensor, g: Tensor, average: Tensor, eta: Number, mu: Number, decay: float
) -> tuple[Tensor, Tensor]:
    """Gradient descent that also keeps an average of where it was (Polyak and Juditsky 1992)."""
    w = w * (1.0 - eta * decay) - eta * g
    return w, average + (w - average) * mu


def averaged_sgd_rates(
    rate: Tensor, step: Tensor, decay: float, alpha: float, start: float
) -> tuple[Tensor, Tensor]:
    """The rate and the average's share for the step after ``step``."""
    eta = rate / power_of_tensor(1.0 + step * rate * decay, alpha)
    return eta, 1.0 / Maximum(step - start, like(1, step))


def norm(x: Tensor) -> Tensor:
    """The Euclidean norm of all elements."""
    return Sqrt(Square(x).sum())


def lamb(
    w: Tensor,
    m: Tensor,
    v: Tensor,
    rate: Number,
    correct1: Number,
    correct2: Number,
    eps: float,
    decay: Number,
) -> Tensor:
    """Adam's direction, as long as the parameter itself (You et al. 2019, algorithm 2)."""
    update = (m / correct1) / (Sqrt(v / correct2) + eps)
    if decay is not None:
        update = update + w * decay
    own, length = norm(w), norm(update)
    one, zero = like(1, own), like(0, own)
    usable = Greater(Select(Greater(own, zero), length, own), zero)
    trust = Select(usable, own / Select(usable, length, one), one)
    return w - rate * trust * update


def lars(w: Tensor, g: Tensor, decay: Number, coefficient: float, eps: float, limit: Number | None) -> Tensor:
    """The gradient scaled to a share of the parameter's length (You, Gitman and Ginsburg 2017, equation 6);
    ``limit``, a learning rate, keeps the scale times that rate at most 1."""
    from mycelia.ops.arithmetic import Minimum

    own, length = norm(w), norm(g)
    one, zero = like(1, own), like(0, own)
    trust = own * coefficient / (length + own * decay + eps)
    usable = Greater(Select(Greater(own, zero), length, own), zero)
    trust = Select(usable, trust, one)
    if limit is not None:
        trust = Minimum(trust / limit, one)
    return (g + w * decay) * trust


def adafactor_direction(g: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """The gradient over the root of its factored second moment (Shazeer and Stern 2018, algorithm 1)."""
    share = Sqrt(row / row.mean(-1, keep_dims=True))
    return g / (share.expand_dims(-1) * Sqrt(column).expand_dims(-2))


def power_of(base: float, step: Tensor) -> Tensor:
    """``base ** step`` for a scalar step."""
    return Pow(like(base, step), step)


def power_of_tensor(base: Tensor, exponent: float) -> Tensor:
    """``base ** exponent`` for a tensor and a number."""
    return Pow(base, like(exponent, base))
