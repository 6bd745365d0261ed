// QuotaBoard: see board.hpp.
#include "scheduling/plugins/elastic_quota/control/board.hpp"

#include <utility>

namespace koord::scheduling::elastic_quota {

void QuotaBoard::put(News news) {
  if (news.empty()) return;
  const std::lock_guard lock(mutex_);
  for (auto& [name, summary] : news) news_.insert_or_assign(name, std::move(summary));
  if (told_) told_();
}

QuotaBoard::News QuotaBoard::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void QuotaBoard::call(std::function<void()> told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  if (told_ && !news_.empty()) told_();
}

}  // namespace koord::scheduling::elastic_quota
