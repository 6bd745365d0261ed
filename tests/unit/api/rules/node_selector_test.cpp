// Node affinity and tolerations against a table that Kubernetes printed (tests/golden/node_affinity.tsv).
#include "koord/api/rules/node_selector.hpp"

#include <catch2/catch.hpp>

#include "koord/api/rules/toleration.hpp"
#include "support/tsv.hpp"

using namespace koord::api;
using koord::Symbol;
using koord::test::split;

namespace {

std::vector<Symbol> symbols(const std::string& text) {
  std::vector<Symbol> out;
  if (text.empty()) return out;
  for (const std::string& part : split(text, ',')) out.emplace_back(part);
  return out;
}

NodeSelector selector_of(const std::string& text) {
  NodeSelector out;
  for (const std::string& term_text : split(text, '|')) {
    NodeSelectorTerm& term = out.node_selector_terms.emplace_back();
    if (term_text.empty()) continue;
    for (const std::string& part : split(term_text, ';')) {
      const auto words = split(part, ' ');
      auto& list = words[0] == "e" ? term.match_expressions : term.match_fields;
      list.push_back({words[1], words[2], symbols(words[3])});
    }
  }
  return out;
}

SymbolMap labels_of(const std::string& text) {
  SymbolMap out;
  if (text.empty()) return out;
  for (const std::string& pair : split(text, ','))
    out[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
  return out;
}

}  // namespace

TEST_CASE("node affinity and tolerations agree with Kubernetes") {
  const auto rows = koord::test::read_tsv(koord::test::golden("node_affinity.tsv"));
  REQUIRE(rows.size() > 400);
  for (const auto& row : rows) {
    INFO(row[1] << " / " << row[2] << " / " << row[3]);
    if (row[0] == "affinity") {
      ErrorTexts errors;
      const CompiledNodeSelector selector(selector_of(row[1]), {}, &errors);
      const bool matched = selector.matches(labels_of(row[2]), row[3]);
      CHECK(matched == (row[4] == "true"));
      // Kubernetes tells what is wrong where no other term matches.
      CHECK((matched || errors.empty() ? "" : errors.aggregate()) == row[5]);
    } else {
      const auto t = split(row[1], ',');
      const auto n = split(row[2], ',');
      const Toleration toleration{t[0], t[1], t[2], t[3], {}};
      const Taint taint{n[0], n[1], n[2], {}};
      CHECK(tolerates(toleration, taint) == (row[3] == "true"));
      CHECK(tolerates(toleration, taint, true) == (row[4] == "true"));
    }
  }
}

TEST_CASE("required affinity joins nodeSelector and terms") {
  PodSpec spec;
  CHECK(RequiredNodeAffinity(spec).matches({}, "any"));
  spec.node_selector["disk"] = "ssd";
  spec.affinity.ensure().node_affinity.ensure().required.emplace(
      selector_of("f metadata.name In n1|f metadata.name In n2"));
  const RequiredNodeAffinity affinity(spec);
  CHECK(affinity.matches({{"disk", "ssd"}}, "n1"));
  CHECK_FALSE(affinity.matches({{"disk", "hdd"}}, "n1"));
  CHECK_FALSE(affinity.matches({{"disk", "ssd"}}, "n3"));
  *spec.affinity->node_affinity->required = NodeSelector();
  CHECK_FALSE(RequiredNodeAffinity(spec).matches({{"disk", "ssd"}}, "n1"));
}

TEST_CASE("preferred terms add up") {
  std::vector<PreferredSchedulingTerm> terms;
  terms.push_back({10, selector_of("e a Exists ").node_selector_terms[0]});
  terms.push_back({5, selector_of("e b Gt 3").node_selector_terms[0]});
  terms.push_back({0, selector_of("e b Is 3").node_selector_terms[0]});
  terms.push_back({7, {}});
  const PreferredNodeAffinity preferred(terms);
  CHECK(preferred.score({{"a", ""}, {"b", "4"}}, "n") == 15);
  CHECK(preferred.score({{"b", "3"}}, "n") == 0);
  terms[2].weight = 1;
  ErrorTexts errors;
  CHECK(PreferredNodeAffinity(terms, &errors).empty());
  CHECK(errors.aggregate() ==
        "[2].matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\", "
        "\"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"");
}

TEST_CASE("taints that keep away, and that are disliked") {
  const std::vector<Taint> taints{
      {"a", "", kPreferNoSchedule, {}}, {"b", "1", kNoSchedule, {}}, {"c", "", kNoExecute, {}}};
  std::vector<Toleration> tolerations;
  CHECK(untolerated(taints, tolerations)->key == "b");
  CHECK(count_untolerated_preferences(taints, tolerations) == 1);
  tolerations.push_back({"b", "Equal", "1", "", {}});
  CHECK(untolerated(taints, tolerations)->key == "c");
  tolerations.push_back({"", "Exists", "", "NoExecute", 30});
  CHECK(untolerated(taints, tolerations) == nullptr);
  CHECK(count_untolerated_preferences(taints, tolerations) == 1);
}
