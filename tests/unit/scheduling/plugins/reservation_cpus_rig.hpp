// A world whose profile has Reservation and NodeNUMAResource, in which reservations keep whole CPUs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "numa_rig.hpp"
#include "reservation_rig.hpp"

namespace koord::scheduling::test {

using Reserved = std::shared_ptr<const api::Reservation>;

struct ReservedCpus : NumaWorld {
  explicit ReservedCpus(bool preempts = false) : NumaWorld(config(preempts)) {}

  static KubeSchedulerConfiguration config(bool preempts) {
    KubeSchedulerConfiguration c = ReservationWorld::config(preempts);
    Plugins& plugins = *c.profiles[0].plugins;
    for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve})
      set->enabled.push_back({"NodeNUMAResource", {}});
    plugins.pre_bind.enabled.insert(plugins.pre_bind.enabled.begin(), {"NodeNUMAResource", {}});
    return c;
  }

  /// An LSR reservation for app=NAME; `marks` are its own annotations.
  static Reserved reservation(const std::string& name, std::string_view cpu, std::string_view policy = {},
                              const Marks& marks = {}, const ReservationEdit& edit = {}) {
    return make_reservation(name, cpu, [&](api::Reservation& r) {
      r.spec.allocate_policy = policy;
      r.metadata.labels[api::kQosLabel] = Symbol("LSR");
      mark(r.metadata.annotations, marks);
      if (edit) edit(r);
    });
  }
  /// As the API server has it when the decision is written.
  Reserved available(const Reserved& before, const Decision& d) const {
    const auto* const bind = d.as<Decision::Bind>();
    REQUIRE(bind != nullptr);
    return changed(before, [&](api::Reservation& r) {
      if (bind->changes != nullptr) {
        for (const auto& [key, value] : bind->changes->annotations)
          r.metadata.annotations[key] = Symbol(value);
        for (const std::string& key : bind->changes->removed_annotations) r.metadata.annotations.erase(key);
      }
      reservation::set_available(r, d.node(), clock.now());
    });
  }
  /// On the node, with these CPUs and shares of memory nodes.
  Reserved put_on(const Reserved& before, std::string_view node, std::string_view status) {
    auto placed = changed(before, [&](api::Reservation& r) {
      if (!status.empty()) mark(r.metadata.annotations, {resource_status(status)});
      reservation::set_available(r, Symbol(node), clock.now());
    });
    engine.put_object(placed);
    return placed;
  }
  Reserved place_reservation(const Reserved& wanted) {
    engine.put_object(wanted);
    auto there = available(wanted, one());
    engine.put_object(there);
    return there;
  }
  static std::string cpus_of(const api::SymbolMap& annotations) {
    const auto status = api::read_annotation<api::ResourceStatus>(annotations);
    return status && *status ? (*status)->cpuset : std::string();
  }
  static std::shared_ptr<const api::Pod> owner(std::string name, std::string_view cpu, std::string_view app,
                                               Marks marks = {}, bool wants = false) {
    if (wants) marks.emplace_back(api::ReservationAffinity::kAnnotation, "{}");
    return test::changed(lsr_pod(std::move(name), cpu, std::move(marks), "128Mi"),
                         [&](api::Pod& p) { p.metadata.labels["app"] = Symbol(app); });
  }
  /// "RESERVATION CPUS", or why not.
  static std::string what(const Decision& d) {
    const auto* const bind = d.as<Decision::Bind>();
    if (bind == nullptr) return d.message();
    const auto pod = bound(d);
    const auto in = api::read_annotation<api::ReservationAllocated>(pod->metadata.annotations);
    return (in && *in ? (*in)->name : "node") + " " + cpus_of(pod->metadata.annotations);
  }
};

}  // namespace koord::scheduling::test
