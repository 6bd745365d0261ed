// Label and field selectors against a table that Kubernetes printed (tests/golden/selector.tsv).
#include "koord/api/rules/selector.hpp"

#include <catch2/catch.hpp>

#include "support/tsv.hpp"

using namespace koord::api;

namespace {

std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    ++i;
    out += text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

SymbolMap labels_of(const std::string& text) {
  SymbolMap out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::size_t equals = text.find('=', from);
    out[text.substr(from, equals - from)] = text.substr(equals + 1, comma - equals - 1);
    from = comma + 1;
  }
  return out;
}

}  // namespace

TEST_CASE("selectors agree with Kubernetes") {
  const auto rows = koord::test::read_tsv(koord::test::golden("selector.tsv"));
  REQUIRE(rows.size() > 500);
  for (const auto& row : rows) {
    INFO(row[0] << " " << row[1]);
    const std::string text = unescape(row[1]);
    if (row[0] == "label" || row[0] == "match") {
      const auto selector = Selector::parse(text);
      REQUIRE(selector.has_value());
      if (row[0] == "match") {
        CHECK(selector->matches(labels_of(row[2])) == (row[3] == "true"));
      } else {
        CHECK(selector->to_string() == unescape(row[2]));
        CHECK(Selector::parse(selector->to_string())->to_string() == selector->to_string());
      }
    } else if (row[0] == "label-error") {
      const auto selector = Selector::parse(text);
      REQUIRE(selector.has_error());
      CHECK(selector.error().message() == unescape(row[2]));
    } else if (row[0] == "field") {
      const auto selector = FieldSelector::parse(text);
      REQUIRE(selector.has_value());
      CHECK(selector->to_string() == unescape(row[2]));
    } else {
      REQUIRE(row[0] == "field-error");
      const auto selector = FieldSelector::parse(text);
      REQUIRE(selector.has_error());
      CHECK(selector.error().message() == unescape(row[2]));
    }
  }
}

TEST_CASE("a LabelSelector is a selector") {
  CHECK(Selector::from(nullptr)->is_nothing());
  CHECK_FALSE(Selector::from(nullptr)->matches({}));
  LabelSelector both;
  CHECK(Selector::from(&both)->is_everything());
  both.match_labels["b"] = "1";
  both.match_expressions.push_back({"a", "In", {"y", "x"}});
  both.match_expressions.push_back({"c", "DoesNotExist", {}});
  const auto selector = Selector::from(&both);
  REQUIRE(selector.has_value());
  CHECK(selector->to_string() == "a in (x,y),b=1,!c");
  CHECK(selector->matches({{"a", "x"}, {"b", "1"}}));
  CHECK_FALSE(selector->matches({{"a", "x"}, {"b", "1"}, {"c", ""}}));

  both.match_expressions.push_back({"d", "in", {}});
  CHECK(Selector::from(&both).error().message() == "\"in\" is not a valid label selector operator");
  both.match_expressions.back() = {"d", "In", {}};
  CHECK(Selector::from(&both).error().message() ==
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
}

TEST_CASE("field selectors match what a look-up gives") {
  const auto selector = FieldSelector::parse("metadata.name=x,spec.nodeName!=n");
  REQUIRE(selector.has_value());
  const auto pod = [](std::string_view name, std::string_view node) {
    return [name, node](std::string_view field) { return field == "metadata.name" ? name : node; };
  };
  CHECK(selector->matches(pod("x", "")));
  CHECK_FALSE(selector->matches(pod("x", "n")));
  CHECK_FALSE(selector->matches(pod("y", "")));
  CHECK(selector->required("metadata.name") == "x");
  CHECK_FALSE(selector->required("spec.nodeName").has_value());
  CHECK(FieldSelector::equals("a", "b,c").to_string() == "a=b\\,c");
}

TEST_CASE("a NUL byte does not end a selector") {
  CHECK(Selector::parse(std::string_view("a=b\0c", 5)).has_error());
  CHECK(Selector::parse(std::string_view("\0", 1)).has_error());
}
