// Depthwise convolution that slides along rows, written once for whichever V was included before: every input is loaded once for
// all the outputs of its rows that see it, and outputs wait in registers until their last tap has passed.
// Included by f32_dwconv_*.cpp only.
#pragma once

#include "cpu/kernels/dwconv/dwconv.h"

namespace jitney::kernels {
namespace {

constexpr std::ptrdiff_t kLaneStride = static_cast<std::ptrdiff_t>(kLanes);

template <int kValue>
struct Index {
  static constexpr int value = kValue;
};
/// body(Index<0>), body(Index<1>), … with no loop left, so that arrays of vectors can stay in registers.
template <int kCount, int kFirst = 0, typename Body>
inline void unrolled(Body&& body) {
  if constexpr (kFirst < kCount) {
    body(Index<kFirst>{});
    unrolled<kCount, kFirst + 1>(body);
  }
}

/// kWidth taps along the width, outputs kStep columns apart, kRows output rows and a vector of channels at a time.
/// kTaps: rows of taps, whose weights stay in registers (0: as many as the run says); kJump: input rows between output rows, if
/// kTaps is given. Each chain begins with the bias and runs over the taps column by column, within a column from top to bottom.
template <int kWidth, int kStep, int kRows, int kTaps, int kJump, typename Part>
class Slider {
 public:
  Slider(const DwSlide& run, Part part, std::size_t channel, const float* w)
      : part_(part), rows_(run.rows), taps_(run.taps), jump_(run.jump), channel_(static_cast<std::ptrdiff_t>(channel)), w_(w) {}

  void slide(const DwSlide& given) {
    const DwSlide run = given;  // a copy that y cannot overlap, so that its fields stay in registers
    if constexpr (kTaps != 0) {
      unrolled<kFixedRows>([&](auto row) { fixed_rows_[row.value] = rows_[row.value] + channel_; });
      unrolled<kTaps * kWidth>([&](auto tap) { weights_[tap.value] = load(w_ + tap.value * kLaneStride); });
    }
    start_ = run.bias == nullptr ? zero() : part_.load(run.bias + channel_);
    low_ = set(run.clamp.low);
    high_ = set(run.clamp.high);
    y_ = run.y + channel_;
    std::ptrdiff_t column = run.first;  // under the first tap of the newest output
    std::ptrdiff_t at = column * run.pixel;
    std::size_t waiting = kFlight - 1;  // steps until the first output is done
    std::size_t left = run.outputs + waiting;
    const std::ptrdiff_t last = run.width - kFlight * kStep;
    while (left != 0) {
      if (kTaps != 0 && waiting == 0 && left >= kFlight && column >= 0 && column <= last) {
        unrolled<kFlight>([&](auto turn) {
          unrolled<kStep>([&](auto phase) {
            see_column<turn.value, phase.value>(run, at, true, true);
            at += run.pixel;
          });
        });
        column += kFlight * kStep;
        left -= kFlight;
        continue;
      }
      unrolled<kFlight>([&](auto turn) {
        if (left == 0) return;
        unrolled<kStep>([&](auto phase) {
          const auto here = static_cast<std::size_t>(column + phase.value);
          see_column<turn.value, phase.value>(run, at, here < static_cast<std::size_t>(run.width), waiting == 0);
          at += run.pixel;
        });
        if (waiting != 0) --waiting;
        column += kStep;
        --left;
      });
    }
  }

 private:
  static constexpr int kFlight = (kWidth + kStep - 1) / kStep;  // outputs of a row that wait for taps at the same time
  static constexpr int kFixedRows = kTaps == 0 ? 1 : (kRows - 1) * kJump + kTaps;

  /// All taps that see one column; the output that sees it last is then done.
  template <int kTurn, int kPhase>
  void see_column(const DwSlide& run, std::ptrdiff_t at, bool inside, bool done) {
    if constexpr (kPhase == 0) unrolled<kRows>([&](auto r) { sums_[r.value][kTurn] = start_; });
    if (inside) add<kTurn, kPhase>(at);
    if constexpr (kPhase == (kWidth - 1) % kStep) {
      if (!done) return;
      unrolled<kRows>([&](auto r) {
        part_.store(y_ + r.value * run.y_row_stride, clip(sums_[r.value][(kTurn + 1) % kFlight], low_, high_));
      });
      y_ += run.y_stride;
    }
  }

  template <int kTurn, int kPhase>
  void add(std::ptrdiff_t at) {
    if constexpr (kTaps != 0) {
      unrolled<kTaps>([&](auto tap) {
        V x[kRows];
        unrolled<kRows>([&](auto r) { x[r.value] = part_.load(fixed_rows_[r.value * kJump + tap.value] + at); });
        add_row<kTurn, kPhase>(x, [&](auto column) { return weights_[tap.value * kWidth + column.value]; });
      });
    } else {
      const float* w = w_;
      const float* const* rows = rows_;
      for (std::size_t tap = taps_; tap != 0; --tap, ++rows, w += kWidth * kLaneStride) {
        V x[kRows];
        unrolled<kRows>(
            [&](auto r) { x[r.value] = part_.load(rows[static_cast<std::size_t>(r.value) * jump_] + channel_ + at); });
        add_row<kTurn, kPhase>(x, [&](auto column) { return load(w + column.value * kLaneStride); });
      }
    }
  }

  /// One row of taps: the output begun `age` steps ago sees this column through tap age·kStep + kPhase.
  template <int kTurn, int kPhase, typename Weight>
  void add_row(const V (&x)[kRows], Weight weight_of) {
    unrolled<kFlight>([&](auto age) {
      constexpr int kTap = decltype(age)::value * kStep + kPhase;
      if constexpr (kTap < kWidth) {
        const V weight = weight_of(Index<kTap>{});
        unrolled<kRows>([&](auto r) {
          V& sum = sums_[r.value][(kTurn + kFlight - age.value) % kFlight];
          sum = fma(x[r.value], weight, sum);
        });
      }
    });
  }

  Part part_;
  const float* const* rows_;
  const float* fixed_rows_[kFixedRows];
  std::size_t taps_;
  std::size_t jump_;
  std::ptrdiff_t channel_;
  const float* w_;
  V sums_[kRows][kFlight];
  V weights_[kTaps == 0 ? 1 : kTaps * kWidth];
  V start_, low_, high_;
  float* y_ = nullptr;
};

template <int kWidth, int kStep, int kRows, int kTaps, int kJump>
void slide_rows(const DwSlide& run) {
  const float* w = run.w;
  std::size_t c = 0;
  for (; c + kLanes <= run.channels; c += kLanes, w += run.w_vector_stride)
    Slider<kWidth, kStep, kRows, kTaps, kJump, WholeVector>(run, {}, c, w).slide(run);
  if (c < run.channels) Slider<kWidth, kStep, kRows, 0, 0, PartVector>(run, {run.channels - c}, c, w).slide(run);
}

template <int kWidth, int kStep>
void slide_width(const DwSlide& run) {
  if (run.row_count == 1) return slide_rows<kWidth, kStep, 1, 0, 0>(run);
  if constexpr (kWidth == 3) {
    if (run.taps == 3 && run.jump == kStep) return slide_rows<kWidth, kStep, 2, 3, kStep>(run);
    if (run.taps == 3 && run.jump == 3) return slide_rows<kWidth, kStep, 2, 3, 3>(run);
  }
  slide_rows<kWidth, kStep, 2, 0, 0>(run);
}

void slide_dwconv(const DwSlide& run) {
  if (run.columns == 7) return slide_width<7, 1>(run);
  if (run.columns == 5) return run.step == 1 ? slide_width<5, 1>(run) : slide_width<5, 2>(run);
  run.step == 1 ? slide_width<3, 1>(run) : slide_width<3, 2>(run);
}

}  // namespace
}  // namespace jitney::kernels
