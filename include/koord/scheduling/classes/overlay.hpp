// Overlay: the rows that a class sees otherwise than they are, from cycle to cycle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// How the pod of one cycle sees rows (RowDeltaPlugin, of all plugins together).
class SeenRows {
 public:
  virtual ~SeenRows() = default;
  /// Ascending, each once, maybe without a node.
  virtual std::span<const Row> rows() const = 0;
  /// See RowDeltaPlugin::delta_key().
  virtual std::uint64_t key() const = 0;
  /// Of one of these rows; what look() says holds while this, and the row, are the same.
  virtual std::uint64_t version(Row row) const = 0;
  /// What the filters say of it; if they pass it, its raw scores are appended to `raws`.
  virtual VerdictId look(Row row, std::vector<std::int32_t>& raws) = 0;
};

/// Which rows have been seen otherwise, and by which of their versions: 12 bytes for each of them.
class Overlay {
 public:
  bool empty() const { return rows_.empty(); }
  /// Ascending; they hold nodes.
  std::span<const Row> rows() const { return rows_; }
  /// From now on `seen` (nullptr: nothing) is what is seen otherwise. `changed` are the rows that have
  /// changed since the last call, each once: left there are those that are to be judged as they are, with the
  /// rows that are not seen otherwise any more; `to_see` become those that are to be looked at.
  /// `all`: `changed` are all rows.
  void move_to(const SeenRows* seen, const NodeTable& nodes, bool all, std::vector<Row>& changed,
               std::vector<Row>& to_see);
  std::size_t bytes() const {
    return rows_.capacity() * sizeof rows_[0] + versions_.capacity() * sizeof versions_[0];
  }

 private:
  void follow(const SeenRows& seen, const NodeTable& nodes, std::vector<Row>& changed,
              std::vector<Row>& to_see);
  void compare(const SeenRows* seen, const NodeTable& nodes, std::vector<Row>& gone,
               std::vector<Row>& to_see);

  std::vector<Row> rows_;
  std::vector<std::uint64_t> versions_;  // of each
  std::uint64_t key_ = 0;
};

}  // namespace koord::scheduling
