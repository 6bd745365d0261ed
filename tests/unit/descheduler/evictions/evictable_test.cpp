// Which pods may be evicted at all: koord-descheduler's rows (TestIsEvictable, but for those of node fit).
#include "evictions/evictable.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler::test {
namespace {

using Edit = std::function<void(api::Pod&)>;

void owned(api::Pod& pod, const char* kind = "Pod") {
  api::OwnerReference& owner = pod.metadata.owner_references.emplace_back();
  owner.kind = Symbol(kind);
  owner.name = "owner";
}
void annotate(api::Pod& pod, std::string_view key, std::string_view value) {
  pod.metadata.annotations[key] = Symbol(value);
}
api::Volume& volume(api::Pod& pod) { return pod.spec.volumes.emplace_back(); }

struct Row {
  const char* name;
  Edit edit;
  EvictableRules rules = {};
  std::string says;  // empty: it may go
};

TEST_CASE("what speaks against a pod's eviction") {
  const auto with_label = [](const char* value) {
    EvictableRules rules;
    api::LabelSelector selector;
    selector.match_labels["test"] = Symbol(value);
    rules.label_selector = *api::Selector::from(&selector);
    return rules;
  };
  const Row rows[] = {
      {"a failed pod without owner",
       [](api::Pod& p) { p.status.phase = "Failed"; },
       {},
       "pod does not have any ownerRefs"},
      {"a pod without owner, where failed ones may go",
       [](api::Pod&) {},
       {.failed_bare_pods = true},
       "pod does not have any ownerRefs and is not in failed phase"},
      {"a failed one there", [](api::Pod& p) { p.status.phase = "Failed"; }, {.failed_bare_pods = true}, ""},
      {"a pod without owner, where all may go", [](api::Pod&) {}, {.all_bare_pods = true}, ""},
      {"a failed one there", [](api::Pod& p) { p.status.phase = "Failed"; }, {.all_bare_pods = true}, ""},
      {"a pod with an owner", [](api::Pod& p) { owned(p); }, {}, ""},
      {"a pod of a ReplicaSet", [](api::Pod& p) { owned(p, "ReplicaSet"); }, {}, ""},
      {"one with emptyDir",
       [](api::Pod& p) {
         owned(p);
         volume(p).empty_dir.ensure();
       },
       {},
       "pod has local storage and descheduler is not configured with evictLocalStoragePods"},
      {"one with hostPath",
       [](api::Pod& p) {
         owned(p);
         volume(p).host_path.ensure();
       },
       {},
       "pod has local storage and descheduler is not configured with evictLocalStoragePods"},
      {"where these may go",
       [](api::Pod& p) {
         owned(p);
         volume(p).host_path.ensure();
       },
       {.local_storage = true},
       ""},
      {"one of a DaemonSet", [](api::Pod& p) { owned(p, "DaemonSet"); }, {}, "pod is a DaemonSet pod"},
      {"a mirror pod",
       [](api::Pod& p) {
         owned(p);
         annotate(p, "kubernetes.io/config.mirror", "x");
       },
       {},
       "pod is a mirror pod"},
      {"a static pod",
       [](api::Pod& p) {
         owned(p);
         annotate(p, "kubernetes.io/config.source", "file");
       },
       {},
       "pod is a static pod"},
      {"a pod that says it came through the API",
       [](api::Pod& p) {
         owned(p);
         annotate(p, "kubernetes.io/config.source", "api");
       },
       {},
       ""},
      {"one that is being deleted",
       [](api::Pod& p) {
         owned(p);
         p.metadata.deletion_timestamp = api::Time();
       },
       {},
       "pod is terminating"},
      {"one that the node needs",
       [](api::Pod& p) {
         owned(p);
         p.spec.priority = kSystemCriticalPriority;
       },
       {},
       "pod has system critical priority"},
      {"where these may go",
       [](api::Pod& p) {
         owned(p);
         p.spec.priority = kSystemCriticalPriority;
       },
       {.system_critical = true},
       ""},
      {"one above the threshold",
       [](api::Pod& p) {
         owned(p);
         p.spec.priority = 900;
       },
       {.priority_threshold = 800},
       "pod has higher priority than specified priority class threshold"},
      {"one at the threshold",
       [](api::Pod& p) {
         owned(p);
         p.spec.priority = 800;
       },
       {.priority_threshold = 800},
       "pod has higher priority than specified priority class threshold"},
      {"one below", [](api::Pod& p) { owned(p), p.spec.priority = 799; }, {.priority_threshold = 800}, ""},
      {"one without a priority", [](api::Pod& p) { owned(p); }, {.priority_threshold = 800}, ""},
      {"above the threshold, where what the node needs may go",
       [](api::Pod& p) {
         owned(p);
         p.spec.priority = 900;
       },
       {.system_critical = true, .priority_threshold = 800},
       ""},
      {"one with a claim",
       [](api::Pod& p) {
         owned(p);
         volume(p).persistent_volume_claim.ensure();
       },
       {},
       ""},
      {"where these stay",
       [](api::Pod& p) {
         owned(p);
         volume(p).persistent_volume_claim.ensure();
       },
       {.ignore_pvc_pods = true},
       "pod has a PVC and descheduler is configured to ignore PVC pods"},
      {"one that is selected",
       [](api::Pod& p) {
         owned(p);
         p.metadata.labels["test"] = "value";
       },
       with_label("value"), ""},
      {"one that is not",
       [](api::Pod& p) {
         owned(p);
         p.metadata.labels["test"] = "value";
       },
       with_label("xxx"), "pod labels do not match the labelSelector filter in the policy parameter"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    api::Pod pod;
    row.edit(pod);
    std::string all;
    for (const std::string_view why : why_not_evictable(pod, row.rules))
      all.append(all.empty() ? "" : "; ").append(why);
    CHECK(all == row.says);
    // With the annotation, whatever it says, nothing speaks against it.
    annotate(pod, api::kEvictAnnotation, "false");
    CHECK(why_not_evictable(pod, row.rules).empty());
  }
}

TEST_CASE("all that speaks against it is said, in order") {
  api::Pod pod;
  annotate(pod, "kubernetes.io/config.mirror", "x");
  volume(pod).empty_dir.ensure();
  CHECK(why_not_evictable(pod, {}) ==
        std::vector<std::string_view>{
            "pod is a mirror pod", "pod does not have any ownerRefs",
            "pod has local storage and descheduler is not configured with evictLocalStoragePods"});
}

TEST_CASE("the cost of an eviction is a number as Go writes it") {
  const std::pair<const char*, std::int32_t> rows[] = {{"0", 0},
                                                       {"100", 100},
                                                       {"-100", -100},
                                                       {"2147483647", 2147483647},
                                                       {"2147483648", 0},
                                                       {"+10", 0},
                                                       {"008", 0},
                                                       {"00", 0},
                                                       {"1e3", 0},
                                                       {"", 0},
                                                       {"five", 0},
                                                       {"-", 0},
                                                       {"-2147483648", -2147483647 - 1},
                                                       {"1 ", 0}};
  for (const auto& [text, cost] : rows) {
    INFO(text);
    api::SymbolMap annotations;
    annotations[api::kEvictionCostAnnotation] = Symbol(text);
    CHECK(api::eviction_cost(annotations) == cost);
  }
  CHECK(api::eviction_cost({}) == 0);
}

}  // namespace
}  // namespace koord::descheduler::test
