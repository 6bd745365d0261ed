// Jobs: pods until enough of them have succeeded, or too many failed.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/controllers/work_queue.hpp"
#include "sandbox/controllers/workloads.hpp"

namespace koord::sandbox {

/// The Job controller: completions, parallelism, indexes, backoffLimit with its pauses (10 s, doubled up to 6
/// minutes), activeDeadlineSeconds, suspend, ttlSecondsAfterFinished. A pod that is deleted before it ended
/// is replaced and counts for nothing; no pod failure policies, no backoff per index.
class Jobs final : public Observer {
 public:
  explicit Jobs(Verbs& verbs, Workloads::Create create = {});
  ~Jobs() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Key {
    std::string ns, name;
    auto operator<=>(const Key&) const = default;
  };
  /// What is known of a job's pods, by its uid; a pod that ended counts although it is deleted.
  struct JobState {
    std::set<std::string> pods;               // names
    std::set<std::string> succeeded, failed;  // uids
    std::set<std::int64_t> done;              // indexes
    WallTime last_failure{};
    int under_way = 0;              // creations that have not been answered
    std::set<std::int64_t> making;  // their indexes
    int refused = 0;                // in a row
    WallTime not_before{};
  };
  struct Counts {
    std::int64_t active = 0, ready = 0;
    std::vector<ObjectPtr> pods;     // active ones
    std::set<std::int64_t> indexes;  // of them
  };

  void pod_changed(const Change& change);
  void sync(const Key& key);
  void make_pods(const Object& job, const json::Value& doc, JobState& state, const Counts& counts);
  void make_pod(const Object& job, const json::Value& doc, std::optional<std::int64_t> index);
  Counts count(const Key& key, const JobState& state) const;
  void write_status(const Object& job, const json::Value& before, const JobState& state, const Counts& counts,
                    std::string_view finished, std::string_view reason, std::string_view message);

  Verbs& verbs_;
  const Kind &pods_, &jobs_;
  const Workloads::Create create_;
  std::map<std::string, JobState> states_;
  WorkQueue<Key> queue_;
};

}  // namespace koord::sandbox
