// The merge rules of built-in kinds: what the rows and the table say together is what Kubernetes' types do.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "api/kinds/merge_rules.hpp"
#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/table.hpp"

using namespace koord;
using namespace koord::api;

namespace {

/// Every list that merges and every object that is replaced, below one structure: "GROUP KIND PATH HOW".
void walk(const std::string& start, std::string_view owner, const std::string& path,
          std::set<std::string>& out) {
  const auto line = [&](const MergeRule& rule) {
    const std::string at = path + std::string(rule.field);
    switch (rule.kind) {
      case MergeRule::Kind::by_key: out.insert(fmt::format("{} {} key={}", start, at, rule.key)); break;
      case MergeRule::Kind::set: out.insert(fmt::format("{} {} set", start, at)); break;
      case MergeRule::Kind::replace_map: out.insert(fmt::format("{} {} replace_map", start, at)); break;
      case MergeRule::Kind::structure: break;
    }
    if (!rule.type.empty()) walk(start, rule.type, at + ".", out);
  };
  for (const MergeRule& rule : merge_rules())
    if (rule.owner == owner) line(rule);
  // Kinds that are not described have their metadata by another way.
  if (const MergeRule* rule = path.empty() ? find_merge_rule(owner, "metadata") : nullptr)
    if (rule->owner.empty()) line(*rule);
}

}  // namespace

TEST_CASE("rows and table merge lists as Kubernetes' types say") {
  std::ifstream in(std::string(KOORD_GOLDEN) + "/api/merge_rules.txt");
  REQUIRE(in.good());
  std::set<std::string> expected, found, kinds;
  for (std::string line; std::getline(in, line);) {
    expected.insert(line);
    kinds.insert(line.substr(0, line.find(' ', line.find(' ') + 1)));
  }
  REQUIRE(kinds.size() == 59);
  for (const std::string& start : kinds) {
    std::istringstream words(start);
    std::string group, kind;
    words >> group >> kind;
    const std::string_view type = merge_type(group == "-" ? "" : group, kind);
    INFO(start);
    CHECK_FALSE(type.empty());
    walk(start, type, "", found);
  }
  for (const std::string& line : expected) {
    INFO("missing: " << line);
    CHECK(found.contains(line));
  }
  for (const std::string& line : found) {
    INFO("too much: " << line);
    CHECK(expected.contains(line));
  }
}

TEST_CASE("no merge rule is said twice") {
  const auto rules = merge_rules();
  for (size_t i = 1; i < rules.size(); ++i) {
    INFO(rules[i].owner << "." << rules[i].field);
    CHECK((rules[i - 1].owner != rules[i].owner || rules[i - 1].field != rules[i].field));
  }
}

TEST_CASE("the key of each merge rule is a field of its elements") {
  for (const Schema* kind : builtin_kinds()) {
    std::vector<const Schema*> open{kind};
    for (size_t i = 0; i < open.size(); ++i) {
      for (const Field& field : open[i]->fields()) {
        INFO(open[i]->name() << "." << field.name);
        const Type* type = field.type;
        while (type->element != nullptr) type = type->element;
        if (!field.merge_key_name.empty()) CHECK(type->schema().find(field.merge_key_name) != nullptr);
        if (type->kind == TypeKind::structure && std::ranges::find(open, &type->schema()) == open.end())
          open.push_back(&type->schema());
      }
    }
  }
}
