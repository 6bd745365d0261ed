// Facets: see facet.hpp.
#include "koord/scheduling/classes/facet.hpp"

#include <algorithm>
#include <numeric>

namespace koord::scheduling {

void Facet::drop() {
  values_ = {};
  notable_ = 0;
}

void Facet::update(const NodeTable& nodes, CacheMemory& memory, RowScratch& scratch) {
  memory.touch(*this);
  std::vector<Row>& rows = scratch.live;
  rows.clear();
  const std::uint64_t end = nodes.log_end();
  if (!kept()) {
    if (!memory.admit(*this, bytes(nodes.rows()))) return;
  } else if (cursor_ > nodes.newest_node_change()) {
    cursor_ = end;
    return;
  } else if (cursor_ >= nodes.log_begin() && version() == version_) {
    for (std::uint64_t n = cursor_; n < end; ++n)
      if (nodes.latest(n) && nodes.node_change(nodes.change(n)) >= cursor_) rows.push_back(nodes.change(n));
    if (values_.size() != nodes.rows()) memory.resize(*this, bytes(nodes.rows()));
  } else {
    drop();
    memory.resize(*this, bytes(nodes.rows()));
  }
  if (values_.empty()) {
    rows.resize(nodes.rows());
    std::iota(rows.begin(), rows.end(), 0);
  }
  values_.resize(nodes.rows(), 0);
  cursor_ = end;
  version_ = version();
  std::size_t there = 0;
  for (const Row row : rows) {
    notable_ -= values_[row] != 0;
    values_[row] = 0;
    if (nodes.node(row)) rows[there++] = row;
  }
  rows.resize(there);
  in_blocks(rows, [&](std::span<const Row> block) { evaluate(nodes, block, scratch); });
}

std::uint64_t Facet::version() const {
  return score_ == nullptr ? 0 : score_->score_version(scoring_.state.get());
}

void Facet::evaluate(const NodeTable& nodes, std::span<const Row> rows, RowScratch& scratch) {
  scratch.looked_at += rows.size();
  if (filter_ != nullptr) {
    scratch.verdicts.resize(rows.size());
    filter_->filter(filtering_.state.get(), nodes, rows, scratch.verdicts);
    for (std::size_t i = 0; i < rows.size(); ++i)
      values_[rows[i]] = static_cast<std::int32_t>(scratch.verdicts[i]);
  } else {
    scratch.scores.resize(rows.size());
    score_->score(scoring_.state.get(), nodes, rows, scratch.scores);
    for (std::size_t i = 0; i < rows.size(); ++i) values_[rows[i]] = scratch.scores[i];
  }
  for (const Row row : rows) notable_ += values_[row] != 0;
}

FacetRef::~FacetRef() {
  if (facet_ != nullptr) table_->release(*facet_);
}

template <class Prepare>
FacetRef FacetTable::find(const Profile& profile, PluginIndex index, bool score, const PodInfo& pod,
                          Prepare&& prepare) {
  signature_.clear();
  signature_.add(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&profile)));
  signature_.add(index * 2 + score);
  if (!profile.plugins[index].plugin->sign(pod, signature_)) return {};
  auto [it, added] = facets_.try_emplace(signature_.bytes());
  Facet& facet = it->second;
  if (added) {
    facet.key_ = &it->first;
    prepare(facet);
  } else if (facet.users_ == 0) {
    unlist(facet);
  }
  return {*this, facet};
}

FacetRef FacetTable::filter(const Profile& profile, const Profile::Filter& at, const PodInfo& pod) {
  return find(profile, at.index, false, pod, [&](Facet& facet) {
    facet.filter_ = at.local;
    facet.filtering_ = at.local->prepare_filter(pod);
  });
}

FacetRef FacetTable::score(const Profile& profile, const Profile::Score& at, const PodInfo& pod) {
  return find(profile, at.index, true, pod, [&](Facet& facet) {
    facet.score_ = at.local;
    facet.scoring_ = at.local->prepare_score(pod);
  });
}

void FacetTable::release(Facet& facet) {
  if (--facet.users_ != 0) return;
  facet.idle_ = idle_.insert(idle_.end(), &facet);
  idle_bytes_ += facet.key_->size();
  while (idle_.size() > kIdle || (idle_bytes_ > kIdleBytes && idle_.size() > 1)) {
    const std::string& oldest = *idle_.front()->key_;
    unlist(*idle_.front());
    facets_.erase(facets_.find(oldest));
  }
}

/// It is not idle any more.
void FacetTable::unlist(Facet& facet) {
  idle_.erase(facet.idle_);
  idle_bytes_ -= facet.key_->size();
}

}  // namespace koord::scheduling
