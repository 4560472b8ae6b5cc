// Discrete Fourier transforms of any length in O(n log n).
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace jitney {

/// Transforms of one length: by its prime factors, or, if one of them is large, as a convolution of a length that has small ones.
class Fourier {
 public:
  explicit Fourier(std::size_t length);

  /// y[k] = Σ x[n]·e^(−2πi·kn/length), not scaled; `x` and the result have `length` elements.
  const std::vector<std::complex<double>>& forward(const std::vector<std::complex<double>>& x);

 private:
  using Complex = std::complex<double>;

  void combine(std::size_t length, std::size_t stride, const Complex* x, Complex* y) const;
  void convolve(const std::vector<Complex>& x);

  std::size_t length_;
  std::vector<Complex> roots_;  // e^(−2πi·k/length)
  std::vector<Complex> result_;
  std::vector<Fourier> inner_;   // none, or the one of the convolution
  std::vector<Complex> chirp_;   // e^(−πi·k²/length)
  std::vector<Complex> filter_;  // the transform of the chirp's conjugate, laid out in a circle
};

}  // namespace jitney
