// Facets: what follows from the nodes' objects alone, once for all classes that ask the same of nodes.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/scheduling/classes/cache_memory.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

/// Buffers that all classes and facets of an engine share, so that an update allocates nothing.
struct RowScratch {
  std::vector<Row> rows, live, passing;
  std::vector<VerdictId> verdicts;
  std::vector<std::int32_t> scores, sums;
  /// Rows with deltas that are looked at: which, and the raw scores of those of them that pass.
  std::vector<Row> overlaid;
  std::vector<std::int32_t> raws;
  /// If there is a clock, the time that ranking took is added up here.
  const Clock* clock = nullptr;
  nanoseconds scoring{0};
  /// Rows that were judged or scored, by classes and by facets; a row counts once in each.
  std::uint64_t looked_at = 0;
};

/// So many rows are looked at together: what is computed on the way stays in the processor's first cache.
constexpr std::size_t kRowsAtOnce = 512;
template <class F>
void in_blocks(std::span<const Row> rows, F&& f) {
  for (std::size_t at = 0; at < rows.size(); at += kRowsAtOnce)
    f(rows.subspan(at, std::min(kRowsAtOnce, rows.size() - at)));
}

/// One plugin's answer to one question: its verdicts, or its raw scores, of all nodes. What the plugin
/// prepared is there always; the answers are a memory that may be dropped: the plugin is then asked anew.
class Facet final : public CacheMemory::Entry {
 public:
  /// Up to date with the node table if it is worth keeping; kept() says so.
  void update(const NodeTable& nodes, CacheMemory& memory, RowScratch& scratch);
  // Of what is kept, as of the last update().
  /// No node is rejected, or all raw scores are 0.
  bool all_zero() const { return notable_ == 0; }
  std::int32_t operator[](Row row) const { return values_[row]; }

  /// As asked of the plugin; the one that this facet is of.
  const FilterPlugin::Prepared& filtering() const { return filtering_; }
  const ScorePlugin::Prepared& scoring() const { return scoring_; }

 private:
  friend class FacetTable;
  friend class FacetRef;
  void drop() override;
  std::uint64_t version() const;
  void evaluate(const NodeTable& nodes, std::span<const Row> rows, RowScratch& scratch);
  std::size_t bytes(std::size_t rows) const { return sizeof *this + rows * sizeof(std::int32_t); }

  FilterPlugin* filter_ = nullptr;  // this or
  ScorePlugin* score_ = nullptr;    // that
  FilterPlugin::Prepared filtering_;
  ScorePlugin::Prepared scoring_;
  std::vector<std::int32_t> values_;  // verdicts or raw scores by row; 0 for rows without a node
  std::uint64_t cursor_ = 0, version_ = 0;
  std::uint32_t notable_ = 0;  // rows whose value is not 0

  const std::string* key_ = nullptr;
  std::uint32_t users_ = 0;
  std::list<Facet*>::iterator idle_;
};

class FacetTable;

/// Holds a facet for as long as a class asks it; empty: the class asks the plugin on its own.
class FacetRef {
 public:
  FacetRef() = default;
  FacetRef(FacetTable& table, Facet& facet) : table_(&table), facet_(&facet) { ++facet.users_; }
  FacetRef(FacetRef&& other) noexcept : table_(other.table_), facet_(std::exchange(other.facet_, nullptr)) {}
  FacetRef& operator=(FacetRef&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(facet_, other.facet_);
    return *this;
  }
  ~FacetRef();
  explicit operator bool() const { return facet_ != nullptr; }
  Facet* operator->() const { return facet_; }
  Facet& operator*() const { return *facet_; }

 private:
  FacetTable* table_ = nullptr;
  Facet* facet_ = nullptr;
};

/// Facets by plugin and by what it reads of the pod. Those that no class asks are remembered by age.
class FacetTable {
 public:
  /// Empty if the plugin cannot sign the pod.
  FacetRef filter(const Profile& profile, const Profile::Filter& at, const PodInfo& pod);
  FacetRef score(const Profile& profile, const Profile::Score& at, const PodInfo& pod);
  std::size_t size() const { return facets_.size(); }

 private:
  friend FacetRef;
  // What is remembered without a class, and how long their keys may be together: prepared selectors are as
  // large as what was written.
  static constexpr std::size_t kIdle = 1024, kIdleBytes = std::size_t{1} << 20;
  void unlist(Facet& facet);
  template <class Prepare>
  FacetRef find(const Profile& profile, PluginIndex index, bool score, const PodInfo& pod, Prepare&& prepare);
  void release(Facet& facet);

  std::unordered_map<std::string, Facet> facets_;
  std::list<Facet*> idle_;  // the longest unused first
  std::size_t idle_bytes_ = 0;
  Signature signature_;  // reused
};

}  // namespace koord::scheduling
