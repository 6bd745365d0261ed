// Preemption: who has to go to make room for a pod.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct Preemption {
  struct Victim {
    std::shared_ptr<const api::Pod> pod;
    /// For a permit, which it has been refused: it need not be deleted.
    bool waited = false;
  };
  /// Asked to go by the writer, while the pod waits: see PostFilterPlugin::preempted().
  std::vector<Victim> victims = {};
  /// Pods whose nomination to the node is taken back.
  std::vector<std::shared_ptr<const api::Pod>> yielding = {};
  std::size_t chosen = 0;  // victims, with those that are ending already
  bool tried = false;      // somebody looked for victims
};

}  // namespace koord::scheduling
