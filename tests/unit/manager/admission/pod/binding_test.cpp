// Who may bind pods: upstream's tables of flags (7 rows), of namespaces and users (11, of which the feature
// gate and the kind of request are the handler's), of labels and annotations (10), and its three single
// tests.
#include "admission/pod/binding.hpp"

#include <catch2/catch.hpp>

#include "flags.hpp"

namespace koord::manager {
namespace {

using enum BindingDecision;
using Texts = std::vector<std::string>;

TEST_CASE("Lists of flags: commas between, spaces left out") {
  CHECK(BindingRules::list("") == Texts{});
  CHECK(BindingRules::list("koord-scheduler") == Texts{"koord-scheduler"});
  CHECK(BindingRules::list("a,b,c") == Texts{"a", "b", "c"});
  CHECK(BindingRules::list(" a , b ") == Texts{"a", "b"});
  CHECK(BindingRules::list("app.kubernetes.io/managed-by,custom-label") ==
        Texts{"app.kubernetes.io/managed-by", "custom-label"});
  CHECK(BindingRules::list("custom.io/delegated") == Texts{"custom.io/delegated"});
  CHECK(BindingRules::list(",, ,") == Texts{});
}

TEST_CASE("Without flags nobody is asked; namespaces and keys are upstream's") {
  const runtime::FlagOwner owner{"manager", flags()};
  const auto values = runtime::default_flags(std::span(&owner, 1));
  REQUIRE(values.has_value());
  const BindingRules rules = BindingRules::from(*values);
  CHECK(rules.users.empty());
  CHECK_FALSE(rules.dry_run);
  CHECK_FALSE(rules.all_namespaces);
  CHECK(rules.namespaces.empty());
  CHECK(rules.excluded_namespaces == Texts{"kube-system"});
  CHECK(rules.bypass_labels == Texts{"koordinator.sh/binding-admission-bypass"});
  CHECK(rules.bypass_annotations.empty());
}

TEST_CASE("A binding is decided by the user, then the namespace") {
  struct Row {
    Texts users;
    std::string_view user, ns;
    BindingDecision decision;
    bool all = false, dry = false;
    Texts namespaces = {}, excluded = {};
  };
  const Row rows[] = {
      {{}, "kube-scheduler", "", not_asked},
      {{"koord-scheduler"}, "system:sa:koord-scheduler", "", allowed_username},
      {{"a", "koord"}, "system:koord", "", allowed_username},
      {{"koord-scheduler"}, "kube-scheduler", "default", denied, true},
      {{"koord-scheduler"}, "kube-scheduler", "kube-system", excluded_ns, true, false, {}, {"kube-system"}},
      {{"koord-scheduler"}, "kube-scheduler", "production", out_of_scope, false, false, {"test"}},
      {{"koord-scheduler"}, "kube-scheduler", "test", denied, false, false, {"test"}},
      {{"koord-scheduler"}, "kube-scheduler", "default", dry_run, true, true},
      // No namespaces: the rules hold nowhere.
      {{"koord-scheduler"}, "kube-scheduler", "default", not_asked},
  };
  const api::ObjectMeta known;
  for (const Row& row : rows) {
    CAPTURE(row.user, row.ns);
    BindingRules rules;
    rules.users = row.users;
    rules.dry_run = row.dry;
    rules.all_namespaces = row.all;
    rules.namespaces = row.namespaces;
    rules.excluded_namespaces = row.excluded;
    CHECK(decide_binding(rules, row.user, row.ns, [&] { return &known; }) == row.decision);
  }
}

TEST_CASE("Pods with a key of a bypass are anybody's, whatever its value") {
  struct Row {
    std::string_view label, annotation;
    Texts labels, annotations;
    BindingDecision decision;
  };
  const std::string def = "koordinator.sh/binding-admission-bypass";
  const Row rows[] = {
      {def, "", {def}, {}, bypass_label},
      {"app", "", {def}, {}, denied},
      {"app.kubernetes.io/managed-by", "", {"app.kubernetes.io/managed-by"}, {}, bypass_label},
      {"custom.io/delegated", "", {def, "custom.io/delegated"}, {}, bypass_label},
      {"app", "", {def, "custom.io/delegated"}, {}, denied},
      {"", "custom.io/delegated-scheduler", {}, {"custom.io/delegated-scheduler"}, bypass_annotation},
      {"", "other", {}, {"custom.io/delegated-scheduler"}, denied},
      {"app", "custom.io/producer", {"custom.io/delegated"}, {"custom.io/producer"}, bypass_annotation},
  };
  for (const std::string_view value : {"true", "anything"})
    for (const Row& row : rows) {
      CAPTURE(row.label, row.annotation, value);
      BindingRules rules;
      rules.users = {"koord-scheduler"};
      rules.all_namespaces = true;
      rules.bypass_labels = row.labels;
      rules.bypass_annotations = row.annotations;
      api::ObjectMeta meta;
      if (!row.label.empty()) meta.labels[row.label] = Symbol(value);
      if (!row.annotation.empty()) meta.annotations[row.annotation] = Symbol(value);
      CHECK(decide_binding(rules, "kube-scheduler", "default", [&] { return &meta; }) == row.decision);
      bool asked = false;
      CHECK(decide_binding(rules, "system:sa:koord-scheduler", "default", [&] {
              asked = true;
              return &meta;
            }) == allowed_username);
      CHECK_FALSE(asked);
    }
}

TEST_CASE("A pod that is not known may be bound by anybody") {
  BindingRules rules;
  rules.users = {"koord-scheduler"};
  rules.all_namespaces = true;
  CHECK(decide_binding(rules, "kube-scheduler", "default", [] { return nullptr; }) == not_asked);
}

}  // namespace
}  // namespace koord::manager
