// QuotaNews: which quotas have changed, once a second.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "koord/base/clock.hpp"
#include "scheduling/plugins/elastic_quota/book.hpp"
#include "scheduling/plugins/elastic_quota/control/board.hpp"

namespace koord::scheduling::elastic_quota {

/// On the engine's thread. Nothing is looked at while the book stays as it is; after a change all quotas are,
/// and those go to the board that are not as they were told before.
class QuotaNews {
 public:
  static constexpr nanoseconds kEvery = std::chrono::seconds(1);

  QuotaNews(const QuotaBook& book, std::shared_ptr<QuotaBoard> board);

  /// From now on: what is there is the whole picture.
  void begin() { begun_ = true; }

  // As a TimedPlugin's.
  std::optional<WallTime> next_time() const;
  void time_passed(WallTime now);

 private:
  struct Told {
    std::uint64_t print = 0, round = 0;
  };

  const QuotaBook& book_;
  const std::shared_ptr<QuotaBoard> board_;
  bool begun_ = false;
  std::optional<std::uint64_t> version_;  // of the book, when it was looked at
  WallTime looked_{};
  std::uint64_t round_ = 0;
  std::unordered_map<std::string, Told> told_;  // by name
};

}  // namespace koord::scheduling::elastic_quota
