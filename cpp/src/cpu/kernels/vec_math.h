// Exponential and its kin on vectors, for whichever V was included before: the one definition per instruction set.
// Errors are 1–3 ulp of the result (gelu: of its argument); NaN gives NaN, infinities and denormals what IEEE arithmetic gives,
// but where a factor e^-|x| would be denormal, sigmoid and what is made of it give 0.
// Included after vec_<isa>.h by files of that instruction set only.
#pragma once

namespace jitney::kernels {
namespace {

/// e^r − 1, where x = n·ln2 + r and |r| ≤ ln2/2, by Cephes' minimax polynomial.
inline V exp_rest(V x, V& n) {
  n = round_even(x * set(1.44269504088896341f));
  V r = fma(n, set(-0.693359375f), x);
  r = fma(n, set(2.12194440e-4f), r);
  V p = set(1.9875691500e-4f);
  p = fma(p, r, set(1.3981999507e-3f));
  p = fma(p, r, set(8.3334519073e-3f));
  p = fma(p, r, set(4.1665795894e-2f));
  p = fma(p, r, set(1.6666665459e-1f));
  p = fma(p, r, set(5.0000001201e-1f));
  return fma(p, r * r, r);
}

inline V exp(V x) {
  V n;
  const V rest = exp_rest(at_most(at_least(x, set(-104.0f)), set(89.0f)), n);
  return scale_by_power(rest + set(1.0f), n);
}

/// e^x − 1 for x ≤ 0.
inline V exp_minus_one(V x) {
  V n;
  const V rest = exp_rest(at_least(x, set(-104.0f)), n);
  const V power = scale_by_power(set(1.0f), n);
  return fma(power, rest, power - set(1.0f));
}

/// e^x for x up to 0 (a little above it too): 0 where it would be denormal. The power of two comes straight out of the rounding,
/// whose sum with 1.5·2^23 + 127 ends in the bits of its exponent.
inline V exp_decay(V x) {
  const V shift = set(12583039.0f);
  x = at_least(x, set(-88.0f));  // which gives the power whose exponent is 0, and that is 0
  const V t = fma(x, set(1.44269504088896341f), shift);
  const V n = t - shift;
  V r = fma(n, set(-0.693359375f), x);
  r = fma(n, set(2.12194440e-4f), r);
  // Pairs instead of a chain: a processor waits for the result of each step, and has others to do meanwhile.
  const V square = r * r;
  const V high =
      fma(fma(set(1.9875691500e-4f), r, set(1.3981999507e-3f)), square, fma(set(8.3334519073e-3f), r, set(4.1665795894e-2f)));
  const V p = fma(fma(high, square, fma(set(1.6666665459e-1f), r, set(5.0000001201e-1f))), square, r) + set(1.0f);
  return p * power_from_bits(t);
}

/// 1 / (1 + e^-x), with no cancellation at either end.
inline V sigmoid(V x) {
  const V z = exp_decay(negate(abs(x)));
  return select(x < zero(), z, set(1.0f)) / (set(1.0f) + z);
}

inline V tanh(V x) {
  const V a = abs(x);
  const V z = x * x;
  V p = set(-5.70498872745e-3f);
  p = fma(p, z, set(2.06390887954e-2f));
  p = fma(p, z, set(-5.37397155531e-2f));
  p = fma(p, z, set(1.33314422036e-1f));
  p = fma(p, z, set(-3.33332819422e-1f));
  const V small = fma(p * z, x, x);
  const V decay = exp_decay(negate(a + a));
  const V large = (set(1.0f) - decay) / (set(1.0f) + decay);
  return select(a < set(0.625f), small, copy_sign(large, x));
}

inline V erf(V x) {
  const V t = at_most(abs(x), set(10.0f));
  const V s = t * t;
  V p = set(-5.96761703e-4f);
  p = fma(p, s, set(4.99119423e-3f));
  p = fma(p, s, set(-2.67681349e-2f));
  p = fma(p, s, set(1.12819925e-1f));
  p = fma(p, s, set(-3.76125336e-1f));
  p = fma(p, s, set(1.28379166e-1f));
  const V small = fma(p, x, x);
  V r = fma(set(-1.72853470e-5f), t, set(3.83197126e-4f));
  const V u = fma(set(-3.88396438e-3f), t, set(2.42546219e-2f));
  r = fma(r, s, u);
  r = fma(r, t, set(-1.06777877e-1f));
  r = fma(r, t, set(-6.34846687e-1f));
  r = fma(r, t, set(-1.28717512e-1f));
  r = fma(r, t, negate(t));
  const V large = copy_sign(set(1.0f) - exp_decay(r), x);
  return select(t < set(0.927734375f), small, large);
}

inline V relu(V x) { return at_least(x, zero()); }
inline V clip(V x, V low, V high) { return at_most(at_least(x, low), high); }
inline V scaled_if_negative(V x, V slope) { return select(x < zero(), x * slope, x); }
inline V hard_sigmoid(V x, V alpha, V beta) { return clip(alpha * x + beta, zero(), set(1.0f)); }
inline V hard_swish(V x) { return x * hard_sigmoid(x, set(1.0f / 6.0f), set(0.5f)); }
inline V silu(V x) { return x * sigmoid(x); }
/// c0 + c1·s + c2·s² + c3·s³.
inline V cubic(V s, V square, float c0, float c1, float c2, float c3) {
  return fma(fma(set(c3), s, set(c2)), square, fma(set(c1), s, set(c0)));
}

/// x/2·(1 + erf(x/√2)), with erf(x/√2)/x as a polynomial in x² up to where erf is 1. It need not be accurate relative to small
/// values of erf, which saves an exponential. Minimax fit about the centre at which rounding errors are least; by cubics, because
/// a single chain of 15 steps would keep the processor waiting.
inline V gelu(V x) {
  const V s = at_most(x * x, set(28.09f)) - set(20.2248001f);
  const V square = s * s;
  const V fourth = square * square;
  V p = cubic(s, square, -6.557482164e-18f, -1.895251109e-18f, -8.371145347e-20f, -1.529017210e-21f);
  p = fma(p, fourth, cubic(s, square, 8.686237493e-13f, -4.991155872e-14f, 5.105572828e-15f, 1.944647622e-16f));
  p = fma(p, fourth, cubic(s, square, 3.572072842e-07f, -1.545274664e-08f, 6.771351257e-10f, -2.878415908e-11f));
  p = fma(p, fourth, cubic(s, square, 2.223590910e-01f, -5.496386439e-03f, 2.036246005e-04f, -8.357177649e-06f));
  const V error = at_most(at_least(x * p, set(-1.0f)), set(1.0f));
  const V half = set(0.5f) * x;
  return fma(half, error, half);
}
/// x/2·(1 + tanh u) = x·sigmoid(2u), which does not cancel for negative u.
inline V gelu_tanh(V x) {
  const V u = set(0.79788456080286536f) * fma(set(0.044715f) * x * x, x, x);
  return x * sigmoid(u + u);
}

}  // namespace
}  // namespace jitney::kernels
