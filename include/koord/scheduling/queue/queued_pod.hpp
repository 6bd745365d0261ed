// QueuedPod: what the scheduler knows of a pod beyond its object: where it stands and how often it failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/plugin/pod_place.hpp"

namespace koord::scheduling {

struct ExtenderAnswer;
struct PodClass;
struct Profile;

struct QueuedPod {
  PodInfo info;
  std::string key;  // namespace/name
  const Profile* profile = nullptr;
  PodClass* cls = nullptr;
  Place place = Place::nowhere;
  Row row = kNoRow;  // where it is waiting, assumed or bound
  /// From Reserve on, of a profile that has plugins there: until it is unreserved, or its binding has ended.
  std::unique_ptr<PodAttempt> attempt;

  std::int32_t priority = 0;
  MonoTime timestamp{};     // when it arrived or failed last
  std::uint64_t order = 0;  // of arrival, to tell equal timestamps apart
  MonoTime backoff_until{};
  std::optional<MonoTime> first_attempt;  // when it first became active
  /// The plugins that rejected it at its last attempt, or that gate it; none: it failed for another reason.
  PluginMask rejectors = 0;
  /// Those of them that said pending: what undoes that, undoes the backoff, too.
  PluginMask pending = 0;
  /// Of its only rejector: what of that plugin's it was, see RejectorKey; empty: nothing in particular.
  Symbol rejector_key;
  /// Of its last refusal before any node was looked at, if it was told of it.
  Symbol told_key = {};
  std::uint32_t attempts = 0;
  std::uint32_t unschedulable_count = 0;
  std::uint32_t error_count = 0;  // in a row
  /// What the extenders said, for the rest of the attempt.
  std::shared_ptr<const ExtenderAnswer> answer;
  std::uint64_t asked_after = 0;  // so many events
  std::uint32_t questions = 0;    // of this attempt
  std::uint32_t heap_position = 0, group_position = 0;
  /// By what keeps it out of the queue, and when: so that it is not told the same all the time.
  std::string told;
  MonoTime told_at{};
  bool to_be_told = false;
  bool told_as_unschedulable = false;  // see PreEnqueuePlugin
  bool activated = false;  // a plugin wants it tried as soon as it has failed
  bool outdated = false;   // `info` and `cls` are of an older object than info.pod
  bool resized = false;    // it takes something else of its row than its object asks for (ResizePodPlugin)
};

}  // namespace koord::scheduling
