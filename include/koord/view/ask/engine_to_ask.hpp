// An engine that decides nothing and is asked: as `koord explain` and the page make it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord {
class FeatureGates;
}
namespace koord::api {
struct Pod;
}
namespace koord::scheduling {
class Engine;
}

namespace koord::view {

struct EngineSettings {
  std::string config;  // the file of a KubeSchedulerConfiguration; empty: the default profile
  bool koordinator_semantics = true;
  bool bind_unserved = false;
};

struct EngineToAsk {
  EngineToAsk();
  EngineToAsk(EngineToAsk&&) noexcept;
  EngineToAsk& operator=(EngineToAsk&&) noexcept;
  ~EngineToAsk();

  std::unique_ptr<scheduling::Engine> engine;
  bool transforms = false;  // what pods and nodes are Koordinator says
  bool extended = false;    // the configuration has extenders, which nobody asks
};

/// `clock` and `gates` outlive it. Errors name the file and the line.
Result<EngineToAsk> make_engine_to_ask(Clock& clock, const EngineSettings& settings,
                                       const FeatureGates& gates);

/// How many of these wait and come before the pod in its scheduler's queue.
std::size_t pods_ahead(std::span<const std::shared_ptr<const api::Pod>> waiting, const api::Pod& pod);

}  // namespace koord::view
