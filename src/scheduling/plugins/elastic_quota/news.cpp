// QuotaNews: see news.hpp.
#include "scheduling/plugins/elastic_quota/news.hpp"

#include <utility>

#include "scheduling/plugins/elastic_quota/summarize.hpp"

namespace koord::scheduling::elastic_quota {

QuotaNews::QuotaNews(const QuotaBook& book, std::shared_ptr<QuotaBoard> board)
    : book_(book), board_(std::move(board)) {}

std::optional<WallTime> QuotaNews::next_time() const {
  if (!begun_ || version_ == book_.version()) return std::nullopt;
  return looked_ + kEvery;
}

void QuotaNews::time_passed(WallTime now) {
  version_ = book_.version();
  looked_ = now;
  ++round_;
  QuotaBoard::News news;
  for (const auto& [tree_id, tree] : book_.trees())
    tree->each([&](QuotaId id) {
      // Every tree has a root; the one that has an object is the default tree's.
      if (id == QuotaTree::kRoot && !tree_id.empty()) return;
      const QuotaBook::Place place{tree.get(), id};
      const std::uint64_t print = fingerprint(tree_id, place);
      Told& told = told_[tree->name(id)];
      if (told.round == 0 || told.print != print) news[tree->name(id)] = summarize(book_, tree_id, place);
      told = {print, round_};
    });
  std::erase_if(told_, [&](const auto& each) {
    if (each.second.round == round_) return false;
    news[each.first] = std::nullopt;
    return true;
  });
  board_->put(std::move(news));
}

}  // namespace koord::scheduling::elastic_quota
