// QuotaWaiters: which quotas refused pods, so that those are tried again when it is worth it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"

namespace koord::scheduling::elastic_quota {

/// One for all profiles, as the book is. Pods are refused with the quota's name as their key (RejectorKey),
/// and only pods of that key are asked again. Less use of a quota, or another object of it, is told at once;
/// that a quota may use more, because others ask for less or there is more in all, within kLookEvery.
class QuotaWaiters final : public QuotaListener {
 public:
  static constexpr nanoseconds kLookEvery = std::chrono::milliseconds(100);

  QuotaWaiters(const PluginContext& context, QuotaBook& book, bool by_runtime);

  /// A pod was refused by what the quota may use, or by its min.
  void refused(QuotaBook::Place place);
  void quota_changed(std::string_view name) override;
  void shares_changed() override { dirty_ = true; }

  // As a TimedPlugin's.
  std::optional<WallTime> next_time() const;
  void time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened);

 private:
  using Limits = std::vector<std::optional<std::int64_t>>;  // by resource; absent: no limit
  Limits limits(QuotaBook::Place place) const;

  QuotaBook& book_;
  CycleControl& cycle_;
  const std::string_view plugin_;
  const bool by_runtime_;
  /// By quota, the least that it might use when a pod was refused.
  std::map<std::string, Limits, std::less<>> waiting_;
  bool dirty_ = false;
  WallTime looked_{};
};

}  // namespace koord::scheduling::elastic_quota
