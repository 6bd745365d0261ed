// Quantity: an exact decimal number with Kubernetes' suffixes ("100m", "1.5Gi", "12e6").
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::api {

/// Parses, computes and prints what k8s.io/apimachinery's resource.Quantity does, without floating
/// point: value * 10^scale in 16 bytes, with an arbitrary-precision fall-back on the heap for what does
/// not fit 64 bits (immutable and shared, so copies are cheap). Precision below one nano is rounded away
/// from zero when parsing. Distinct objects may be used from any thread.
///
/// It departs from Kubernetes where that one loses the value: numbers beyond the largest suffix keep it
/// ("1000E", where Kubernetes prints "1"), and integers that do not fit saturate (where Kubernetes
/// yields 0 or wraps). Numbers of 10^kMaxExponent and beyond are an error.
class Quantity {
 public:
  enum class Format : std::uint8_t {
    decimal_si,        // 12M
    binary_si,         // 12Mi
    decimal_exponent,  // 12e6
  };
  /// Bounds of the input: the magnitude, and the length of the text. What was parsed prints within them.
  static constexpr int kMaxExponent = 9'000;
  static constexpr std::size_t kMaxLength = 10'000;

  Quantity() noexcept : value_(0) {}  // zero
  Quantity(const Quantity& other) noexcept;
  Quantity(Quantity&& other) noexcept;
  Quantity& operator=(const Quantity& other) noexcept;
  Quantity& operator=(Quantity&& other) noexcept;
  ~Quantity() {
    if (heap_) release();
  }

  /// The errors' messages are Kubernetes'. Surrounding space is an error here (JSON decoding trims it).
  static Result<Quantity> parse(std::string_view text);
  /// For literals in code and tests; throws std::invalid_argument.
  static Quantity must(std::string_view text);
  static Quantity from_int(std::int64_t value, Format format = Format::decimal_si);
  static Quantity from_milli(std::int64_t milli, Format format = Format::decimal_si);
  /// value * 10^scale
  static Quantity from_scaled(std::int64_t value, int scale, Format format = Format::decimal_si);

  /// Canonical: no fraction digits, the largest suffix that leaves an integer. A text that parse() read
  /// in nearly canonical form ("+5", "1E3") is printed as it was read until the number changes.
  std::string to_string() const;

  Format format() const { return format_; }
  bool is_zero() const { return !heap_ && value_ == 0; }
  int sign() const;
  /// In units of 10^0, 10^-3, 10^scale; rounded away from zero; saturating.
  std::int64_t value() const { return scaled_value(0); }
  std::int64_t milli_value() const { return scaled_value(-3); }
  std::int64_t scaled_value(int scale) const;
  /// Approximate, for scores and metrics.
  double to_double() const;

  /// A zero takes the format of what is added or subtracted, as in Kubernetes.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity& operator*=(std::int64_t factor);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  friend Quantity operator*(Quantity a, std::int64_t factor) { return a *= factor; }
  Quantity operator-() const;
  /// Rounds away from zero to a multiple of 10^scale; true if nothing was lost.
  bool round_up(int scale);

  /// By number: 1 == 1000m, whatever the formats.
  friend bool operator==(const Quantity& a, const Quantity& b) { return compare(a, b) == 0; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return compare(a, b) <=> 0;
  }

 private:
  struct Heap;     // a number that does not fit, or the text to print
  struct Numbers;  // arbitrary-precision steps, in the .cpp
  static int compare(const Quantity& a, const Quantity& b);
  std::int64_t small_value() const;
  bool is_big() const;
  void release() noexcept;

  union {
    std::int64_t value_;  // !heap_: the number is value_ * 10^scale_
    Heap* heap_ptr_;      // heap_
  };
  std::int32_t scale_ = 0;
  Format format_ = Format::decimal_si;
  bool heap_ = false;
};

static_assert(sizeof(Quantity) == 16);

}  // namespace koord::api
