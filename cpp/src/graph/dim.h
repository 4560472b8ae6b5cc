// A dimension: an integer, an affine expression of named symbols, or unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace jitney {

/// Index into the model's table of symbol names.
using Symbol = std::uint32_t;

/// constant + Σ coefficient · symbol, or unknown. Arithmetic stays affine where it can and gives `unknown` elsewhere
/// (also on 64-bit overflow, so that hostile files cannot wrap sizes).
class Dim {
 public:
  struct Term {
    Symbol symbol;
    std::int64_t coefficient;
    bool operator==(const Term&) const = default;
  };

  Dim() = default;                                             // unknown
  Dim(std::int64_t value) : known_(true), constant_(value) {}  // NOLINT: integers are dims
  static Dim unknown() { return {}; }
  static Dim symbol(Symbol symbol);
  /// Terms need not be sorted or merged.
  static Dim affine(std::int64_t constant, std::vector<Term> terms);

  bool is_unknown() const noexcept { return !known_; }
  bool is_constant() const noexcept { return known_ && terms_.empty(); }
  bool is_symbolic() const noexcept { return known_ && !terms_.empty(); }
  /// The integer; only if is_constant().
  std::int64_t value() const noexcept { return constant_; }
  std::int64_t constant() const noexcept { return constant_; }
  const std::vector<Term>& terms() const noexcept { return terms_; }

  /// Equal as expressions; unknown equals nothing, not even itself (use is_unknown()).
  bool same(const Dim& other) const noexcept;
  /// Value under an assignment of symbols (indexed by Symbol; nullopt where unassigned).
  Dim substitute(const std::vector<std::optional<std::int64_t>>& values) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// The floor of the quotient: of constants, of an affine a whose coefficients a constant b divides, and of a = k·b; else
  /// unknown.
  friend Dim floor_div(const Dim& a, const Dim& b);

 private:
  bool known_ = false;
  std::int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted by symbol, no zero coefficients
};

Dim floor_div(const Dim& a, const Dim& b);

/// "224", "N", "2*N + 1", "?"
std::string to_string(const Dim& dim, const std::vector<std::string>& symbols);

/// Shape over Dims; the rank itself may be unknown.
struct SymShape {
  bool ranked = false;
  std::vector<Dim> dims;

  static SymShape unranked() { return {}; }
  static SymShape of(std::vector<Dim> dims) { return {true, std::move(dims)}; }
  std::size_t rank() const noexcept { return dims.size(); }
  bool is_constant() const noexcept;
};

}  // namespace jitney
