// Decision: what an attempt to place a pod came to, for the writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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

/// What an attempt came to.
namespace outcome {

/// What a plugin has to do before the binding.
struct PreBind {
  std::string_view plugin;
  std::shared_ptr<PreBindWork> work;
};

/// To `node`; the pod is assumed to be there from now on.
struct Bind {
  Symbol node = {};
  /// What status.nominatedNodeName becomes meanwhile; absent: it stays as it is.
  std::optional<Symbol> nominate = {};
  /// Before the binding, in this order.
  std::vector<PreBind> pre_binds = {};
  /// Written after them, by the plugin of this name; nullptr: nothing.
  std::shared_ptr<const PodChanges> changes = {};
  std::string_view patches = {};
  /// The plugin that binds it, empty: none does; by this, nullptr: by a POST of the writer's.
  std::string_view binder = {};
  std::shared_ptr<PreBindWork> binding = {};
  /// The engine is told that the binding is there, too, not only that it failed.
  bool tells_end = false;

  /// Something is to be done before the binding, which may take as long as it wants.
  bool prepares() const { return !pre_binds.empty() || changes != nullptr; }
};
/// For a permit; assumed to be on `node`; a second decision follows.
struct Wait {
  Symbol node = {};
  std::optional<Symbol> nominate = {};  // as above
  std::string plugins = {};             // whose permit it waits for
};
/// No node will do; the pod waits for an event.
struct Unschedulable {
  std::string message = {};
  /// What status.nominatedNodeName becomes, empty: nothing; absent: it stays as it is.
  std::optional<Symbol> nominate = {};
  Preemption preemption = {};
};
/// Something else went wrong; the pod is tried again after a backoff.
struct Failed {
  std::string message = {};
  std::optional<Symbol> nominate = {};  // as above
};
/// It is being deleted; only to be told.
struct Skipped {
  std::string message = {};
};
/// A plugin keeps it out of the queue; only to be told.
struct Gated {
  std::string message = {};
  bool unschedulable = false;           // as a pod for which there is no node
  std::optional<Symbol> nominate = {};  // as above
};
/// The extenders; the attempt goes on when they have answered. No question: there is no room to ask yet.
struct Ask {
  std::shared_ptr<const ExtenderQuestion> question = {};
};

}  // namespace outcome

struct Decision {
  using PreBind = outcome::PreBind;
  using Bind = outcome::Bind;
  using Wait = outcome::Wait;
  using Unschedulable = outcome::Unschedulable;
  using Failed = outcome::Failed;
  using Skipped = outcome::Skipped;
  using Gated = outcome::Gated;
  using Ask = outcome::Ask;
  using Outcome = std::variant<Bind, Wait, Unschedulable, Failed, Skipped, Gated, Ask>;
  /// The outcomes, in their order.
  enum class Kind : std::uint8_t { bind, wait, unschedulable, error, skip, gated, ask };

  std::shared_ptr<const api::Pod> pod = {};
  std::string_view profile = {};
  std::uint32_t attempts = 0;
  std::optional<MonoTime> first_attempt = {};
  Outcome outcome = {};
  nanoseconds took{};  // from the start of the attempt
  // Of that, and of what; zero where it did not come so far.
  nanoseconds filtering{}, scoring{};
  std::uint32_t evaluated_nodes = 0, feasible_nodes = 0;
  /// Why, as far as there was time to say it; see Details.
  std::shared_ptr<AttemptDetail> detail = {};

  Kind kind() const { return static_cast<Kind>(outcome.index()); }
  /// nullptr: it came to something else.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&outcome);
  }

  // What several outcomes have; of the others nothing.

  /// Where the pod is assumed to be.
  const Symbol& node() const;
  /// Of a failure.
  const std::string& message() const;
  const std::optional<Symbol>& nominate() const;
  const Preemption& preemption() const;
  bool tells_end() const {
    const Bind* bind = as<Bind>();
    return bind != nullptr && bind->tells_end;
  }
};

}  // namespace koord::scheduling
