// Exponential and its kin on vectors, for whichever V was included before: the one definition per instruction set.
// Errors are 1–3 ulp of the result (gelu: of its argument); NaN gives NaN, infinities and denormals what IEEE arithmetic gives.
// Included after vec_<isa>.h by files of that instruction set only.
#pragma once

namespace jitney::kernels {
namespace {

/// e^x: argument reduced to |r| ≤ ln2/2, Cephes' minimax polynomial.
inline V exp(V x) {
  x = at_most(at_least(x, set(-104.0f)), set(89.0f));
  const V n = round_even(x * set(1.44269504088896341f));
  V r = fma(n, set(-0.693359375f), x);
  r = fma(n, set(2.12194440e-4f), r);
  V p = set(1.9875691500e-4f);
  p = fma(p, r, set(1.3981999507e-3f));
  p = fma(p, r, set(8.3334519073e-3f));
  p = fma(p, r, set(4.1665795894e-2f));
  p = fma(p, r, set(1.6666665459e-1f));
  p = fma(p, r, set(5.0000001201e-1f));
  p = fma(p, r * r, r) + set(1.0f);
  return scale_by_power(p, n);
}

/// 1 / (1 + e^-x), with no cancellation at either end.
inline V sigmoid(V x) {
  const V z = exp(negate(abs(x)));
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
  const V large = set(1.0f) - set(2.0f) / (exp(a + a) + set(1.0f));
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
  const V large = copy_sign(set(1.0f) - exp(r), x);
  return select(t < set(0.927734375f), small, large);
}

inline V relu(V x) { return at_least(x, zero()); }
inline V clip(V x, V low, V high) { return at_most(at_least(x, low), high); }
inline V scaled_if_negative(V x, V slope) { return select(x < zero(), x * slope, x); }
inline V hard_sigmoid(V x, V alpha, V beta) { return clip(alpha * x + beta, zero(), set(1.0f)); }
inline V hard_swish(V x) { return x * hard_sigmoid(x, set(1.0f / 6.0f), set(0.5f)); }
inline V silu(V x) { return x * sigmoid(x); }
inline V gelu(V x) { return set(0.5f) * x * (set(1.0f) + erf(x * set(0.70710678118654752f))); }
/// x/2·(1 + tanh u) = x·sigmoid(2u), which does not cancel for negative u.
inline V gelu_tanh(V x) {
  const V u = set(0.79788456080286536f) * fma(set(0.044715f) * x * x, x, x);
  return x * sigmoid(u + u);
}

}  // namespace
}  // namespace jitney::kernels
