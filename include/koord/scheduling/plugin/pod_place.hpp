// Place: where a pod stands on its way.
#pragma once

#include <cstdint>

namespace koord::scheduling {

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

}  // namespace koord::scheduling
