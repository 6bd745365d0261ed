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
      {"value", check_label_value},     {"configmapkey", check_config_map_key},
      {"segment", check_path_segment}};
  const auto rows = koord::test::read_tsv(koord::test::golden("names.tsv"));
  REQUIRE(rows.size() > 250);
  for (const auto& row : rows) {
    INFO(row[0] << " " << row[1]);
    CHECK(join(checks.at(row[0])(row[1]), "; ") == row[2]);
  }
}

TEST_CASE("prefixes of generated names and messages") {
  CHECK(mask_trailing_dash("web-") == "wea");
  CHECK(mask_trailing_dash("-") == "-");
  CHECK(mask_trailing_dash("web") == "web");
  CHECK(invalid_value("metadata.name", "A", "no") == "metadata.name: Invalid value: \"A\": no");
}
