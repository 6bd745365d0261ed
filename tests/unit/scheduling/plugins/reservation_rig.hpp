// A world whose profile has Reservation, in the places that Koordinator's has it.
#pragma once

#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "reservations.hpp"
#include "scheduling/plugins/reservation/reservation.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

struct ReservationWorld : World {
  explicit ReservationWorld(bool preempts = false, const FeatureGates& gates = {})
      : World(config(preempts), {}, plugin_table(), gates) {}
  explicit ReservationWorld(KubeSchedulerConfiguration configured) : World(std::move(configured)) {}

  static KubeSchedulerConfiguration config(bool preempts) {
    KubeSchedulerConfiguration c;
    Plugins& plugins = c.profiles.emplace_back().plugins.ensure();
    for (PluginSet Plugins::*point :
         {&Plugins::pre_filter, &Plugins::filter, &Plugins::pre_score, &Plugins::reserve, &Plugins::pre_bind})
      (plugins.*point).enabled.push_back({"Reservation", {}});
    plugins.score.enabled.push_back({"Reservation", 5000});
    plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
    plugins.bind = {.enabled = {{"Reservation", {}}, {"DefaultBinder", {}}}, .disabled = {{"*", {}}}};
    plugins.post_filter = {.enabled = {{"Reservation", {}}}, .disabled = {{"*", {}}}};
    if (preempts) plugins.post_filter.enabled.push_back({"DefaultPreemption", {}});
    return c;
  }

  using Reserved = std::shared_ptr<const api::Reservation>;
  /// On the node, with what `edit` makes of it.
  Reserved put_on(const Reserved& reservation, std::string_view node, const ReservationEdit& edit = {}) {
    auto placed = changed(reservation, [&](api::Reservation& r) {
      reservation::set_available(r, Symbol(node), clock.now());
      if (edit) edit(r);
    });
    engine.put_object(placed);
    return placed;
  }
  static PodEdit owner_of(std::string name, std::map<std::string, std::string> annotations = {}) {
    return [=](api::Pod& pod) {
      pod.metadata.labels["app"] = Symbol(name);
      for (const auto& [key, value] : annotations) pod.metadata.annotations[key] = Symbol(value);
    };
  }
  static std::map<std::string, std::string> wanting(std::string affinity) {
    return {{std::string(api::ReservationAffinity::kAnnotation), std::move(affinity)}};
  }
  /// The pod as it is bound by the decision, with what is written into it.
  static std::shared_ptr<const api::Pod> bound(const Decision& d) {
    return test::changed(d.pod, [&](api::Pod& p) {
      p.spec.node_name = d.node();
      if (const auto& changes = d.as<Decision::Bind>()->changes) {
        for (const auto& [key, value] : changes->annotations) p.metadata.annotations[key] = Symbol(value);
        for (const std::string& key : changes->removed_annotations) p.metadata.annotations.erase(key);
      }
    });
  }
  /// The annotation that is written with the binding.
  static std::string given(const Decision& d) {
    const auto* const bind = d.as<Decision::Bind>();
    if (bind == nullptr || bind->changes == nullptr) return {};
    return std::string(api::value_or(bind->changes->annotations, api::ReservationAllocated::kAnnotation));
  }
  /// Bound on a node, with room of the reservation of this uid; empty: of none.
  std::shared_ptr<const api::Pod> put_owner(std::string name, std::string_view cpu, std::string node,
                                            std::string uid, const PodEdit& edit = {}) {
    auto pod = make_pod(std::move(name), cpu, "128Mi", [&](api::Pod& p) {
      p.spec.node_name = node;
      if (!uid.empty())
        p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"uid":")" + uid + R"("})";
      if (edit) edit(p);
    });
    engine.put_pod(pod);
    return pod;
  }

  Row row(std::string_view node) const { return engine.nodes().find(node); }
  std::int64_t used(ResourceId resource, std::string_view node) const {
    return engine.nodes().used(resource, row(node));
  }
  ClassState& ask(const std::shared_ptr<const api::Pod>& pod) {
    return engine.evaluate(engine.profiles()[0], pod);
  }
  /// Why not on this node; "": it may go there.
  std::string why_not(const std::shared_ptr<const api::Pod>& pod, std::string_view node) {
    const VerdictId id = ask(pod).verdict(row(node));
    return id == kPass ? "" : fmt::format("{}", fmt::join(engine.context().verdicts[id].reasons, ", "));
  }
};

}  // namespace koord::scheduling::test
