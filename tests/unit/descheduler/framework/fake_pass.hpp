// A pass over objects for tests of plugins: everything may go unless the test says otherwise, and who has
// gone is noted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/base/manual_clock.hpp"

namespace koord::descheduler {

class FakePass final : public Pass, private NodeFit {
 public:
  struct Gone {
    std::string pod;  // namespace/name
    std::string reason;
  };
  explicit FakePass(SnapshotObjects objects, WallTime now = {}) : snapshot_(std::move(objects), now) {
    for (const NodeView& node : snapshot_.nodes())
      if (node.ready) nodes_.push_back(&node);
  }

  const Snapshot& snapshot() const override { return snapshot_; }
  std::span<const NodeView* const> nodes() const override { return nodes_; }
  bool may_go(const api::Pod& pod) override { return filter(pod); }
  bool may_go_now(const api::Pod& pod) override { return filter_now(pod); }
  Task<bool> evict(PodPtr pod, std::string reason) override {
    if (!evictor(*pod)) co_return false;
    gone.push_back({pod->metadata.namespace_.str() + "/" + pod->metadata.name, std::move(reason)});
    co_return true;
  }
  NodeFit& node_fit() override { return *this; }
  bool dry_run() const override { return dry; }
  MonoTime now() const override { return mono; }
  const Logger& log() const override { return log_; }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Gone& each : gone) all.push_back(each.pod);
    return all;
  }

  std::function<bool(const api::Pod&)> filter = [](const api::Pod&) { return true; };
  std::function<bool(const api::Pod&)> filter_now = [](const api::Pod&) { return true; };
  std::function<bool(const api::Pod&)> evictor = [](const api::Pod&) { return true; };
  std::function<bool(const api::Pod&, const NodeView&)> fit = [](const api::Pod&, const NodeView&) {
    return true;
  };
  std::vector<Gone> gone;
  bool dry = false;
  MonoTime mono{};
  CapturedLog captured;

 private:
  bool fits(const api::Pod& pod, const NodeView& node) override { return fit(pod, node); }

  ManualClock clock_;
  Logger log_{captured, clock_};
  Snapshot snapshot_;
  std::vector<const NodeView*> nodes_;
};

}  // namespace koord::descheduler
