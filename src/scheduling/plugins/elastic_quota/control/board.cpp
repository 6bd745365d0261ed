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

void QuotaBoard::revoke(std::vector<Revoked> pods) {
  const std::lock_guard lock(mutex_);
  if (!told_ || pods.empty()) return;
  for (Revoked& each : pods) revoked_.push_back(std::move(each));
  told_();
}

std::vector<QuotaBoard::Revoked> QuotaBoard::take_revoked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(revoked_, {});
}

bool QuotaBoard::is_heard() {
  const std::lock_guard lock(mutex_);
  return told_ != nullptr;
}

void QuotaBoard::call(std::function<void()> told) {
  const std::lock_guard lock(mutex_);
  revoked_.clear();
  told_ = std::move(told);
  if (told_ && !news_.empty()) told_();
}

}  // namespace koord::scheduling::elastic_quota
