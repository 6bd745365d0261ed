// Result and the macros that pass errors up.
#include "koord/base/result.hpp"

#include <catch2/catch.hpp>

using namespace koord;

namespace {
Result<int> half(int n) {
  if (n % 2 != 0) return Error(Code::invalid, "odd");
  return n / 2;
}
Result<> quarter(int n, int& out) {
  KOORD_TRY(h, half(n));
  KOORD_TRY(q, half(h));
  out = q;
  return {};
}
}  // namespace

TEST_CASE("KOORD_TRY takes the value or returns the error") {
  int out = 0;
  CHECK(quarter(8, out).has_value());
  CHECK(out == 2);
  const Result<> failed = quarter(6, out);
  REQUIRE(failed.has_error());
  CHECK(failed.error().code() == Code::invalid);
  CHECK(failed.error().context("n").message() == "n: odd");
}
