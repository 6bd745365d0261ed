// Quotas as their labels and annotations describe them: Koordinator's defaults.
#include "koord/api/koordinator/quota.hpp"

#include <catch2/catch.hpp>

namespace koord::api {
namespace {

TEST_CASE("A quota's place in its tree, and how it shares") {
  ElasticQuota quota;
  quota.metadata.name = "q";
  quota.spec.max["cpu"] = Quantity::must("40");
  QuotaTerms plain = quota_terms(quota);
  CHECK(plain.parent == kRootQuota);
  CHECK(plain.lends);
  CHECK_FALSE(plain.is_parent);
  CHECK(plain.shared_weight == quota.spec.max);
  CHECK(plain.namespaces.empty());

  quota.metadata.labels = {{kQuotaParentLabel, "p"},        {kQuotaIsParentLabel, "true"},
                           {kQuotaLendsLabel, "false"},     {kQuotaTreeIdLabel, "t"},
                           {kQuotaIsRootLabel, "true"},     {kQuotaIgnoreDefaultTreeLabel, "true"},
                           {kQuotaForceUpdateLabel, "true"}};
  quota.metadata.annotations = {{kQuotaSharedWeight, R"({"cpu":"20"})"}, {kQuotaNamespaces, R"(["a","b"])"}};
  CHECK((quota_terms(quota) == QuotaTerms{.parent = "p",
                                          .is_parent = true,
                                          .lends = false,
                                          .force_update = true,
                                          .is_tree_root = true,
                                          .ignores_default_tree = true,
                                          .tree_id = "t",
                                          .shared_weight = {{"cpu", Quantity::must("20")}},
                                          .namespaces = {"a", "b"}}));
  // Nonsense counts as absent.
  for (const char* weight : {"", "{}", R"({"cpu":"0"})", R"({"cpu":"x"})", "[]", "null"}) {
    quota.metadata.annotations[kQuotaSharedWeight] = weight;
    CHECK(quota_terms(quota).shared_weight == quota.spec.max);
  }
  quota.metadata.annotations[kQuotaNamespaces] = R"({"a":1})";
  CHECK(quota_terms(quota).namespaces.empty());
  quota.metadata.labels = {{kQuotaLendsLabel, "no"}, {kQuotaIsParentLabel, "True"}};
  CHECK(quota_terms(quota).lends);
  CHECK_FALSE(quota_terms(quota).is_parent);
  quota.metadata.name = std::string(kRootQuota);
  CHECK(quota_terms(quota).parent.empty());
}

TEST_CASE("What pods say of quotas, and quotas of amounts") {
  ObjectMeta pod;
  CHECK(quota_name(pod).empty());
  CHECK(is_preemptible(pod));
  pod.labels = {{kQuotaNameLabel, "q"}, {kQuotaPreemptibleLabel, "false"}};
  CHECK(quota_name(pod) == "q");
  CHECK_FALSE(is_preemptible(pod));
  SymbolMap annotations;
  set_annotation(annotations,
                 AnnotatedResources{{{"cpu", Quantity::must("1500m")}, {"memory", Quantity::must("1Gi")}}},
                 kQuotaRuntime);
  CHECK(value_or(annotations, kQuotaRuntime) == R"({"cpu":"1500m","memory":"1Gi"})");
  CHECK(read_annotation<AnnotatedResources>(annotations, kQuotaRuntime)->value().resources.size() == 2);
  set_annotation(annotations, AnnotatedResources{}, kQuotaRuntime);
  CHECK(value_or(annotations, kQuotaRuntime) == "{}");
}

}  // namespace
}  // namespace koord::api
