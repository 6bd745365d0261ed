// From a configuration to an engine that is asked: see engine_to_ask.hpp.
#include "koord/view/ask/engine_to_ask.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/config/configuration.hpp"
#include "koord/scheduling/config/unserved.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::view {

namespace {

bool comes_before(const api::Pod& other, const api::Pod& pod) {
  if (other.metadata.uid == pod.metadata.uid || other.spec.scheduler_name != pod.spec.scheduler_name ||
      !other.spec.scheduling_gates.empty() || other.metadata.deletion_timestamp)
    return false;
  const auto a = other.spec.priority.value_or(0), b = pod.spec.priority.value_or(0);
  return a != b ? a > b : other.metadata.creation_timestamp < pod.metadata.creation_timestamp;
}

}  // namespace

EngineToAsk::EngineToAsk() = default;
EngineToAsk::EngineToAsk(EngineToAsk&&) noexcept = default;
EngineToAsk& EngineToAsk::operator=(EngineToAsk&&) noexcept = default;
EngineToAsk::~EngineToAsk() = default;

Result<EngineToAsk> make_engine_to_ask(Clock& clock, const EngineSettings& settings,
                                       const FeatureGates& gates) {
  KOORD_TRY(configured, scheduling::configuration_to_ask(settings.config, settings.koordinator_semantics,
                                                         scheduling::plugin_table(), gates));
  EngineToAsk made;
  made.extended = !configured.config.extenders.empty();
  scheduling::EngineOptions options;
  options.nominate_expected = false;
  made.engine = std::make_unique<scheduling::Engine>(clock, options);
  KOORD_TRY(profiles, scheduling::build_profiles(configured.config, scheduling::plugin_table(),
                                                 made.engine->context(), gates));
  if (configured.koordinators && !settings.bind_unserved)
    for (scheduling::Profile& profile : profiles) scheduling::refuse_unserved(profile);
  made.engine->set_profiles(std::move(profiles));
  made.transforms = configured.koordinators;
  if (made.transforms) made.engine->set_transforms(scheduling::Transforms());
  return made;
}

std::size_t pods_ahead(std::span<const std::shared_ptr<const api::Pod>> waiting, const api::Pod& pod) {
  return static_cast<std::size_t>(std::count_if(
      waiting.begin(), waiting.end(), [&](const auto& other) { return comes_before(*other, pod); }));
}

}  // namespace koord::view
