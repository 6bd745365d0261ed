// Quantity against a table that Kubernetes' own resource.Quantity printed (tests/golden/quantity.tsv).
#include "koord/api/values/quantity.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>
#include <unordered_set>

#include "support/tsv.hpp"

using koord::api::Quantity;

namespace {

std::string format_name(Quantity::Format f) {
  switch (f) {
    case Quantity::Format::decimal_si: return "DecimalSI";
    case Quantity::Format::binary_si: return "BinarySI";
    case Quantity::Format::decimal_exponent: return "DecimalExponent";
  }
  return "?";
}

void check_row(const std::vector<std::string>& row) {
  if (row[0] == "error") {
    const auto q = Quantity::parse(row[1]);
    REQUIRE(q.has_error());
    CHECK(q.error().message() == row[2]);
    return;
  }
  if (row[0] == "parse") {
    const auto q = Quantity::parse(row[1]);
    REQUIRE(q.has_value());
    CHECK(q->to_string() == row[2]);
    if (!q->is_zero()) CHECK(format_name(q->format()) == row[3]);
    CHECK(std::to_string(q->value()) == row[4]);
    CHECK(std::to_string(q->milli_value()) == row[5]);
    return;
  }
  REQUIRE(row[0] == "op");
  const Quantity a = Quantity::must(row[1]);
  const Quantity b = Quantity::must(row[2]);
  CHECK(std::to_string((a > b) - (a < b)) == row[3]);
  CHECK((a == b) == (row[3] == "0"));
  CHECK((a + b).to_string() == row[4]);
  CHECK((a - b).to_string() == row[5]);
  CHECK((a + b) - b == a);
  CHECK((a * std::stoll(row[6])).to_string() == row[7]);
  Quantity rounded = a;
  CHECK(rounded.round_up(std::stoi(row[8])) == (row[10] == "true"));
  CHECK(rounded.to_string() == row[9]);
}

}  // namespace

TEST_CASE("Quantity agrees with Kubernetes") {
  // KOORD_QUANTITY_TSV names another table, to compare more than is checked in.
  const char* other = std::getenv("KOORD_QUANTITY_TSV");
  const auto rows = koord::test::read_tsv(other != nullptr ? other : koord::test::golden("quantity.tsv"));
  REQUIRE(rows.size() > 400);
  for (const auto& row : rows) {
    INFO(row[0] << " " << row[1] << " " << row[2]);
    check_row(row);
  }
}

TEST_CASE("Quantity keeps what Kubernetes loses") {
  struct Row {
    const char* in;
    const char* out;
  };
  const Row rows[] = {{"1000E", "1000E"},   {"1e30", "1e30"},  {"100000000000000000000000", "100000E"},
                      {"-1000E", "-1000E"}, {"1e-30", "1e-9"}, {"1e-8999", "1e-9"}};
  for (const Row& row : rows) {
    INFO(row.in);
    CHECK(Quantity::must(row.in).to_string() == row.out);
  }
  Quantity sum = Quantity::must("1024Pi");
  for (int i = 0; i < 20; ++i) sum += sum;
  CHECK(sum.to_string() == "1048576Ei");
  CHECK(Quantity::must("1e30").value() == std::numeric_limits<std::int64_t>::max());
  CHECK(Quantity::must("-10P").milli_value() == std::numeric_limits<std::int64_t>::min());
  CHECK(Quantity::must("-0.1Mi").value() == -104858);  // away from zero in every representation
}

TEST_CASE("Quantity bounds its input") {
  CHECK(Quantity::parse("1e8999").has_value());
  CHECK(Quantity::parse("1e9000").error().message() == "a quantity must be less than 1e9000 in magnitude");
  CHECK(Quantity::parse("1e9001").error().message() ==
        "the exponent of a quantity must be at most 9000 in magnitude");
  CHECK(Quantity::parse("1e-4294967297").has_error());
  const std::string longest = std::string(9'000, '9') + ".1";
  CHECK(Quantity::parse(Quantity::must(longest).to_string()).has_value());
  CHECK(Quantity::parse(std::string(9'001, '9')).has_error());
  CHECK(Quantity::parse("0." + std::string(9'999, '9')).error().message() ==
        "a quantity must be no more than 10000 characters");
  CHECK(Quantity::parse(std::string_view("1\0", 2)).has_error());
  const Quantity huge = Quantity::must("1e8999") + Quantity::must("1n");
  CHECK(huge > Quantity::must("1e8999"));
  CHECK(huge.value() == std::numeric_limits<std::int64_t>::max());
  CHECK_THROWS_AS(Quantity::must("x"), std::invalid_argument);
}

TEST_CASE("Quantity computes at the edges of 64 bits") {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  CHECK((-Quantity::from_int(kMin)).to_string() == "9223372036854775808");
  CHECK((Quantity::from_int(kMax) + Quantity::from_int(1)).to_string() == "9223372036854775808");
  CHECK((Quantity() - Quantity::from_int(kMin)).to_string() == "9223372036854775808");
  CHECK((Quantity::from_int(kMax) + Quantity::from_int(1) - Quantity::from_int(1)).value() == kMax);
  CHECK((Quantity::from_int(kMax) * kMin).sign() == -1);
  CHECK(Quantity::from_milli(kMin).to_string() == "-9223372036854775808m");
  CHECK(Quantity::from_scaled(1, -12).to_string() == "1n");
  CHECK(Quantity::from_int(kMin, Quantity::Format::binary_si).to_string() == "-8Ei");
  CHECK(Quantity::from_int(3).scaled_value(-18) == 3'000'000'000'000'000'000);
  CHECK(Quantity::from_int(-3).scaled_value(3) == -1);
  CHECK(Quantity::must("1.5Gi").to_double() == Approx(1610612736.0));
  CHECK(Quantity::must("0e8000").to_double() == 0.0);  // not 0 times infinity
}

TEST_CASE("copies share and outlive what they were copied from") {
  Quantity text;
  {
    const Quantity original = Quantity::must("+5");
    text = original;
    Quantity moved = std::move(text);
    text = moved;
    const Quantity& self = text;
    text = self;
  }
  CHECK(text.to_string() == "+5");
  text += Quantity::from_int(0);
  CHECK(text.to_string() == "5");
  const Quantity big = Quantity::must("99999999999999999999");
  Quantity copy = big;
  copy += Quantity::from_int(1);
  CHECK(big.to_string() == "99999999999999999999");
  CHECK(copy.to_string() == "100E");
}

TEST_CASE("a zero takes the format of what it meets") {
  Quantity sum;
  sum += Quantity::must("1Gi");
  CHECK(sum.to_string() == "1Gi");
  sum += Quantity::must("1G");
  CHECK(sum.to_string() == "2073741824");
  Quantity difference;
  difference -= Quantity::must("1Gi");
  CHECK(difference.to_string() == "-1Gi");
}
