// Errors over long lists: twenty texts, however much is wrong.
#include "koord/api/rules/error_texts.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "koord/api/rules/node_selector.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::api;

namespace {

const std::size_t kMany = koord::test::hostile(160'000);
const std::string kAllOthers = fmt::format(", and {} more]", kMany - ErrorTexts::kMost);

NodeSelectorRequirement wrong_values(std::size_t count) {
  NodeSelectorRequirement out{"zone", "In", {}};
  for (std::size_t i = 0; i < count; ++i) out.values.emplace_back(fmt::format("-{}", i));
  return out;
}

std::string ending(const std::string& text, std::size_t size) {
  return text.substr(text.size() - std::min(size, text.size()));
}

}  // namespace

TEST_CASE("a few errors are an aggregate as Kubernetes prints it") {
  ErrorTexts errors;
  CHECK(errors.empty());
  errors.add([] { return std::string("a"); });
  CHECK(errors.aggregate() == "a");
  errors.add([] { return std::string("a"); });
  CHECK(errors.aggregate() == "a");
  errors.add([] { return std::string("b"); });
  CHECK(errors.aggregate() == "[a, b]");
  CHECK(errors.count() == 3);
}

TEST_CASE("of many errors twenty are put into words") {
  struct Row {
    std::size_t errors, made;
    std::string ending;
  };
  for (const Row& row : {Row{19, 19, ", 18]"}, Row{20, 20, ", 19]"}, Row{21, 20, ", 19, and 1 more]"},
                         Row{kMany, 20, ", 19" + kAllOthers}}) {
    ErrorTexts errors;
    std::size_t made = 0;
    for (std::size_t i = 0; i < row.errors; ++i)
      errors.add([&] {
        ++made;
        return std::to_string(i);
      });
    CHECK(made == row.made);
    CHECK(errors.count() == row.errors);
    CHECK(ending(errors.aggregate(), row.ending.size()) == row.ending);
  }
}

TEST_CASE("who only asks whether something is wrong pays for no text") {
  ErrorTexts errors(0);
  bool made = false;
  errors.add([&] {
    made = true;
    return std::string();
  });
  CHECK_FALSE(errors.empty());
  CHECK_FALSE(made);
}

TEST_CASE("places in lists") {
  CHECK(ListPlace{}.text() == "");
  CHECK(ListPlace{}.text("key") == "key");
  CHECK(ListPlace{"a.b"}.text("key") == "a.b.key");
  CHECK(ListPlace{"a", "terms", 3}.text("key") == "a.terms[3].key");
  CHECK(ListPlace{"", "terms", 0}.text() == "terms[0]");
  CHECK(ListPlace{"", "", 2}.text("key") == "[2].key");
}

TEST_CASE("a node selector with very many wrong values, expressions or terms") {
  NodeSelector values, expressions, terms, several;
  values.node_selector_terms.emplace_back().match_expressions.push_back(wrong_values(kMany));
  NodeSelectorTerm& term = expressions.node_selector_terms.emplace_back();
  for (std::size_t i = 0; i < kMany; ++i) term.match_expressions.push_back({"zone", "Is", {}});
  for (std::size_t i = 0; i < kMany; ++i)
    terms.node_selector_terms.emplace_back().match_fields.push_back({"metadata.name", "Gt", {"n"}});
  several.node_selector_terms.emplace_back().match_fields.push_back(
      {"metadata.name", "In", wrong_values(kMany).values});
  for (const NodeSelector* selector : {&values, &expressions, &terms}) {
    ErrorTexts errors;
    CHECK_FALSE(CompiledNodeSelector(*selector, "spec", &errors).matches({{"zone", "-7"}}, "n"));
    CHECK(errors.count() == kMany);
    CHECK(errors.texts().size() == ErrorTexts::kMost);
    CHECK(errors.aggregate().size() < 10'000);
    CHECK(errors.aggregate().ends_with(kAllOthers));
    CHECK_FALSE(CompiledNodeSelector(*selector).matches({{"zone", "-7"}}, "n"));
  }
  // One error whose text would be the whole list.
  ErrorTexts errors;
  const CompiledNodeSelector selector(several, "", &errors);
  CHECK(errors.count() == 1);
  CHECK(errors.aggregate().size() < 400);
  CHECK(
      errors.aggregate().ends_with(fmt::format("\"-19\", and {} more]: must have one element", kMany - 20)));
}

TEST_CASE("label selectors and their text with very many wrong values") {
  LabelSelector selector;
  selector.match_expressions.push_back({"zone", "In", wrong_values(kMany).values});
  const auto made = Selector::from(&selector);
  REQUIRE(made.has_error());
  CHECK(made.error().message().ends_with(kAllOthers));

  std::string text = "zone in (a";
  for (std::size_t i = 0; i < kMany; ++i) fmt::format_to(std::back_inserter(text), ",-{}", i);
  const auto parsed = Selector::parse(text += ")");
  REQUIRE(parsed.has_error());
  CHECK(parsed.error().message().ends_with(kAllOthers));
}

TEST_CASE("a label is found among very many values") {
  NodeSelector selector;
  NodeSelectorRequirement& zones =
      selector.node_selector_terms.emplace_back().match_expressions.emplace_back();
  zones = {"zone", "In", {}};
  for (std::size_t i = 0; i < kMany; ++i) zones.values.emplace_back(fmt::format("z{}", kMany - i));
  const CompiledNodeSelector compiled(selector);
  CHECK(compiled.matches({{"zone", "z77"}}, "n"));
  CHECK_FALSE(compiled.matches({{"zone", "z"}}, "n"));
}
