"""erf, erfc, pow and the floor remainder, in the scalar vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mycelia.codegen.math_exp import LN2_64, clamp, exp, exp2, exp_minus_one, horner, reduced, scale, single
from mycelia.codegen.math_log import log2, split_exponent
from mycelia.codegen.text import Value, constant, literal
from mycelia.ir import dtypes

if TYPE_CHECKING:
    from mycelia.codegen.scalar import Scalar, VectorScalars

# erf(x) / x - 1 in z = x*x <= 1
ERF32 = (7.87587487e-05, -0.00080168643, 0.00518908724, -0.0268542115, 0.112835944, -0.37612626, 0.128379166)
ERF64 = (
    5.957176147748911e-11,
    -1.1372848856791674e-09,
    1.4659775274047436e-08,
    -1.6350312701054695e-07,
    1.6461000484121368e-06,
    -1.4925595266831182e-05,
    0.0001205533111164271,
    -0.000854832698083379,
    0.0052239776248180145,
    -0.026866170645076792,
    0.11283791670954879,
    -0.3761263890318375,
    0.1283791670955126,
)
# (1 + 2x) exp(x*x) erfc(x) - 1 in t = (x - a) / (x + a), x >= 1/2, with a = 2 (float32) and 3 (float64)
ERFC32 = (
    -0.000219537033,
    -0.00125898281,
    0.00114145176,
    0.00865385868,
    -0.0080043776,
    -0.0542099401,
    0.164048642,
    -0.166030928,
    -0.0927637592,
    0.276978374,
)
ERFC64 = (
    8.635681414307825e-09,
    7.124245030572795e-08,
    -8.42551957399924e-08,
    -5.840747551910045e-07,
    3.0307407103093377e-07,
    3.4525197016153044e-06,
    -7.012462973163499e-07,
    -2.00929833045886e-05,
    4.9387975342434404e-06,
    0.00012509749095168397,
    -0.00010515741491655,
    -0.0007798319787670749,
    0.0018886900308933137,
    0.002529391787416037,
    -0.023770514892453878,
    0.06830802734557402,
    -0.11927366341637591,
    0.12964515870271817,
    -0.04756229435343384,
    -0.13562110612458084,
    0.2530080582697296,
)
# ((2 atanh(s) / s - 2) / z - 2/3) / z with z = s*s, w in [sqrt(1/2), sqrt 2]
LOG_TAIL = (
    0.1291349606680315,
    0.13285967273890614,
    0.1538557450045883,
    0.18181808251607398,
    0.2222222227107745,
    0.2857142857133856,
    0.40000000000000024,
)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def _erf_near(m: VectorScalars, x: Scalar) -> Scalar:
    z = x * x
    return m.fma(x, horner(m, z, ERF32 if single(x) else ERF64), x)


def _erfc_far(m: VectorScalars, y: Scalar) -> Scalar:
    """erfc(y) for y >= 1/2: exp(-y*y) times a smooth function; y*y is kept with what its rounding lost."""
    centre = 2.0 if single(y) else 3.0
    y = clamp(m, y, 0.5, 11.0 if single(y) else 28.0)
    t = (y - centre) / (y + centre)
    smooth = (horner(m, t, ERFC32 if single(y) else ERFC64) + 1.0) / m.fma(y, 2.0, 1.0)
    square = y * y
    lost = m.fma(y, y, m.neg(square))
    tail = exp(m, m.neg(square)) * smooth
    return m.fma(m.neg(lost), tail, tail)


def erf(m: VectorScalars, x: Scalar) -> Scalar:
    y = m.abs(x)
    far = m.copysign(m.const(1.0, x.dtype) - _erfc_far(m, y), x)
    return m.select(m.gt(y, 1.0), far, _erf_near(m, x))


def erfc(m: VectorScalars, x: Scalar) -> Scalar:
    y = m.abs(x)
    far = _erfc_far(m, y)
    far = m.select(m.lt(x, 0.0), m.const(2.0, x.dtype) - far, far)
    return m.select(m.gt(y, 0.5), far, m.const(1.0, x.dtype) - _erf_near(m, x))


def pow(m: VectorScalars, x: Scalar, y: Scalar) -> Scalar:
    """exp(y log |x|) with the logarithm in twice the precision, then C's special cases."""
    size = m.abs(x)
    result = _pow32(m, size, y) if single(x) else _pow64(m, size, y)
    one, zero, infinity = (m.const(v, x.dtype) for v in (1.0, 0.0, float("inf")))
    integral = m.eq(m.trunc(y), y)
    half = y * 0.5
    odd = m.logical_and(m.logical_and(integral, m.ne(m.trunc(half), half)), m.lt(m.abs(y), infinity))
    falling = m.lt(y, 0.0)
    # |x| is 0 or infinite, or |y| infinite: 0, 1 or infinity by the direction
    grows = m.logical_xor(m.gt(size, 1.0), falling)
    limit = m.select(m.eq(size, 1.0), one, m.select(grows, infinity, zero))
    extreme = m.logical_or(m.logical_or(m.eq(size, 0.0), m.eq(size, infinity)), m.eq(m.abs(y), infinity))
    result = m.select(extreme, limit, result)
    result = m.select(m.logical_and(odd, m.lt(m.bits(x), 0)), m.neg(result), result)
    imaginary = m.logical_and(m.logical_and(m.lt(x, 0.0), m.logical_not(integral)), m.lt(size, infinity))
    result = m.select(imaginary, m.const(float("nan"), x.dtype), result)
    result = m.select(m.logical_or(m.isnan(x), m.isnan(y)), x + y, result)
    return m.select(m.logical_or(m.eq(y, 0.0), m.eq(x, 1.0)), one, result)


def _pow32(m: VectorScalars, size: Scalar, y: Scalar) -> Scalar:
    """float32 goes through float64, whose logarithm is precise enough."""
    wide = log2(m, m.cast(size, dtypes.float64)) * m.cast(y, dtypes.float64)
    return m.cast(exp2(m, wide), dtypes.float32)


def _pow64(m: VectorScalars, size: Scalar, y: Scalar) -> Scalar:
    hi, lo = _log_pair(m, size)
    product = hi * y
    lost = m.fma(hi, y, m.neg(product)) + lo * y
    bounded = clamp(m, product, -746.0, 711.0)
    lost = m.select(m.eq(bounded, product), lost, m.const(0.0, y.dtype))
    _, n, r = reduced(m, bounded)
    e = exp_minus_one(m, r) + 1.0
    return scale(m, m.fma(e, lost, e), n)


def _two_sum(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """a + b rounded, and what the rounding lost, for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def _log_pair(m: VectorScalars, x: Scalar) -> tuple[Scalar, Scalar]:
    """log(x) as the sum of two float64, about 68 bits."""
    e, w = split_exponent(m, x)
    f = w - 1.0
    base, base_lost = _two_sum(m.const(2.0, x.dtype), f)
    s = f / base
    s_low = (m.fma(m.neg(s), base, f) - s * base_lost) / base
    z = s * s
    z_low = m.fma(s, s, m.neg(z)) + s * s_low * 2.0
    # s**3 * (2/3 + z * tail): 2/3 + z * tail as a pair c, times z, times s
    c, c_low = _two_sum(m.const(TWO_THIRDS[0], x.dtype), z * horner(m, z, LOG_TAIL))
    c_low = c_low + TWO_THIRDS[1]
    p = z * c
    p_low = m.fma(z, c, m.neg(p)) + (z * c_low + z_low * c)
    q = s * p
    q_low = m.fma(s, p, m.neg(q)) + (s * p_low + s_low * p)
    mantissa, low = _two_sum(s * 2.0, q)
    low = low + (s_low * 2.0 + q_low)
    hi, lo = LN2_64
    whole = e * hi
    whole_low = m.fma(e, hi, m.neg(whole)) + e * lo
    total = whole + mantissa
    part = total - whole  # a sum of either order of magnitudes
    lost = (whole - (total - part)) + (mantissa - part)
    return _two_sum(total, lost + (whole_low + low))


def integer_power(m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
    """a**b by squaring, modulo the type's range; a negative exponent gives a**b truncated: 0, unless a is 1
    or -1."""
    f, dtype = m.f, a.dtype
    if dtype.kind == "b":
        return m.logical_or(a, m.logical_not(b))
    one = m.const(1, dtype)
    with f.loop(0, dtype.bits, carried=[one.value, a.value, b.value]) as loop:
        total, square, rest = (m.wrap(v, dtype) for v in loop.carried)
        grown = m.select(m.ne(m.bitwise_and(rest, 1), 0), total * square, total)
        rest = m.wrap(f.binary("lshr", rest.value, constant(1, rest.value.type)), dtype)
        loop.next([grown.value, (square * square).value, rest.value])
    result = m.wrap(loop.results[0], dtype)
    if dtype.kind == "u":
        return result
    parity = m.select(m.ne(m.bitwise_and(b, 1), 0), m.const(-1, dtype), one)
    inverse = m.select(m.eq(a, 1), one, m.select(m.eq(a, -1), parity, m.const(0, dtype)))
    return m.select(m.lt(b, 0), inverse, result)


def _remainder(m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
    """|a| modulo |b| for finite a and non-zero b, exactly.

    One step ``a - trunc(a / b) * b`` is exact (fused, and corrected by one b) while a / b stays below 2**22
    (2**51); larger quotients
    first take steps with b * 2**(22 k), from the largest k down.
    """
    f = m.f
    digits, steps = (22, 12) if single(a) else (51, 41)
    a, b = m.abs(a), m.abs(b)

    def step(a: Scalar, b: Scalar) -> Scalar:
        r = m.fma(m.neg(m.trunc(a / b)), b, a)
        r = m.select(m.lt(r, 0.0), r + b, r)
        r = m.select(m.ge(r, b), r - b, r)
        return m.select(m.ge(a, b), r, a)

    def from_the_top() -> list[Value]:
        # 2**(digits k) in three factors
        thirds = [[(digits * k + i) // 3 for i in range(3)] for k in range(steps, 0, -1)]
        kind = "float" if single(a) else "double"
        tables = [
            f.module.data(
                f"remainder_{kind}_{i}",
                f"[{steps} x {kind}]",
                "[" + ", ".join(f"{kind} {literal(2.0 ** t[i], kind)}" for t in thirds) + "]",
            )
            for i in range(3)
        ]
        with f.loop(0, steps, carried=[a.value]) as loop:
            scaled = b
            for table in tables:
                scaled = scaled * m.splat(a.dtype, f.at(kind, table, loop.index))
            rest = m.wrap(loop.carried[0], a.dtype)
            reduced_rest = m.select(m.lt(scaled, float("inf")), step(rest, scaled), rest)
            loop.next([reduced_rest.value])
        return [loop.results[0]]

    far = m.any(m.logical_and(m.ge(a / b, 2.0**digits), m.lt(a, float("inf"))))
    rest = m.wrap(f.choose(far, from_the_top, lambda: [a.value])[0], a.dtype)
    return step(rest, b)


def _floor_divmod(m: VectorScalars, a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    nan = m.const(float("nan"), a.dtype)
    rest = m.copysign(_remainder(m, a, b), a)
    rest = m.select(m.eq(m.abs(b), float("inf")), a, rest)
    undefined = m.logical_or(m.eq(b, 0.0), m.eq(m.abs(a), float("inf")))
    rest = m.select(m.logical_or(undefined, m.logical_or(m.isnan(a), m.isnan(b))), nan, rest)
    zero = m.eq(rest, 0.0)
    opposite = m.logical_and(m.logical_not(zero), m.ne(m.lt(rest, 0.0), m.lt(b, 0.0)))
    quotient = (a - rest) / b
    quotient = m.select(opposite, quotient - 1.0, quotient)
    rest = m.select(opposite, rest + b, m.select(zero, m.copysign(m.const(0.0, a.dtype), b), rest))
    whole = m.floor(quotient)
    whole = m.select(m.gt(quotient - whole, 0.5), whole + 1.0, whole)
    whole = m.select(m.eq(quotient, 0.0), m.copysign(m.const(0.0, a.dtype), a / b), whole)
    return m.select(m.eq(b, 0.0), a / b, whole), rest


def floordiv(m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
    return _floor_divmod(m, a, b)[0]


def mod(m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
    """The remainder with the sign of b; NaN for b = 0 and for infinite a."""
    return _floor_divmod(m, a, b)[1]
