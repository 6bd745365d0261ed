// Labels that pods must have: upstream's table (18 rows; the operation DELETE is the handler's), and bad
// ConfigMaps.
#include "admission/pod/enhanced_validator.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

namespace koord::manager {
namespace {

api::ConfigMap config(std::string_view enable, std::string_view rules) {
  api::ConfigMap map;
  if (!enable.empty()) map.data["enable"] = enable;
  if (!rules.empty()) map.data["rules"] = rules;
  return map;
}

json::Document pod(std::string_view labels) {
  return json::parse(fmt::format(R"({{"metadata":{{"labels":{{{}}}}}}})", labels)).value();
}

TEST_CASE("Pods must have the labels of each rule, but for its namespaces") {
  const std::string quota =
      R"([{"name":"quota-label-required","requiredLabels":["quota.scheduling.koordinator.sh/name"],)"
      R"("namespaceWhitelist":["kube-system","koordinator-system"]}])";
  const std::string several = R"([{"name":"multiple-labels-required","requiredLabels":["product","app"]}])";
  const std::string two =
      R"([{"name":"quota-label-required","requiredLabels":["quota.scheduling.koordinator.sh/name"]},)"
      R"({"name":"app-label-required","requiredLabels":["app"]}])";
  const std::string_view quota_label = R"("quota.scheduling.koordinator.sh/name":"quota1")";
  const std::string_view lacks_quota = "required label 'quota.scheduling.koordinator.sh/name' is missing";
  struct Row {
    std::string_view enable, rules, ns;
    std::string labels;
    std::string_view wrong;
  };
  const Row rows[] = {
      {"", "", "ns1", "", ""},
      {"false", quota, "ns1", "", ""},
      {"true", "[]", "ns1", "", ""},
      {"true", quota, "ns1", std::string(quota_label), ""},
      {"true", quota, "ns1", "", lacks_quota},
      {"true", quota, "kube-system", "", ""},
      {"true", quota, "ns1", R"("pod.koordinator.sh/skip-enhanced-validation":"true")", ""},
      {"true", quota, "ns1", R"("pod.koordinator.sh/skip-enhanced-validation":"yes")", lacks_quota},
      {"true", quota, "koordinator-system", "", ""},
      {"true", several, "ns1", R"("product":"p","app":"a")", ""},
      {"true", several, "ns1", R"("product":"p")", "required label 'app' is missing"},
      {"true", several, "ns1", R"("app":"a")", "required label 'product' is missing"},
      {"true", several, "ns1", "", "required labels are missing: [product app]"},
      {"true", two, "ns1", fmt::format(R"({},"app":"a")", quota_label), ""},
      {"true", two, "ns1", R"("app":"a")", lacks_quota},
      {" True\n", quota, "ns1", "", lacks_quota},
  };
  for (const Row& row : rows) {
    CAPTURE(row.enable, row.rules, row.ns, row.labels);
    EnhancedValidator validator;
    const api::ConfigMap map = config(row.enable, row.rules);
    REQUIRE(validator.set(row.enable.empty() ? nullptr : &map).has_value());
    CHECK(validator.check(pod(row.labels), row.ns) == row.wrong);
  }
}

TEST_CASE("Rules that cannot be read leave those that were; a ConfigMap that goes leaves none") {
  EnhancedValidator validator;
  const api::ConfigMap good = config("true", R"([{"name":"r","requiredLabels":["app"]}])");
  REQUIRE(validator.set(&good).has_value());
  for (const std::string_view bad : {"{", "{}", R"([{"requiredLabels":"app"}])", R"([7])"}) {
    CAPTURE(bad);
    const api::ConfigMap map = config("false", bad);
    const auto set = validator.set(&map);
    REQUIRE(!set);
    CHECK(set.error().message().starts_with("failed to unmarshal validation rules: "));
    CHECK(validator.check(pod(""), "ns1") == "required label 'app' is missing");
  }
  REQUIRE(validator.set(nullptr).has_value());
  CHECK(validator.check(pod(""), "ns1").empty());
}

}  // namespace
}  // namespace koord::manager
