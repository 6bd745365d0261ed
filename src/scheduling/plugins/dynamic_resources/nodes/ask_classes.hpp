// AskClasses: on which rows claims can be had, kept for all claims that ask for the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/plugin/numa_hint_plugin.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling::dynamic_resources {

/// What was found on a row.
struct AskCell {
  std::uint64_t changes = 0;  // DeviceRows::changes() of then; 0: nothing was
  VerdictId verdict = kPass;
  std::int32_t score = 0;  // raw
};

/// On which memory nodes of a row's machine they can be had.
struct NumaCell {
  std::uint64_t changes = 0;  // as AskCell's
  NumaMask all = 0;           // the machine's memory nodes of then
  bool placed = false;        // it is known of some device on which it is
  /// The sets without a part that would do, fewer nodes first; they can be had on what contains one. None:
  /// nowhere, if `placed`.
  std::vector<NumaMask> least;
};

/// What several pods' claims ask for, alike to the letter but for their names.
class AskClass {
 public:
  bool prioritized = false;  // a request may be satisfied in several ways, of which some score better
  std::uint64_t used = 0;
  std::uint64_t seen = 0;                  // of DeviceRows::changed_since()
  Row unknown = 0;                         // every row before it that holds a node is known
  std::unordered_map<Row, NumaCell> numa;  // of rows that were asked about, where there is a policy

  /// By row, as far as it was asked.
  std::span<const AskCell> cells() const { return cells_; }
  void put(Row row, const AskCell& found, std::size_t rows) {
    if (row >= cells_.size()) cells_.resize(rows);
    refusing_ -= refuses(cells_[row]);
    cells_[row] = found;
    refusing_ += refuses(found);
  }
  /// Nothing is known of any row.
  void clear() {
    cells_.clear();
    numa.clear();
    refusing_ = 0;
    unknown = 0;
  }
  /// On how many rows the claims could not be had when they were looked at last.
  std::size_t refusing() const { return refusing_; }

 private:
  static std::size_t refuses(const AskCell& cell) { return cell.changes != 0 && cell.verdict != kPass; }

  std::vector<AskCell> cells_;
  std::size_t refusing_ = 0;
};

/// Of claims from one template all but the first are found here: only rows are searched on which something
/// has changed since. One thread.
class AskClasses {
 public:
  /// So many cells in all classes are kept, of 16 bytes each, and a NumaCell counts for eight; the classes
  /// longest unused go first.
  static constexpr std::size_t kMostCells = std::size_t{1} << 20;

  /// Of claims that have nothing yet, in order. Stays with who holds it when it is not kept any more.
  std::shared_ptr<AskClass> of(std::span<const api::ResourceClaim* const> claims);
  /// Classes of devices have changed.
  void clear() { classes_.clear(); }
  std::size_t size() const { return classes_.size(); }

 private:
  void make_room();

  std::unordered_map<std::string, std::shared_ptr<AskClass>> classes_;
  std::string key_;
  std::uint64_t uses_ = 0;
};

}  // namespace koord::scheduling::dynamic_resources
