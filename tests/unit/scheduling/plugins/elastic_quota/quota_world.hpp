// A cluster whose pods are counted in quotas, for tests: one node that has room for all of them, if no other.
#pragma once

#include <catch2/catch.hpp>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

using QuotaPtr = std::shared_ptr<const api::ElasticQuota>;
using QuotaEdit = std::function<void(api::ElasticQuota&)>;

inline api::ResourceList cpu_memory(std::string_view cpu, std::string_view memory) {
  return {{"cpu", api::Quantity::must(cpu)}, {"memory", api::Quantity::must(memory)}};
}

inline QuotaPtr make_quota(std::string name, std::string_view max, std::string_view min,
                           const QuotaEdit& edit = {}) {
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->metadata.name = std::move(name);
  quota->metadata.namespace_ = "quotas";
  quota->spec.max = cpu_memory(max, "1Ti");
  quota->spec.min = cpu_memory(min, "0");
  if (edit) edit(*quota);
  return quota;
}
inline QuotaEdit below(std::string parent) {
  return [parent](api::ElasticQuota& quota) {
    quota.metadata.labels[std::string(api::kQuotaParentLabel)] = parent;
  };
}

struct QuotaWorld : World {
  explicit QuotaWorld(std::string_view args = "{}", bool preempts = false, const FeatureGates& gates = {})
      : World(configuration(args, preempts), {}, plugin_table(), gates) {
    node("n", "100");
  }

  static KubeSchedulerConfiguration configuration(std::string_view args, bool preempts);

  void node(std::string name, std::string_view cpu) {
    engine.put_node(make_node(std::move(name), cpu, "1Ti"));
  }
  QuotaPtr put(QuotaPtr quota) {
    engine.put_object(quota);
    return quota;
  }
  /// In the quota that its label says; "": none.
  std::shared_ptr<const api::Pod> pod(std::string name, std::string quota, std::string_view cpu,
                                      const PodEdit& edit = {}) {
    auto made = make_pod(std::move(name), cpu, "1Mi", [&](api::Pod& p) {
      if (!quota.empty()) p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota;
      if (edit) edit(p);
    });
    engine.put_pod(made);
    return made;
  }
  /// As the API server tells of it when it is bound.
  std::shared_ptr<const api::Pod> bound(const std::shared_ptr<const api::Pod>& pod, const char* node = "n") {
    auto copy = changed(pod, [&](api::Pod& p) { p.spec.node_name = node; });
    engine.put_pod(copy);
    return copy;
  }
  /// "a bind, b unschedulable" of all decisions that there are to make.
  std::string outcomes() {
    std::string text;
    for (const Decision& d : run())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", d.pod->metadata.name,
                          d.kind() == Decision::Kind::bind ? "bind" : "waits");
    return text;
  }
};

}  // namespace koord::scheduling::test
