#include "koord/api/values/quantity.hpp"

#include <atomic>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace koord::api {

namespace {

using boost::multiprecision::cpp_int;
using Format = Quantity::Format;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr int kNano = -9;
constexpr int kExa = 18;

// Kubernetes' messages: programs and tests compare them.
constexpr const char* kBadFormat =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr const char* kBadNumber = "unable to parse numeric part of quantity";
constexpr const char* kBadSuffix = "unable to parse quantity's suffix";

constexpr std::int64_t kPow10[] = {1,
                                   10,
                                   100,
                                   1'000,
                                   10'000,
                                   100'000,
                                   1'000'000,
                                   10'000'000,
                                   100'000'000,
                                   1'000'000'000,
                                   10'000'000'000,
                                   100'000'000'000,
                                   1'000'000'000'000,
                                   10'000'000'000'000,
                                   100'000'000'000'000,
                                   1'000'000'000'000'000,
                                   10'000'000'000'000'000,
                                   100'000'000'000'000'000,
                                   1'000'000'000'000'000'000};
constexpr int kMaxPow10 = 18;

cpp_int pow10(int exponent) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent));
}

std::int64_t saturate(__int128 v) { return v > kMax ? kMax : v < kMin ? kMin : static_cast<std::int64_t>(v); }
bool fits(__int128 v) { return v <= kMax && v >= kMin; }
bool fits(const cpp_int& v) { return v <= kMax && v >= kMin; }
int sign_of(std::int64_t v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

/// Divides by 10^places, away from zero; `exact` becomes false if something was cut.
cpp_int divide_up(const cpp_int& v, int places, bool& exact) {
  cpp_int quotient, rest;
  boost::multiprecision::divide_qr(v, pow10(places), quotient, rest);
  if (rest != 0) {
    exact = false;
    quotient += v < 0 ? -1 : 1;
  }
  return quotient;
}
std::int64_t divide_up(std::int64_t v, int places, bool& exact) {
  if (v == 0) return 0;
  if (places > kMaxPow10) {
    exact = false;
    return sign_of(v);
  }
  const std::int64_t quotient = v / kPow10[places];
  if (v % kPow10[places] == 0) return quotient;
  exact = false;
  return quotient + sign_of(v);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Suffix {
  int base = 10;
  int exponent = 0;
  Format format = Format::decimal_si;
};

/// Reads "", "m", "Ki", "e3"...; false if it is none of them.
Result<Suffix> read_suffix(std::string_view s) {
  if (s.empty()) return Suffix{};
  if (s.size() == 1) {
    constexpr std::string_view kLetters = "numkMGTPE";
    constexpr int kExponents[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
    const auto at = kLetters.find(s[0]);
    if (at != std::string_view::npos) return Suffix{10, kExponents[at], Format::decimal_si};
  }
  if (s.size() == 2 && s[1] == 'i') {
    const auto at = std::string_view("KMGTPE").find(s[0]);
    if (at != std::string_view::npos) return Suffix{2, 10 * (static_cast<int>(at) + 1), Format::binary_si};
  }
  if (s.size() > 1 && (s[0] == 'e' || s[0] == 'E')) {
    std::string_view digits = s.substr(1);
    if (digits[0] == '+') digits.remove_prefix(1);
    if (digits.empty() || (s[1] == '+' && !is_digit(digits[0]))) return Error(Code::parse, kBadSuffix);
    std::int64_t exponent = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (ec != std::errc() || end != digits.data() + digits.size()) return Error(Code::parse, kBadSuffix);
    if (exponent > Quantity::kMaxExponent || exponent < -Quantity::kMaxExponent)
      return Error(Code::parse, "the exponent of a quantity must be at most " +
                                    std::to_string(Quantity::kMaxExponent) + " in magnitude");
    return Suffix{10, static_cast<int>(exponent), Format::decimal_exponent};
  }
  return Error(Code::parse, kBadSuffix);
}

struct Parts {
  bool negative = false;
  bool has_digit = false;
  bool leading_zeros = false;
  std::string_view whole;     // without leading zeros
  std::string_view fraction;  // after the point, as written
  std::string_view suffix;
};

/// Splits as Kubernetes does, which allows "5.", ".5", "." and even a bare suffix.
bool split(std::string_view text, Parts& out) {
  std::size_t pos = 0;
  const auto digits = [&] {
    const std::size_t start = pos;
    while (pos < text.size() && is_digit(text[pos])) ++pos;
    return text.substr(start, pos - start);
  };
  if (text[0] == '-' || text[0] == '+') ++pos;
  out.negative = text[0] == '-';
  std::string_view whole = digits();
  out.has_digit = !whole.empty();
  const std::size_t zeros = std::min(whole.find_first_not_of('0'), whole.size());
  out.leading_zeros = zeros > 0;
  out.whole = whole.substr(zeros);
  // Nothing but a sign and zeros is 0 and never reaches the suffix.
  if (pos == text.size() && out.whole.empty()) {
    out.has_digit = true;
    return true;
  }
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    out.fraction = digits();
    out.has_digit = out.has_digit || !out.fraction.empty();
  }
  const std::size_t start = pos;
  while (pos < text.size() && std::string_view("eEinumkKMGTP").find(text[pos]) != std::string_view::npos)
    ++pos;
  if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
  digits();
  out.suffix = text.substr(start);
  return pos == text.size();
}

}  // namespace

struct Quantity::Heap {
  std::atomic<std::uint32_t> refs{1};
  bool big = false;  // the number is `number` * 10^scale_, else `small` * 10^scale_
  std::int64_t small = 0;
  cpp_int number;
  std::string text;  // what to print, if it is not the canonical form
};

struct Quantity::Numbers {
  static cpp_int unscaled(const Quantity& q) {
    return q.is_big() ? q.heap_ptr_->number : cpp_int(q.small_value());
  }

  /// The smallest representation of number * 10^scale.
  static Quantity make(cpp_int number, int scale, Format format) {
    while (!fits(number) && number % 10 == 0) {
      number /= 10;
      ++scale;
    }
    if (fits(number)) return from_scaled(static_cast<std::int64_t>(number), scale, format);
    Quantity q;
    q.heap_ptr_ = new Heap;
    q.heap_ = true;
    q.heap_ptr_->big = true;
    q.heap_ptr_->number = std::move(number);
    q.scale_ = scale;
    q.format_ = format;
    return q;
  }

  /// Both numbers at the smaller of the scales, which is returned.
  static int align(const Quantity& a, const Quantity& b, cpp_int& x, cpp_int& y) {
    x = unscaled(a);
    y = unscaled(b);
    if (x == 0) return b.scale_;
    if (y == 0) return a.scale_;
    if (a.scale_ > b.scale_) x *= pow10(a.scale_ - b.scale_);
    if (b.scale_ > a.scale_) y *= pow10(b.scale_ - a.scale_);
    return std::min(a.scale_, b.scale_);
  }

  static Quantity sum(const Quantity& a, const Quantity& b, int sign_b) {
    const Format format = a.is_zero() ? b.format_ : a.format_;
    if (!a.is_big() && !b.is_big()) {
      const std::int64_t x = a.small_value();
      const std::int64_t y = b.small_value();
      if (y == 0) return from_scaled(x, a.scale_, format);
      if (x == 0 && (sign_b > 0 || y != kMin)) return from_scaled(sign_b * y, b.scale_, format);
      const int distance = a.scale_ - b.scale_;
      if (std::abs(distance) <= kMaxPow10) {
        const __int128 wide =
            distance >= 0 ? static_cast<__int128>(x) * kPow10[distance] + static_cast<__int128>(sign_b) * y
                          : x + static_cast<__int128>(sign_b) * y * kPow10[-distance];
        if (fits(wide))
          return from_scaled(static_cast<std::int64_t>(wide), std::min(a.scale_, b.scale_), format);
      }
    }
    cpp_int x, y;
    const int scale = align(a, b, x, y);
    return make(sign_b > 0 ? cpp_int(x + y) : cpp_int(x - y), scale, format);
  }

  static std::string decimal(const Quantity& q, Format format);
  static std::string binary(const Quantity& q);
  static bool is_integer(const Quantity& q) {
    bool exact = true;
    if (q.scale_ >= 0) return true;
    if (q.is_big()) {
      divide_up(q.heap_ptr_->number, -q.scale_, exact);
    } else {
      divide_up(q.small_value(), -q.scale_, exact);
    }
    return exact;
  }
};

Quantity::Quantity(const Quantity& other) noexcept
    : value_(other.value_), scale_(other.scale_), format_(other.format_), heap_(other.heap_) {
  if (heap_) {
    heap_ptr_ = other.heap_ptr_;
    heap_ptr_->refs.fetch_add(1, std::memory_order_relaxed);
  }
}

Quantity::Quantity(Quantity&& other) noexcept
    : value_(0), scale_(other.scale_), format_(other.format_), heap_(other.heap_) {
  if (heap_) {
    heap_ptr_ = other.heap_ptr_;
    other.heap_ = false;
  } else {
    value_ = other.value_;
  }
  other.value_ = 0;
}

Quantity& Quantity::operator=(const Quantity& other) noexcept { return *this = Quantity(other); }

Quantity& Quantity::operator=(Quantity&& other) noexcept {
  if (this == &other) return *this;
  this->~Quantity();
  return *new (this) Quantity(std::move(other));
}

void Quantity::release() noexcept {
  if (heap_ptr_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete heap_ptr_;
}

std::int64_t Quantity::small_value() const { return heap_ ? heap_ptr_->small : value_; }
bool Quantity::is_big() const { return heap_ && heap_ptr_->big; }

Quantity Quantity::from_int(std::int64_t value, Format format) { return from_scaled(value, 0, format); }
Quantity Quantity::from_milli(std::int64_t milli, Format format) { return from_scaled(milli, -3, format); }

Quantity Quantity::from_scaled(std::int64_t value, int scale, Format format) {
  Quantity q;
  bool exact = true;
  q.value_ = scale < kNano ? divide_up(value, kNano - scale, exact) : value;
  q.scale_ = std::clamp(scale, kNano, 2 * kMaxExponent);
  q.format_ = format;
  return q;
}

Quantity Quantity::must(std::string_view text) {
  auto parsed = parse(text);
  if (!parsed)
    throw std::invalid_argument("cannot parse '" + std::string(text) + "': " + parsed.error().message());
  return *std::move(parsed);
}

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return Error(Code::parse, kBadFormat);
  if (text.size() > kMaxLength)
    return Error(Code::parse,
                 "a quantity must be no more than " + std::to_string(kMaxLength) + " characters");
  Parts parts;
  if (!split(text, parts)) return Error(Code::parse, kBadFormat);
  auto suffix = read_suffix(parts.suffix);
  if (!suffix) return std::move(suffix).error();

  // Kubernetes counts an absent whole part as one digit, "0".
  const int whole_digits = std::max<int>(1, static_cast<int>(parts.whole.size()));
  const int fraction_digits = static_cast<int>(parts.fraction.size());
  const bool binary = suffix->format == Format::binary_si;
  if (static_cast<int>(parts.whole.size()) + (binary ? 0 : suffix->exponent) > kMaxExponent)
    return Error(Code::parse,
                 "a quantity must be less than 1e" + std::to_string(kMaxExponent) + " in magnitude");
  int scale = (binary ? 0 : suffix->exponent) - fraction_digits;
  // Which texts Kubernetes keeps as they were read depends on its own fast path, so its bounds are
  // followed here: 18 digits, and for binary suffixes about 15 together with the suffix.
  const int room = binary ? (fraction_digits > 0 ? -1 : 14 - whole_digits - suffix->exponent * 3 / 10)
                          : 18 - whole_digits - fraction_digits;
  if (room >= 0 && scale >= kNano) {
    std::int64_t value = 0;
    for (const char c : parts.whole) value = value * 10 + (c - '0');
    for (const char c : parts.fraction) value = value * 10 + (c - '0');
    const bool kept = binary ? (value & 7) != 0 : scale % 3 == 0 && !parts.whole.empty() && value % 1000 != 0;
    if (binary) value <<= suffix->exponent;
    Quantity q = from_scaled(parts.negative ? -value : value, scale, suffix->format);
    const bool plain = text[0] != '+' && !parts.leading_zeros && parts.fraction.data() == nullptr &&
                       suffix->format != Format::decimal_exponent;
    if (kept && !plain && q.to_string() != text) {
      auto* heap = new Heap;
      heap->small = q.value_;
      heap->text = text;
      q.heap_ptr_ = heap;
      q.heap_ = true;
    }
    return q;
  }

  if (!parts.has_digit) return Error(Code::parse, kBadNumber);
  std::string digits(parts.whole);
  digits += parts.fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return from_scaled(0, 0, suffix->format);
  cpp_int number;
  if (static_cast<int>(digits.size()) + scale + (binary ? kExa + 1 : 0) < kNano) {
    number = 1;  // below one nano however it is multiplied; rounds up
    scale = kNano;
  } else {
    number.assign(digits);
  }
  if (binary) number <<= suffix->exponent;
  bool exact = true;
  if (scale < kNano) {
    number = divide_up(number, kNano - scale, exact);
    scale = kNano;
  }
  Format format = suffix->format;
  if (binary) {
    const cpp_int unit = pow10(-scale);  // a binary suffix never comes with a positive scale
    if (number > unit * kMax) {
      number = kMax;
      scale = 0;
    } else if (number < unit) {
      format = Format::decimal_si;
    }
  }
  return Numbers::make(parts.negative ? cpp_int(-number) : number, scale, format);
}

std::string Quantity::Numbers::decimal(const Quantity& q, Format format) {
  int exponent = q.scale_;
  std::string number;
  std::int64_t value = q.small_value();
  // Numbers have their factors of ten moved into the exponent, which then goes down to a multiple of 3
  // and, for suffixes, to the largest one there is.
  const auto places_down = [&] {
    int places = ((exponent % 3) + 3) % 3;
    if (format == Format::decimal_si && exponent - places > kExa) places = exponent - kExa;
    return places;
  };
  bool done = false;
  if (!q.is_big()) {
    while (value % 10 == 0) {
      value /= 10;
      ++exponent;
    }
    const int places = places_down();
    if (places <= kMaxPow10 && fits(static_cast<__int128>(value) * kPow10[places])) {
      number = std::to_string(value * kPow10[places]);
      exponent -= places;
      done = true;
    }
  }
  if (!done) {
    cpp_int wide = q.is_big() ? q.heap_ptr_->number : cpp_int(value);
    while (wide % 10 == 0) {
      wide /= 10;
      ++exponent;
    }
    const int places = places_down();
    wide *= pow10(places);
    exponent -= places;
    number = wide.str();
  }
  if (exponent == 0) return number;
  if (format == Format::decimal_exponent) return number + "e" + std::to_string(exponent);
  return number + "num\0kMGTPE"[exponent / 3 + 3];
}

std::string Quantity::Numbers::binary(const Quantity& q) {
  bool exact = true;
  cpp_int number = unscaled(q);
  if (q.scale_ >= 0) {
    number *= pow10(q.scale_);
  } else {
    number = divide_up(number, -q.scale_, exact);
  }
  std::size_t times = 0;
  constexpr std::string_view kLetters = " KMGTPE";
  while (times + 1 < kLetters.size() && number % 1024 == 0) {
    number /= 1024;
    ++times;
  }
  std::string out = number.str();
  if (times > 0) (out += kLetters[times]) += 'i';
  return out;
}

std::string Quantity::to_string() const {
  if (heap_ && !heap_ptr_->text.empty()) return heap_ptr_->text;
  if (is_zero()) return "0";
  Format format = format_;
  if (format == Format::binary_si) {
    const Quantity kilo = from_int(1024);
    if ((*this<kilo&&* this> - kilo) || !Numbers::is_integer(*this)) format = Format::decimal_si;
  }
  return format == Format::binary_si ? Numbers::binary(*this) : Numbers::decimal(*this, format);
}

int Quantity::sign() const { return is_big() ? (heap_ptr_->number < 0 ? -1 : 1) : sign_of(small_value()); }

std::int64_t Quantity::scaled_value(int scale) const {
  const int distance = scale_ - scale;
  bool exact = true;
  if (is_big()) {
    const cpp_int number = distance >= 0 ? cpp_int(heap_ptr_->number * pow10(distance))
                                         : divide_up(heap_ptr_->number, -distance, exact);
    if (fits(number)) return static_cast<std::int64_t>(number);
    return number > 0 ? kMax : kMin;
  }
  const std::int64_t value = small_value();
  if (distance == 0 || value == 0) return value;
  if (distance < 0) return divide_up(value, -distance, exact);
  if (distance > kMaxPow10) return value > 0 ? kMax : kMin;
  return saturate(static_cast<__int128>(value) * kPow10[distance]);
}

double Quantity::to_double() const {
  const double base = is_big() ? static_cast<double>(heap_ptr_->number) : static_cast<double>(small_value());
  if (base == 0) return base;  // "0e8000" is no number times infinity
  return scale_ == 0 ? base : scale_ < 0 ? base / std::pow(10.0, -scale_) : base * std::pow(10.0, scale_);
}

Quantity& Quantity::operator+=(const Quantity& other) { return *this = Numbers::sum(*this, other, 1); }
Quantity& Quantity::operator-=(const Quantity& other) { return *this = Numbers::sum(*this, other, -1); }

Quantity& Quantity::operator*=(std::int64_t factor) {
  if (!is_big()) {
    const __int128 wide = static_cast<__int128>(small_value()) * factor;
    if (fits(wide)) return *this = from_scaled(static_cast<std::int64_t>(wide), scale_, format_);
  }
  return *this = Numbers::make(Numbers::unscaled(*this) * factor, scale_, format_);
}

Quantity Quantity::operator-() const {
  if (!is_big() && small_value() != kMin) return from_scaled(-small_value(), scale_, format_);
  return Numbers::make(-Numbers::unscaled(*this), scale_, format_);
}

bool Quantity::round_up(int scale) {
  if (scale_ >= scale) return true;
  bool exact = true;
  *this = is_big() ? Numbers::make(divide_up(heap_ptr_->number, scale - scale_, exact), scale, format_)
                   : from_scaled(divide_up(small_value(), scale - scale_, exact), scale, format_);
  return exact;
}

int Quantity::compare(const Quantity& a, const Quantity& b) {
  if (!a.is_big() && !b.is_big()) {
    const std::int64_t x = a.small_value();
    const std::int64_t y = b.small_value();
    const int distance = a.scale_ - b.scale_;
    const auto order = [](__int128 l, __int128 r) { return l < r ? -1 : l > r ? 1 : 0; };
    if (distance == 0 || x == 0 || y == 0 || sign_of(x) != sign_of(y)) return order(x, y);
    if (distance > kMaxPow10) return sign_of(x);
    if (distance < -kMaxPow10) return -sign_of(y);
    return distance > 0 ? order(static_cast<__int128>(x) * kPow10[distance], y)
                        : order(x, static_cast<__int128>(y) * kPow10[-distance]);
  }
  cpp_int x, y;
  Numbers::align(a, b, x, y);
  return x.compare(y);
}

}  // namespace koord::api
