// FakeRunQueue: waits for a CPU as a test says, and cgroups for tasks to wait in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/run_queue_latency.hpp"
#include "rigs/fake_node.hpp"

namespace koord::koordlet::testing {

/// What the kernel would have counted.
class FakeRunQueue final : public host::RunQueueLatency {
 public:
  Result<host::LatencyHistogram> read(GroupId id) override { return groups[id]; }
  Result<> snapshot(std::vector<Group>& into) override {
    into.clear();
    for (const auto& [id, histogram] : groups) into.push_back({id, histogram});
    return {};
  }
  Result<> remove(GroupId) override { return {}; }
  Result<Losses> losses() override { return lost; }
  Result<Spent> spent() override { return cost; }
  Result<> trace(Tracing wanted) override {
    if (refused) return Error(Code::unsupported, "no");
    tracing = wanted;
    return {};
  }
  std::size_t capacity() const override { return 8192; }

  std::map<GroupId, host::LatencyHistogram> groups;
  Losses lost;
  Spent cost;
  Tracing tracing = Tracing::full;
  bool refused = false;
};

/// Makes a cgroup.
inline host::RunQueueLatency::GroupId make_group(FakeNode& node, const host::CgroupFs& fs,
                                                 const std::string& name) {
  node.tree().write(node.path("cpu", name, ""), "");
  return *host::cgroup_id(*fs.folder(host::Knob::cpu_quota, name));
}

/// -1: there is no such series.
inline double metric_of(const metrics::Registry& registry, const std::string& series) {
  const std::string text = registry.exposition();
  const auto at = text.find(fmt::format("\n{} ", series));
  return at == std::string::npos ? -1 : std::stod(text.substr(at + 1 + series.size()));
}

}  // namespace koord::koordlet::testing
