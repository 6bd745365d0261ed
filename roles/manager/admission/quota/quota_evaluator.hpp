// QuotaEvaluator: pods that ask for room in a quota as they are admitted (gate EnableQuotaAdmission), and the
// quota's annotation child-request, in which they are counted.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "admission/quota/quota_catalog.hpp"
#include "koord/async/event.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"

namespace koord::manager {

/// Pods of one quota are looked at together, and counted with one write; of different quotas side by side. A
/// write that met another is repeated on what is stored then, so that two replicas never count past the
/// limit. koord-scheduler counts anew what there is, which takes back what was counted for a pod that never
/// came. Belongs to the event loop's thread.
class QuotaEvaluator {
 public:
  struct Settings {
    int max_retries = 3;   // of a write, at least 3; more pods have more, up to this
    nanoseconds jitter{};  // before a repetition: [half of it, all of it)
    nanoseconds max_total_jitter = std::chrono::seconds(1);  // of one write's
  };
  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    std::shared_ptr<QuotaCatalog> catalog;
    Settings settings = {};
  };
  explicit QuotaEvaluator(Parts parts) : parts_(std::move(parts)) {}

  /// Why a pod that asks for `requests` has no room in that quota; empty: it has, and is counted, unless it
  /// is a `dry_run`. An error is that of the API server. The evaluator outlives the task.
  Task<Result<std::string>> evaluate(std::string ns, std::string name, api::ResourceList requests,
                                     bool dry_run);

 private:
  struct Waiter {
    api::ResourceList requests;
    bool dry_run = false;
    bool counted = false;  // by the write that is under way
    bool done = false;
    Result<std::string> outcome = std::string();
    Event changed;  // done, or nobody works on the queue
  };
  struct Queue {
    std::deque<std::shared_ptr<Waiter>> waiting;
    bool busy = false;
  };
  using Key = std::pair<std::string, std::string>;
  using Quota = std::shared_ptr<const api::ElasticQuota>;

  Task<Result<>> count(const Key& key, std::deque<std::shared_ptr<Waiter>>& batch);
  /// Decides all that are not done; how many are to be counted, and what is used then.
  std::size_t check(const api::ElasticQuota& quota, std::deque<std::shared_ptr<Waiter>>& batch,
                    api::ResourceList& used) const;
  Task<Result<>> write(const api::ElasticQuota& quota, const api::ResourceList& used);
  /// The newest that is known; null: there is none.
  Quota newest(const Key& key);

  Parts parts_;
  std::map<Key, Queue> queues_;
  std::map<Key, Quota> written_;  // what the API server answered, until the catalog has it
  std::minstd_rand random_{std::random_device{}()};
};

/// Attempts after the first of a write that counts so many pods: 3, and one more for each time that they
/// double, at most `most` (which counts as 3 at least).
int quota_write_retries(std::size_t pods, int most);

}  // namespace koord::manager
