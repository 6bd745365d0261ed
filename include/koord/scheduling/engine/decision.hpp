// Decision: what an attempt to place a pod came to, for the writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"
#include "koord/scheduling/engine/attempt_detail.hpp"
#include "koord/scheduling/plugin/pod_changes.hpp"
#include "koord/scheduling/plugin/preemption.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

class PreBindWork;
struct ExtenderQuestion;

struct Decision {
  enum class Kind : std::uint8_t {
    bind,           // to `node`; the pod is assumed to be there from now on
    unschedulable,  // no node will do; the pod waits for an event
    error,          // something else went wrong; the pod is tried again after a backoff
    skip,           // it is being deleted; only to be told
    wait,           // for a permit; assumed to be on `node`; a second decision follows
    ask,            // the extenders, `question`; the attempt goes on when they have answered
    gated,          // a plugin keeps it out of the queue; only to be told
  };
  struct PreBind {
    std::string_view plugin;
    std::shared_ptr<PreBindWork> work;
  };

  Kind kind = Kind::bind;
  std::shared_ptr<const api::Pod> pod = {};
  Symbol node = {};
  std::string message = {};  // of a failure
  std::string_view profile = {};
  std::uint32_t attempts = 0;
  std::optional<MonoTime> first_attempt = {};
  nanoseconds took{};  // from the start of the attempt
  // Of that, and of what; zero where it did not come so far.
  nanoseconds filtering{}, scoring{};
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
  /// What status.nominatedNodeName becomes, empty: nothing; absent: it stays as it is.
  std::optional<Symbol> nominate = {};
  /// Before the binding, in this order.
  std::vector<PreBind> pre_binds = {};
  /// Written after them, by the plugin of this name.
  PodChanges changes = {};
  std::string_view patches = {};
  Preemption preemption = {};
  /// Why, as far as there was time to say it; see Details.
  std::shared_ptr<AttemptDetail> detail = {};
  /// The plugins whose permit it waits for.
  std::string waits_for = {};
  /// The engine is told that the binding is there, too, not only that it failed.
  bool tells_end = false;
  std::shared_ptr<const ExtenderQuestion> question = {};

  /// Something is to be done before the binding, which may take as long as it wants.
  bool prepares() const { return !pre_binds.empty() || !changes.empty(); }
  void drop_preparations() {
    pre_binds.clear();
    changes = {};
  }
};

}  // namespace koord::scheduling
