// QuotaBoard: what the engine's thread knows of quotas, for the controller on the event loop's.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/plugins/elastic_quota/control/summary.hpp"

namespace koord::scheduling::elastic_quota {

/// Any thread. Of each quota the newest is kept, until it is taken: it is bounded by the number of quotas.
class QuotaBoard {
 public:
  /// By the quota's name; absent: it is gone.
  using News = std::map<std::string, std::optional<QuotaSummary>>;

  void put(News news);
  /// What was put since.
  News take();
  /// Called by put(), on its thread, and at once if there is something; nullptr: nobody any more.
  void call(std::function<void()> told);

 private:
  std::mutex mutex_;
  News news_;
  std::function<void()> told_;
};

}  // namespace koord::scheduling::elastic_quota
