// QueuedPod: what the scheduler knows of a pod beyond its object: where it stands and how often it failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

struct ExtenderAnswer;
struct PodClass;
struct Profile;

enum class Place : std::uint8_t {
  nowhere,        // not ours to schedule, or being decided
  gated,          // a PreEnqueue plugin keeps it out
  active,         // to be tried as soon as possible
  backoff,        // to be tried again after a while (sooner if nothing else is to do)
  error_backoff,  // the same after an error that was not the pod's; never sooner
  unschedulable,  // to be tried again when an event makes it worth it
  asking,         // until the extenders have answered, or until there is room to ask them
  waiting,        // assumed on a node, its binding not permitted yet
  assumed,        // decided, its binding on the way
  bound,
};

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
  bool activated = false;  // a plugin wants it tried as soon as it has failed
  bool outdated = false;   // `info` and `cls` are of an older object than info.pod
};

}  // namespace koord::scheduling
