// Validation of names against a table that Kubernetes printed (tests/golden/names.tsv).
#include <catch2/catch.hpp>
#include <map>

#include "koord/api/rules/validation_names.hpp"
#include "support/tsv.hpp"

using namespace koord::api;

TEST_CASE("names are judged as Kubernetes judges them") {
  const std::map<std::string, NameErrors (*)(std::string_view)> checks{
      {"label", check_dns1123_label},   {"subdomain", check_dns1123_subdomain},
      {"dns1035", check_dns1035_label}, {"qualified", check_qualified_name},
      {"value", check_label_value},     {"segment", check_path_segment}};
  const auto rows = koord::test::read_tsv(koord::test::golden("names.tsv"));
  REQUIRE(rows.size() > 150);
  for (const auto& row : rows) {
    INFO(row[0] << " " << row[1]);
    CHECK(join(checks.at(row[0])(row[1]), "; ") == row[2]);
    if (row[0] == "qualified") CHECK(is_qualified_name(row[1]) == row[2].empty());
    if (row[0] == "value") CHECK(is_label_value(row[1]) == row[2].empty());
  }
}

TEST_CASE("values in messages") {
  CHECK(invalid_value("metadata.name", "A", "no") == "metadata.name: Invalid value: \"A\": no");
}
