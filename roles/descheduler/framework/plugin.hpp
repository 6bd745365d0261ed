// Plugin: chooses pods that are to go; Pass: what it may ask and do meanwhile.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/snapshot.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord {
class Logger;
class TaskGroup;
}  // namespace koord

namespace koord::descheduler {

/// Whether a pod would find room, by what it asks for. See node_fit.hpp for who answers.
class NodeFit {
 public:
  virtual ~NodeFit() = default;
  virtual bool fits(const api::Pod& pod, const NodeView& node) = 0;
  /// On one of `nodes` other than its own.
  bool fits_elsewhere(const api::Pod& pod, std::span<const NodeView* const> nodes);
  /// Where it would go if it went now: of the snapshot's nodes but its own the one that the scheduler would
  /// choose; nullptr: none. Who knows no preferences says the first in the order of names where it fits.
  virtual const NodeView* destination(const api::Pod& pod, const Snapshot& snapshot);
  /// The same of several that go together, in this order, each after the ones before it have found their
  /// places; who cannot tell says it of each for itself.
  virtual std::vector<const NodeView*> destinations(std::span<const PodPtr> pods, const Snapshot& snapshot);
};

/// A pass of one profile as its plugins see it. Belongs to the role's strand, lives for one pass.
class Pass {
 public:
  Pass() = default;
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  virtual ~Pass() = default;

  virtual const Snapshot& snapshot() const = 0;
  /// The ready ones that the configuration's and the profile's selectors choose, by name.
  virtual std::span<const NodeView* const> nodes() const = 0;
  /// Whether every filter of the profile agrees that the pod may go at all.
  virtual bool may_go(const api::Pod& pod) = 0;
  /// Whether they agree just before it goes (Evictor::why_not_now).
  virtual bool may_go_now(const api::Pod& pod) = 0;
  /// Has the profile's evictor make it go, within the limits of the pass; in a dry run it only counts and is
  /// reported. Filters are not asked. False: it stays, and the log says why; the next one may be tried.
  virtual Task<bool> evict(PodPtr pod, std::string reason) = 0;
  virtual NodeFit& node_fit() = 0;
  /// Nothing may be written, whoever would write.
  virtual bool dry_run() const = 0;
  virtual MonoTime now() const = 0;  // when the pass began; the wall clock's: snapshot().now()
  virtual const Logger& log() const = 0;
};

/// Of one profile; made at the start, asked in every pass, first by every profile's deschedule(), then by
/// every profile's balance(), in the order of the configuration. An error is logged and never stops others.
class Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  /// Pods that should not be where they are.
  virtual Task<Result<>> deschedule(Pass& pass);
  /// Pods whose going spreads or packs load better.
  virtual Task<Result<>> balance(Pass& pass);

  /// The role leads: what it does on its own, outside of passes, goes into `tasks`.
  virtual void start(TaskGroup& tasks) { (void)tasks; }
  /// The role ends: nothing new is begun.
  virtual void stop() {}
};

}  // namespace koord::descheduler
