// QuotaBoard: what the engine's thread knows of quotas, for the controller on the event loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/plugins/elastic_quota/control/summary.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::elastic_quota {

/// Any thread. Of each quota the newest is kept, until it is taken: it is bounded by the number of quotas.
class QuotaBoard {
 public:
  /// By the quota's name; absent: it is gone.
  using News = std::map<std::string, std::optional<QuotaSummary>>;

  void put(News news);
  /// What was put since.
  News take();

  /// A pod that is to be evicted, because the quota uses more than it may.
  struct Revoked {
    std::shared_ptr<const api::Pod> pod;
    std::string quota;
  };
  /// Nothing is kept of it while nobody hears: it is of that moment.
  void revoke(std::vector<Revoked> pods);
  std::vector<Revoked> take_revoked();

  /// Called by put() and revoke(), on their thread, and at once if there is something; nullptr: nobody any
  /// more.
  void call(std::function<void()> told);
  bool is_heard();

 private:
  std::mutex mutex_;
  News news_;
  std::vector<Revoked> revoked_;
  std::function<void()> told_;
};

}  // namespace koord::scheduling::elastic_quota
