// IntOrString: texts and percentages as Go's intstr computes them.
#include "koord/api/values/int_or_string.hpp"

#include <catch2/catch.hpp>

using koord::api::IntOrString;

TEST_CASE("IntOrString prints and converts") {
  CHECK(IntOrString(80).to_string() == "80");
  CHECK(IntOrString("http").to_string() == "http");
  CHECK(IntOrString("http").to_int() == 0);
  CHECK(IntOrString("-12").to_int() == -12);
  CHECK(IntOrString("99999999999").to_int() == 0);
  CHECK(IntOrString(1) == IntOrString(1));
  CHECK_FALSE(IntOrString("1") == IntOrString(1));
}

TEST_CASE("IntOrString scales percentages") {
  CHECK(*IntOrString(7).scaled(100, true) == 7);
  CHECK(*IntOrString("25%").scaled(10, true) == 3);
  CHECK(*IntOrString("25%").scaled(10, false) == 2);
  CHECK(*IntOrString("-25%").scaled(10, false) == -3);
  CHECK(*IntOrString("-25%").scaled(10, true) == -2);
  CHECK(*IntOrString("+10%").scaled(20, true) == 2);
  CHECK(IntOrString("5").scaled(10, true).error().message() ==
        "invalid value for IntOrString: invalid type: string is not a percentage");
  CHECK(IntOrString("5x%").scaled(10, true).error().message() ==
        "invalid value for IntOrString: invalid value \"5x%\": strconv.Atoi: parsing \"5x\": invalid syntax");
  CHECK(IntOrString("99999999999999999999%").scaled(10, true).error().message() ==
        "invalid value for IntOrString: invalid value \"99999999999999999999%\": strconv.Atoi: parsing "
        "\"99999999999999999999\": value out of range");
  CHECK(IntOrString("9000000000000000000%").scaled(1000, true).has_error());
}
