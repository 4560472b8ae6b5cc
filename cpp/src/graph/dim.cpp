// Affine arithmetic over symbols; whatever leaves the affine world or 64 bits becomes unknown.
#include "graph/dim.h"

#include <algorithm>

#include "base/checked.h"

namespace jitney {

Dim Dim::symbol(Symbol symbol) { return affine(0, {{symbol, 1}}); }

Dim Dim::affine(std::int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.symbol < b.symbol; });
  Dim dim(constant);
  for (const Term& term : terms) {
    if (dim.terms_.empty() || dim.terms_.back().symbol != term.symbol) {
      dim.terms_.push_back(term);
      continue;
    }
    const auto sum = checked_add(dim.terms_.back().coefficient, term.coefficient);
    if (!sum) return unknown();
    dim.terms_.back().coefficient = *sum;
  }
  std::erase_if(dim.terms_, [](const Term& term) { return term.coefficient == 0; });
  return dim;
}

bool Dim::same(const Dim& other) const noexcept {
  return known_ && other.known_ && constant_ == other.constant_ && terms_ == other.terms_;
}

Dim Dim::substitute(const std::vector<std::optional<std::int64_t>>& values) const {
  if (!known_) return unknown();
  Dim sum(constant_);
  for (const Term& term : terms_) {
    const bool assigned = term.symbol < values.size() && values[term.symbol].has_value();
    sum = sum + (assigned ? Dim(*values[term.symbol]) * Dim(term.coefficient) : affine(0, {term}));
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return Dim::unknown();
  const auto constant = checked_add(a.constant_, b.constant_);
  if (!constant) return Dim::unknown();
  if (a.terms_.empty() && b.terms_.empty()) return *constant;
  std::vector<Dim::Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Dim::affine(*constant, std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {  // apart, because -INT64_MIN does not exist
    const auto difference = checked_sub(a.constant_, b.constant_);
    return difference ? Dim(*difference) : Dim::unknown();
  }
  return a + b * Dim(-1);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return Dim::unknown();
  if (!a.terms_.empty() && !b.terms_.empty()) return Dim::unknown();
  const Dim& scaled = a.terms_.empty() ? b : a;
  const std::int64_t factor = a.terms_.empty() ? a.constant_ : b.constant_;
  const auto constant = checked_mul(scaled.constant_, factor);
  if (!constant) return Dim::unknown();
  std::vector<Dim::Term> terms = scaled.terms_;
  for (Dim::Term& term : terms) {
    const auto coefficient = checked_mul(term.coefficient, factor);
    if (!coefficient) return Dim::unknown();
    term.coefficient = *coefficient;
  }
  return Dim::affine(*constant, std::move(terms));
}

namespace {

std::optional<std::int64_t> floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && !checked_sub(std::int64_t{0}, a))) return std::nullopt;
  const std::int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) {
  if (!a.known_ || !b.known_) return Dim::unknown();
  if (b.terms_.empty()) {
    // Coefficients that b divides leave the floor, so the constant may be rounded alone: floor((2N + 1) / 2) = N.
    const auto constant = floor_quotient(a.constant_, b.constant_);
    if (!constant) return Dim::unknown();
    std::vector<Dim::Term> terms = a.terms_;
    for (Dim::Term& term : terms) {
      const auto coefficient = floor_quotient(term.coefficient, b.constant_);
      if (!coefficient || *coefficient * b.constant_ != term.coefficient) return Dim::unknown();
      term.coefficient = *coefficient;
    }
    return Dim::affine(*constant, std::move(terms));
  }
  if (a.terms_.empty()) return a.constant_ == 0 ? Dim(0) : Dim::unknown();
  const auto factor = floor_quotient(a.terms_.front().coefficient, b.terms_.front().coefficient);
  return factor && (b * Dim(*factor)).same(a) ? Dim(*factor) : Dim::unknown();
}

std::string to_string(const Dim& dim, const std::vector<std::string>& symbols) {
  if (dim.is_unknown()) return "?";
  std::string text;
  const auto append = [&text](std::int64_t number, const std::string& rest) {
    std::string magnitude = std::to_string(number);
    const bool negative = number < 0;
    if (negative) magnitude.erase(0, 1);
    if (text.empty()) {
      if (negative) text += "-";
    } else {
      text += negative ? " - " : " + ";
    }
    if (rest.empty()) {
      text += magnitude;
    } else {
      text += magnitude == "1" ? rest : magnitude + "*" + rest;
    }
  };
  for (const Dim::Term& term : dim.terms()) {
    append(term.coefficient, term.symbol < symbols.size() ? symbols[term.symbol] : "#" + std::to_string(term.symbol));
  }
  if (dim.constant() != 0 || dim.terms().empty()) append(dim.constant(), "");
  return text;
}

bool SymShape::is_constant() const noexcept {
  return ranked && std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_constant(); });
}

}  // namespace jitney
