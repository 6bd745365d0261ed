// Overlay: see overlay.hpp.
#include "koord/scheduling/classes/overlay.hpp"

#include <algorithm>

namespace koord::scheduling {

namespace {

bool has(std::span<const Row> rows, Row row) { return std::binary_search(rows.begin(), rows.end(), row); }

void each_once(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

}  // namespace

void Overlay::move_to(const SeenRows* seen, const NodeTable& nodes, bool all, std::vector<Row>& changed,
                      std::vector<Row>& to_see) {
  to_see.clear();
  const std::uint64_t key = seen != nullptr ? seen->key() : 0;
  if (!all && key != 0 && key == key_) return follow(*seen, nodes, changed, to_see);
  key_ = key;
  std::vector<Row> gone;
  compare(seen, nodes, gone, to_see);
  if (all) {
    to_see.assign(rows_.begin(), rows_.end());
  } else {
    std::ranges::copy_if(changed, std::back_inserter(to_see), [&](Row row) { return has(rows_, row); });
    changed.insert(changed.end(), gone.begin(), gone.end());
    each_once(to_see);
    each_once(changed);
  }
  if (!rows_.empty()) std::erase_if(changed, [&](Row row) { return has(rows_, row); });
}

/// Other rows are seen as before.
void Overlay::follow(const SeenRows& seen, const NodeTable& nodes, std::vector<Row>& changed,
                     std::vector<Row>& to_see) {
  bool others = false;  // which rows are seen otherwise
  std::erase_if(changed, [&](Row row) {
    const auto it = std::ranges::lower_bound(rows_, row);
    const bool was = it != rows_.end() && *it == row, is = nodes.node(row) && has(seen.rows(), row);
    others = others || was != is;
    if (!is) return false;
    if (was) versions_[static_cast<std::size_t>(it - rows_.begin())] = seen.version(row);
    to_see.push_back(row);
    return true;
  });
  if (!others) return;
  std::vector<Row> rows;
  std::vector<std::uint64_t> versions;
  std::size_t old = 0;
  for (const Row row : seen.rows()) {
    if (!nodes.node(row)) continue;
    while (old < rows_.size() && rows_[old] < row) ++old;
    rows.push_back(row);
    versions.push_back(old < rows_.size() && rows_[old] == row ? versions_[old] : seen.version(row));
  }
  rows_ = std::move(rows);
  versions_ = std::move(versions);
}

/// Row by row. `gone`: those that are seen as they are from now on; `to_see`: those that are seen in another
/// way.
void Overlay::compare(const SeenRows* seen, const NodeTable& nodes, std::vector<Row>& gone,
                      std::vector<Row>& to_see) {
  std::vector<Row> rows;
  std::vector<std::uint64_t> versions;
  std::size_t old = 0;
  const auto skip_to = [&](Row row) {
    for (; old < rows_.size() && rows_[old] < row; ++old) gone.push_back(rows_[old]);
  };
  if (seen != nullptr) {
    rows.reserve(seen->rows().size());
    versions.reserve(seen->rows().size());
    for (const Row row : seen->rows()) {
      if (!nodes.node(row)) continue;
      rows.push_back(row);
      versions.push_back(seen->version(row));
      skip_to(row);
      const bool was = old < rows_.size() && rows_[old] == row;
      if (!was || versions_[old] != versions.back()) to_see.push_back(row);
      if (was) ++old;
    }
  }
  skip_to(kNoRow);
  rows_ = std::move(rows);
  versions_ = std::move(versions);
}

}  // namespace koord::scheduling
