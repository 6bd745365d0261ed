// Filters: whether a pod may be migrated, at all and now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "koord/base/result.hpp"
#include "migration/args.hpp"
#include "migration/jobs/counts.hpp"
#include "migration/workloads.hpp"

namespace koord::descheduler::migration {

struct Verdict {
  enum class Is : std::uint8_t {
    passes,
    waits,     // not now: a limit is reached, or something is not known yet
    forbidden  // not as things are
  };
  Is is = Is::passes;
  std::string why;  // for people; empty where it passes

  bool passes() const { return is == Is::passes; }
};

/// In koord-descheduler's order. Of one configuration's arguments; belongs to the role's strand.
class Filters {
 public:
  /// `args` are complete and valid. `priority_of`: a PriorityClass's value, nothing while there is none.
  Filters(std::shared_ptr<const MigrationControllerArgs> args, const JobCounts& counts, Workloads& workloads,
          std::function<std::optional<std::int32_t>(std::string_view)> priority_of);

  /// Of a pod that a plugin would like to go.
  Verdict candidate(const api::Pod& pod);
  /// Of one that a job names: neither that job counts nor which scheduler the pod has.
  Verdict arbitrate(const api::Pod& pod);
  /// What is remembered of workloads between two of these is no more than a moment old.
  void forget_workloads() { unavailable_.clear(); }

  const MigrationControllerArgs& args() const { return *args_; }

 private:
  Verdict lasting(const api::Pod& pod);  // what speaks against it whatever else happens
  Verdict limits(const api::Pod& pod, Counted which);
  Verdict expected_replicas(const api::Pod& pod);
  Verdict workload_limits(const api::Pod& pod, Counted which);

  std::shared_ptr<const MigrationControllerArgs> args_;
  const JobCounts& counts_;
  Workloads& workloads_;
  std::function<std::optional<std::int32_t>(std::string_view)> priority_of_;
  EvictableRules rules_;
  std::unordered_map<std::string, std::size_t> unavailable_;  // pods, by the UID of their controller
};

}  // namespace koord::descheduler::migration
