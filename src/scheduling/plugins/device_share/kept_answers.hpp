// KeptAnswers: what a row's devices come to for those who ask for the same ones, once for all their classes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"

namespace koord::scheduling::device_share {

/// A number for each row, for as long as nothing of the row has changed (NodeTable::changes()).
class KeptByRow {
 public:
  /// nullptr: nothing is known of the row as it is.
  const std::uint32_t* find(const NodeTable& nodes, Row row) const {
    if (row >= rows_.size()) return nullptr;
    const Kept& kept = rows_[row];
    return kept.changes == stamp(nodes, row) ? &kept.number : nullptr;
  }
  void put(const NodeTable& nodes, Row row, std::uint32_t number) {
    if (row >= rows_.size()) rows_.resize(nodes.rows());
    rows_[row] = {stamp(nodes, row), number};
  }
  std::size_t bytes() const { return rows_.capacity() * sizeof(Kept); }

 private:
  struct Kept {
    std::uint32_t changes = 0;
    std::uint32_t number = 0;
  };
  /// Never 0. A row that has changed 2^31 times in between is taken for one that has not: nobody waits so
  /// long.
  static std::uint32_t stamp(const NodeTable& nodes, Row row) {
    return static_cast<std::uint32_t>(nodes.changes(row) << 1U) | 1U;
  }

  std::vector<Kept> rows_;
};

struct KeptAnswers {
  KeptByRow verdicts, scores;
  std::size_t bytes() const { return verdicts.bytes() + scores.bytes(); }
};

/// By all that the answers follow from besides rows (a signature). They go with the last class that has them,
/// but those that were asked for last stay: where no two pods are alike a class is gone before the next one
/// that asks for the same comes. Belongs to the engine's thread.
class KnownAnswers {
 public:
  std::shared_ptr<KeptAnswers> of(const std::string& signature) {
    std::weak_ptr<KeptAnswers>& known = known_[signature];
    std::shared_ptr<KeptAnswers> answers = known.lock();
    if (answers != nullptr) {
      stay(answers);
      return answers;
    }
    known = answers = std::make_shared<KeptAnswers>();
    stay(answers);
    if (known_.size() >= sweep_at_) {
      std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
      sweep_at_ = 2 * known_.size() + 64;
    }
    return answers;
  }

 private:
  static constexpr std::size_t kStay = 8;

  void stay(std::shared_ptr<KeptAnswers> answers) {
    auto it = std::ranges::find(latest_, answers);
    if (it == latest_.end()) *--it = std::move(answers);
    std::rotate(latest_.begin(), it, it + 1);
  }

  std::unordered_map<std::string, std::weak_ptr<KeptAnswers>> known_;
  std::array<std::shared_ptr<KeptAnswers>, kStay> latest_;  // the last one first
  std::size_t sweep_at_ = 64;
};

}  // namespace koord::scheduling::device_share
