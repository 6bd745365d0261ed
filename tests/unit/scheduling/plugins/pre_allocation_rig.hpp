// A world with reservations that take the room of running pods over.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reservation_rig.hpp"
#include "scheduling/plugins/reservation/ledger.hpp"

namespace koord::scheduling::test {

struct PreAllocationWorld : ReservationWorld {
  explicit PreAllocationWorld(const std::string& pre_allocation = "")
      : ReservationWorld(configured(pre_allocation)) {}
  static KubeSchedulerConfiguration configured(const std::string& pre_allocation) {
    KubeSchedulerConfiguration c = config(false);
    if (!pre_allocation.empty())
      c.profiles[0].plugin_config.push_back(
          {"Reservation", {fmt::format(R"({{"preAllocationConfig":{}}})", pre_allocation)}, nullptr});
    return c;
  }

  struct Asks {
    bool several = false, from_cluster = false, required = false;
  };
  /// For the pods with the label app=NAME, Restricted, with pre-allocation.
  static Reserved reserving(const std::string& name, std::string_view cpu, std::string_view memory,
                            const Asks& asks, const ReservationEdit& edit = {}) {
    return make_reservation(name, cpu, [&](api::Reservation& r) {
      r.spec.template_.text = fmt::format(
          R"({{"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{}","memory":"{}"}}}}}}]}}}})",
          cpu, memory);
      r.spec.pre_allocation = true;
      r.spec.allocate_policy = "Restricted";
      auto& policy = r.spec.pre_allocation_policy.ensure();
      policy.enable_multiple = asks.several;
      if (asks.from_cluster) policy.mode = "Cluster";
      if (asks.required) r.metadata.labels["scheduling.koordinator.sh/pre-allocation-required"] = "true";
      if (edit) edit(r);
    });
  }
  /// Running on the node; app: its label.
  static std::shared_ptr<const api::Pod> running(const std::string& name, std::string_view cpu,
                                                 std::string_view memory, const std::string& app,
                                                 const PodEdit& edit = {}, const char* node = "n") {
    return make_pod(name, cpu, memory, [&](api::Pod& p) {
      p.spec.node_name = node;
      p.metadata.resource_version = "1";
      if (!app.empty()) p.metadata.labels["app"] = Symbol(app);
      if (edit) edit(p);
    });
  }
  static std::string allocated(const std::string& reservation) {
    return fmt::format(R"({{"name":"{0}","uid":"uid-of-{0}"}})", reservation);
  }
  static PodEdit with_room_of(const std::string& reservation) {
    return [=](api::Pod& p) {
      p.metadata.annotations[api::ReservationAllocated::kAnnotation] = Symbol(allocated(reservation));
    };
  }

  reservation::Ledger& ledger() {
    const PluginContext context = engine.context();
    return context.shared.get<reservation::Ledger>(context);
  }
  /// The pods on the row that have room of the reservation, or will.
  std::vector<std::shared_ptr<const api::Pod>> owners(const std::string& reservation_uid,
                                                      std::string_view node = "n") {
    std::vector<std::shared_ptr<const api::Pod>> all;
    for (const PodInfo* pod : engine.nodes().pods(row(node)))
      if (const auto* held = ledger().holder(pod->pod->metadata.uid);
          held != nullptr && held->of->uid == reservation_uid)
        all.push_back(pod->pod);
    std::ranges::sort(all, {}, [](const auto& pod) { return pod->metadata.name; });
    return all;
  }
  std::string owner_names(const std::string& reservation, std::string_view node = "n") {
    std::vector<std::string> names;
    for (const auto& pod : owners("uid-of-" + reservation, node)) names.push_back(pod->metadata.name);
    return fmt::format("{}", fmt::join(names, " "));
  }
  /// What the API server has when the reservation is bound.
  void bind(const Reserved& r, const Decision& d) {
    for (const auto& pod : owners(r->metadata.uid, d.node().view()))
      engine.put_pod(changed(pod, with_room_of(r->metadata.name)));
    put_on(r, d.node().view());
  }
};

}  // namespace koord::scheduling::test
