// ReservedDevices: a world whose profile has Reservation and DeviceShare.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "device_rig.hpp"
#include "reservation_rig.hpp"

namespace koord::scheduling::test {

struct ReservedDevices : DeviceWorld {
  explicit ReservedDevices(const FeatureGates& gates = {}, std::string_view args = {})
      : DeviceWorld(config(args), gates) {}
  explicit ReservedDevices(KubeSchedulerConfiguration config) : DeviceWorld(std::move(config)) {}

  static KubeSchedulerConfiguration config(std::string_view args) {
    KubeSchedulerConfiguration c = ReservationWorld::config(false);
    if (!args.empty())
      c.profiles[0].plugin_config.push_back({"DeviceShare", api::RawJson{std::string(args)}, nullptr});
    Plugins& plugins = *c.profiles[0].plugins;
    for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve})
      set->enabled.push_back({"DeviceShare", {}});
    plugins.pre_bind.enabled.insert(plugins.pre_bind.enabled.begin(), {"DeviceShare", {}});
    return c;
  }
  /// For app=NAME, of so many percent of GPUs.
  static std::shared_ptr<const api::Reservation> reservation(const std::string& name,
                                                             std::string_view percent,
                                                             std::string_view policy = {}) {
    return make_reservation(name, "1", [&](api::Reservation& r) {
      r.spec.allocate_policy = policy;
      r.spec.template_.text = fmt::format(
          R"({{"spec":{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"8","memory":"8Gi","koordinator.sh/gpu":"{}"}}}}}}]}}}})",
          percent);
    });
  }
  /// Placed, and as the API server has it then. What it was given is in its annotation.
  std::shared_ptr<const api::Reservation> keep(const std::shared_ptr<const api::Reservation>& wanted) {
    engine.put_object(wanted);
    const Decision d = one();
    const auto* const bind = d.as<Decision::Bind>();
    REQUIRE(bind != nullptr);
    auto there = changed(wanted, [&](api::Reservation& r) {
      if (bind->changes != nullptr)
        for (const auto& [key, value] : bind->changes->annotations)
          r.metadata.annotations[key] = Symbol(value);
      reservation::set_available(r, d.node(), clock.now());
    });
    engine.put_object(there);
    return there;
  }
  static std::shared_ptr<const api::Pod> owner(std::string name, std::string_view percent,
                                               std::string_view app, bool wants = false) {
    return test::changed(whole_gpus(std::move(name), percent), [&](api::Pod& p) {
      p.metadata.labels["app"] = Symbol(app);
      if (wants) p.metadata.annotations[api::ReservationAffinity::kAnnotation] = "{}";
    });
  }
};

}  // namespace koord::scheduling::test
