// JobBook: the jobs that there are, each in its newest version, by what they wait for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "migration/jobs/counts.hpp"

namespace koord::descheduler::migration {

using JobPtr = std::shared_ptr<const api::PodMigrationJob>;

/// What the arbitrator of this process has decided and nobody has written yet.
enum class Decision : std::uint8_t { none, passed, forbidden };

/// Belongs to the role's strand.
class JobBook {
 public:
  using PodPtr = JobCounts::PodPtr;

  /// A version of a job, from wherever: an older one than what is here counts for nothing (false). `pod` is
  /// the present one of the name that it gives. A decision ends with a job that is paused or finished, or
  /// says itself that it has passed.
  bool put(JobPtr job, PodPtr pod);
  /// Of that UID; another one of the name stays.
  void remove(const std::string& name, std::string_view uid);
  void pod_changed(std::string_view ns, std::string_view name, PodPtr pod) {
    counts_.pod_changed(ns, name, std::move(pod));
  }

  /// nullptr: there is none.
  JobPtr find(const std::string& name) const;
  Decision decision(const std::string& name) const;
  /// Of a job that waits; from now on it does not.
  void decide(const std::string& name, Decision decision, PodPtr pod);

  /// Those that have not ended, are not paused and about which nothing is decided, by name.
  const std::set<std::string>& waiting() const { return waiting_; }
  // Names of unfinished jobs that a change concerns.
  std::vector<std::string> of_pod(std::string_view ns, std::string_view name) const;
  std::vector<std::string> of_reservation(std::string_view name) const;
  /// Whose pod has, when it passed arbitration, that controller's UID.
  std::vector<std::string> of_workload(std::string_view uid) const;
  /// Any job there is, finished ones, too, refers to it or has its name for UID.
  bool knows_reservation(std::string_view name) const;

  const JobCounts& counts() const { return counts_; }
  std::vector<JobPtr> all() const;
  std::size_t size() const { return jobs_.size(); }

 private:
  struct Known {
    JobPtr job;
    Decision decision = Decision::none;
    std::vector<std::string> keys;  // in by_pod_ and by_reservation_
  };
  using Index = std::unordered_map<std::string, std::set<std::string>>;
  void link(Known& known);
  void unlink(Known& known);
  std::vector<std::string> of_key(const std::string& key) const;

  std::unordered_map<std::string, Known> jobs_;
  JobCounts counts_;
  std::set<std::string> waiting_;
  Index index_;                                        // unfinished jobs, by "p/NS/NAME", "r/NAME", "w/UID"
  std::unordered_map<std::string, int> reservations_;  // that any job names
};

/// "NAMESPACE/NAME"; empty without a reference.
std::string pod_key(const api::PodMigrationJob& job);
/// The UID of its pod's controller, which is known once it has passed arbitration; empty: nobody's.
std::string_view workload_of(const api::PodMigrationJob& job);
/// The node from which its pod goes, the same way.
std::string_view from_node(const api::PodMigrationJob& job);

}  // namespace koord::descheduler::migration
