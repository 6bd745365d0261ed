// JobCounts: how many pods are being moved, of a node, a namespace, a workload, in all.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"

namespace koord::descheduler::migration {

/// Which jobs count: every one that has not ended, or of those only the ones that may go on (Running, or let
/// pass by the arbitrator).
enum class Counted : std::uint8_t { unfinished, arbitrated };

/// Kept up with every change of a job and of a pod that a job names, never by looking through all jobs: each
/// answer costs the same however many there are. Pods are known by namespace and name, as jobs name them; the
/// one that is asked about never counts. Belongs to the role's strand.
class JobCounts {
 public:
  using PodPtr = std::shared_ptr<const api::Pod>;

  /// A job is there, in this version. `let_pass`: counts as arbitrated though its annotation does not say so
  /// yet. `pod` is the present one of the name that it gives; nullptr: there is none.
  void put(const api::PodMigrationJob& job, bool let_pass, PodPtr pod);
  void remove(const std::string& job);
  /// The pod of a name is another version, or gone (nullptr). One that no job names is not remembered.
  void pod_changed(std::string_view ns, std::string_view name, PodPtr pod);

  /// Whether a job names the pod, by UID or by namespace and name.
  bool has_job(const api::Pod& pod, Counted which) const;
  /// The job is not the only one that counts for its pod.
  bool has_other(const api::PodMigrationJob& job, Counted which) const;
  std::size_t in_all(const api::Pod& but, Counted which) const;
  std::size_t of_node(std::string_view node, const api::Pod& but, Counted which) const;
  std::size_t of_namespace(std::string_view ns, const api::Pod& but, Counted which) const;
  /// The pods whose controller has this UID; a pod that is gone is none of them any more.
  std::vector<PodPtr> of_controller(std::string_view uid, const api::Pod& but, Counted which) const;

 private:
  struct Entry {
    PodPtr pod;
    std::string ns;
    std::array<std::uint32_t, 2> jobs{};  // by Counted
  };
  struct Job {
    std::string pod, uid;  // "NAMESPACE/NAME"; the UID that it names
    std::array<bool, 2> counts{};
  };
  struct Group {
    std::array<std::unordered_set<const Entry*>, 2> entries;  // by Counted
  };
  using Entries = std::unordered_map<std::string, Entry>;
  using Groups = std::unordered_map<std::string, Group>;

  void count(const Job& job, int by);
  /// The groups that an entry's pod belongs to, as far as it counts.
  void group(const Entry& entry, int by);
  void add_to(Groups& groups, std::string_view name, const Entry& entry, int by);
  const Entry* find(const api::Pod& pod) const;
  static std::uint32_t in(const Groups& groups, std::string_view name, Counted which);

  Entries entries_;
  std::unordered_map<std::string, Job> jobs_;
  std::unordered_map<std::string, std::array<std::uint32_t, 2>> uids_;
  std::unordered_map<std::string, std::array<std::uint32_t, 2>> namespaces_;
  std::array<std::uint32_t, 2> total_{};
  Groups nodes_, controllers_;
};

}  // namespace koord::descheduler::migration
