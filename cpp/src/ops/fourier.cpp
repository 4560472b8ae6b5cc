// Mixed-radix and Bluestein transforms.
#include "ops/fourier.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numbers>

namespace jitney {
namespace {

/// Up to this prime, sums over all roots are as fast as anything.
constexpr std::size_t kLargestRadix = 31;

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t p = 2; p <= n / p; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

std::size_t largest_factor(std::size_t n) {
  std::size_t largest = 1;
  while (n > 1) {
    largest = smallest_factor(n);
    while (n % largest == 0) n /= largest;
  }
  return largest;
}

std::complex<double> root(double numerator, double denominator) {
  return std::polar(1.0, -2 * std::numbers::pi * numerator / denominator);
}

/// Without the care for infinities that the standard's product takes.
std::complex<double> times(const std::complex<double>& a, const std::complex<double>& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Fourier::Fourier(std::size_t length) : length_(length), result_(length) {
  const auto n = static_cast<double>(length);
  if (largest_factor(length) <= kLargestRadix) {
    for (std::size_t k = 0; k < length; ++k) roots_.push_back(root(static_cast<double>(k), n));
    return;
  }
  const std::size_t padded = std::bit_ceil(2 * length - 1);
  inner_.emplace_back(padded);
  std::uint64_t square = 0;  // k² modulo 2n, so that angles stay small
  for (std::size_t k = 0; k < length; ++k) {
    chirp_.push_back(root(static_cast<double>(square) / 2, n));
    square = (square + 2 * k + 1) % (2 * length);
  }
  std::vector<Complex> circle(padded);
  for (std::size_t k = 0; k < length; ++k) {
    circle[k] = std::conj(chirp_[k]);
    if (k > 0) circle[padded - k] = circle[k];
  }
  filter_ = inner_[0].forward(circle);
}

const std::vector<std::complex<double>>& Fourier::forward(const std::vector<Complex>& x) {
  if (!inner_.empty()) {
    convolve(x);
  } else if (length_ > 0) {
    combine(length_, 1, x.data(), result_.data());
  }
  return result_;
}

/// y = the transform of `length` elements of x that lie `stride` apart: those of its p interleaved parts, turned and added.
void Fourier::combine(std::size_t length, std::size_t stride, const Complex* x, Complex* y) const {
  if (length == 1) {
    *y = *x;
    return;
  }
  const std::size_t p = smallest_factor(length), part = length / p;
  for (std::size_t q = 0; q < p; ++q) combine(part, stride * p, x + q * stride, y + q * part);
  if (p == 2) {
    for (std::size_t k = 0; k < part; ++k) {
      const Complex even = y[k], odd = times(y[part + k], roots_[k * stride]);
      y[k] = even + odd;
      y[part + k] = even - odd;
    }
    return;
  }
  Complex terms[kLargestRadix];
  const std::size_t turn = length_ / p;  // between neighbouring p-th roots of 1
  for (std::size_t k = 0; k < part; ++k) {
    for (std::size_t q = 0; q < p; ++q) terms[q] = times(y[q * part + k], roots_[q * k * stride]);
    for (std::size_t r = 0; r < p; ++r) {
      Complex sum = terms[0];
      for (std::size_t q = 1; q < p; ++q) sum += times(terms[q], roots_[q * r % p * turn]);
      y[r * part + k] = sum;
    }
  }
}

/// Bluestein: kn = (k² + n² − (k − n)²) / 2 makes the sum a convolution with a chirp.
void Fourier::convolve(const std::vector<Complex>& x) {
  std::vector<Complex> padded(filter_.size());
  for (std::size_t k = 0; k < length_; ++k) padded[k] = times(x[k], chirp_[k]);
  std::vector<Complex> product = inner_[0].forward(padded);
  for (std::size_t k = 0; k < product.size(); ++k) product[k] = std::conj(times(product[k], filter_[k]));
  // The inverse transform is the conjugate of the transform of conjugates.
  const std::vector<Complex>& convolved = inner_[0].forward(product);
  const auto scale = 1.0 / static_cast<double>(padded.size());
  for (std::size_t k = 0; k < length_; ++k) result_[k] = times(std::conj(convolved[k]) * scale, chirp_[k]);
}

}  // namespace jitney
