// OverUse: quotas that use more than they may, and whose pods are to go for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/control/board.hpp"

namespace koord::scheduling::elastic_quota {

/// A pod that uses some of a quota.
struct Spender {
  Amounts requests;
  bool may_go = true;   // it can be preempted
  bool leaves = false;  // it is being deleted: what it has counts no more
};

/// Which of the pods, least important ones first, have to go so that the others use no more than the limits:
/// from the lowest up as many as are too many, and of these again all that fit, from the highest down. All
/// that may go, where even that is not enough. By their places, in the order in which they were found not to
/// fit. Of a resource without a limit nothing is too much. As Koordinator's getToRevokePodList, but for pods
/// that leave.
std::vector<std::size_t> too_many(std::span<const Spender> pods,
                                  std::span<const std::optional<std::int64_t>> limits);

/// On the engine's thread, while the board is heard. A quota whose pods use more than it may (what it has
/// lent is wanted back, or there is less in all) for longer than `delay` loses pods; the root and the
/// built-in ones never do.
class OverUse {
 public:
  struct Options {
    nanoseconds delay{};  // of ElasticQuotaArgs: delayEvictTime
    nanoseconds every{};  // revokePodInterval; not zero
  };
  OverUse(const QuotaBook& book, Options options, std::shared_ptr<QuotaBoard> board);

  // As a TimedPlugin's.
  WallTime next_time() const { return looked_ + options_.every; }
  void time_passed(WallTime now);

 private:
  void look(WallTime now);
  void revoke(const std::string& quota);

  const QuotaBook& book_;
  const Options options_;
  const std::shared_ptr<QuotaBoard> board_;
  std::optional<std::uint64_t> version_;  // of the book, when all quotas were looked at
  WallTime looked_{};
  std::map<std::string, WallTime> over_;  // by quota: since when
};

}  // namespace koord::scheduling::elastic_quota
