#include "koord/api/rules/field_errors.hpp"

#include <catch2/catch.hpp>

using namespace koord::api;

TEST_CASE("one error as it is, several as an aggregate, each once") {
  FieldErrors errors;
  CHECK(errors.empty());
  errors.required("a.b");
  CHECK(errors.text() == "a.b: Required value");
  errors.required("a.b");
  CHECK(errors.text() == "a.b: Required value");
  errors.required("c", "why");
  errors.invalid("d", "0", "must be more");
  errors.duplicate("e", "\"x\"");
  const std::string_view known[] = {"A", "B"};
  errors.not_supported("f", "C", known);
  CHECK(
      errors.text() ==
      "[a.b: Required value, c: Required value: why, d: Invalid value: 0: must be more, e: Duplicate value: "
      "\"x\", f: Unsupported value: \"C\": supported values: \"A\", \"B\"]");
}

TEST_CASE("twenty errors are kept, however many there are") {
  FieldErrors errors;
  for (int i = 0; i < 100'000; ++i) errors.invalid("items[" + std::to_string(i) + "]", "0", "no");
  const std::string text = errors.text();
  CHECK(text.find("items[19]") != std::string::npos);
  CHECK(text.find("items[20]") == std::string::npos);
  CHECK(text.ends_with(", and 99980 more]"));
}
