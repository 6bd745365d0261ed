// Pods by row and by domain: see counts.hpp.
#include "scheduling/plugins/pod_topology_spread/counts.hpp"

#include <algorithm>
#include <bit>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"

namespace koord::scheduling::pod_topology_spread {

namespace {

/// What is not read keeps so many bytes a node, of each kind of counts.
constexpr std::size_t kBytesPerNode = 512, kBytesAtLeast = std::size_t{1} << 18;

/// Grows in steps, so that rows and domains that come one by one cost little.
template <class T>
T& reach(std::vector<T>& list, std::size_t index, T fill) {
  if (index >= list.size()) list.resize(std::bit_ceil(std::max<std::size_t>(index + 1, 8)), fill);
  return list[index];
}

}  // namespace

// RowCounts

RowCounts::RowCounts(PodSelectorRef selector) : selector_(std::move(selector)) {
  selector_->each_row([&](Row row, PodCount pods) { selection_changed(*selector_, row, pods); });
  selector_->observe(*this);
}

std::span<const std::uint32_t> RowCounts::column(std::size_t rows) {
  if (!counts_.empty() && rows > counts_.size()) reach(counts_, rows - 1, 0u);
  return counts_;
}

void RowCounts::selection_changed(const PodSelector&, Row row, PodCount by) {
  const std::int32_t alive = by.all - by.terminating;
  if (alive == 0) return;
  reach(counts_, row, 0u) += static_cast<std::uint32_t>(alive);
  for (DomainCounts* reader : readers_) reader->counted(row, alive);
}

// Inclusion

Inclusion::Inclusion(const NodeTable& nodes, Policy policy) : policy_(std::move(policy)) {
  if (trivial()) return;
  if (reads_nodes()) {
    admitted_.resize(nodes.rows());
    for (Row row = 0; row < nodes.rows(); ++row)
      admitted_[row] = nodes.node(row) != nullptr && admits(*nodes.node(row));
  }
  for (Row row = 0; row < nodes.rows(); ++row)
    if (nodes.node(row)) check(row);
  for (const TopologyRef& key : policy_.keys) key->observe(*this);
}

Inclusion::~Inclusion() {
  for (const TopologyRef& key : policy_.keys) key->forget(*this);
}

std::size_t Inclusion::bytes() const {
  return sizeof *this + policy_.keys.capacity() * sizeof policy_.keys[0] +
         (admitted_.capacity() + included_.capacity()) / 8;
}

bool Inclusion::admits(const api::Node& node) const {
  if (policy_.affinity && !policy_.affinity->matches(node)) return false;
  return !policy_.tolerating ||
         api::untolerated(node.spec.taints, policy_.tolerating->spec.tolerations) == nullptr;
}

void Inclusion::node_changed(Row row, const api::Node* now) {
  if (!reads_nodes()) return;
  const bool admitted = now != nullptr && admits(*now);
  if (row >= admitted_.size()) admitted_.resize(row + 1);
  admitted_[row] = admitted;
  check(row);
}

void Inclusion::domain_changed(const TopologyKey&, Row row, DomainId, DomainId) { check(row); }

void Inclusion::check(Row row) {
  const bool now = admits(row) && std::all_of(policy_.keys.begin(), policy_.keys.end(),
                                              [&](const auto& key) { return key->domain(row) != kNoDomain; });
  if (now == includes(row)) return;
  if (row >= included_.size()) included_.resize(row + 1);
  included_[row] = now;
  for (Placement* reader : readers_) reader->place(row);
}

// Placement

Placement::Placement(const NodeTable& nodes, TopologyRef key, Ref<Inclusion> inclusion)
    : key_(std::move(key)), inclusion_(std::move(inclusion)), whole_(inclusion_->trivial()) {
  for (Row row = 0; row < nodes.rows() && key_->domains() != 0; ++row)
    if (!whole_) {
      place(row);
    } else if (const DomainId domain = key_->domain(row); domain != kNoDomain) {
      move(row, kNoDomain, domain);
    }
  key_->observe(*this);
  inclusion_->readers_.push_back(this);
}

Placement::~Placement() {
  key_->forget(*this);
  std::erase(inclusion_->readers_, this);
}

std::size_t Placement::bytes() const {
  return sizeof *this + places_.capacity() * sizeof places_[0] + nodes_.capacity() * sizeof nodes_[0];
}

void Placement::domain_changed(const TopologyKey&, Row row, DomainId from, DomainId to) {
  if (whole_) {
    move(row, from, to);
  } else {
    place(row);
  }
}

void Placement::place(Row row) {
  const DomainId from = of(row), to = inclusion_->includes(row) ? key_->domain(row) : kNoDomain;
  if (from == to) return;
  reach(places_, row, kNoDomain) = to;
  move(row, from, to);
}

void Placement::move(Row row, DomainId from, DomainId to) {
  if (from != kNoDomain) domains_ -= --nodes_[from] == 0;
  if (to != kNoDomain) domains_ += ++reach(nodes_, to, 0u) == 1;
  for (DomainCounts* reader : readers_) reader->moved(row, from, to);
}

// DomainCounts

DomainCounts::DomainCounts(Ref<RowCounts> rows, Ref<Placement> placement)
    : rows_(std::move(rows)), placement_(std::move(placement)) {
  counts_.resize(placement_->nodes_.size(), kAbsent);
  for (DomainId domain = 0; domain < counts_.size(); ++domain)
    if (placement_->nodes_[domain] != 0) counts_[domain] = 0;
  for (Row row = 0; row < rows_->counts_.size(); ++row)
    if (rows_->counts_[row] != 0)
      if (const DomainId domain = placement_->of(row); domain != kNoDomain)
        counts_[domain] += rows_->counts_[row];
  rows_->readers_.push_back(this);
  placement_->readers_.push_back(this);
}

DomainCounts::~DomainCounts() {
  std::erase(rows_->readers_, this);
  std::erase(placement_->readers_, this);
}

void DomainCounts::counted(Row row, std::int32_t by) {
  const DomainId domain = placement_->of(row);
  if (domain != kNoDomain) set(domain, counts_[domain] + static_cast<std::uint32_t>(by));
}

void DomainCounts::moved(Row row, DomainId from, DomainId to) {
  const std::uint32_t pods = (*rows_)[row];
  if (from != kNoDomain) set(from, placement_->nodes_[from] == 0 ? kAbsent : counts_[from] - pods);
  if (to == kNoDomain) return;
  const std::uint32_t before = reach(counts_, to, kAbsent);
  set(to, (before == kAbsent ? 0 : before) + pods);
}

void DomainCounts::set(DomainId domain, std::uint32_t count) {
  const std::uint32_t before = std::exchange(counts_[domain], count);
  if (before == count) return;
  next_known_ = false;
  if (!least_known_) return;
  if (before == least_ && before != kAbsent && --domains_with_least_ == 0) least_known_ = false;
  if (count == kAbsent) return;
  if (count < least_) {
    least_ = count;
    domains_with_least_ = 1;
    least_known_ = true;
  } else if (count == least_) {
    ++domains_with_least_;
  }
}

std::span<const std::uint32_t> DomainCounts::column() {
  if (const DomainId limit = placement_->key_->id_limit(); limit > counts_.size())
    reach(counts_, limit - 1, kAbsent);
  return counts_;
}

std::uint32_t DomainCounts::least() const {
  if (least_known_) return least_;
  std::uint32_t least = kAbsent, with = 0;
  for (const std::uint32_t count : counts_) least = std::min(least, count);
  for (const std::uint32_t count : counts_) with += count == least;
  least_ = least;
  domains_with_least_ = with;
  least_known_ = true;
  return least;
}

std::uint32_t DomainCounts::least_but(DomainId domain) const {
  if ((*this)[domain] != least() || domains_with_least_ > 1) return least_;
  if (!next_known_) {
    next_ = kAbsent;
    for (const std::uint32_t count : counts_)
      if (count != least_) next_ = std::min(next_, count);
    next_known_ = true;
  }
  return next_;
}

// SpreadCounts

std::size_t SpreadCounts::limit() const { return std::max(kBytesAtLeast, kBytesPerNode * nodes_.nodes()); }

Ref<RowCounts> SpreadCounts::rows(const PodSelectorRef& selector) {
  Signature key;
  key.add(std::int64_t{selector->id()});
  rows_.limit(limit());
  return rows_.find(key.bytes(), selector);
}

Ref<Inclusion> SpreadCounts::inclusion(std::string_view text, Inclusion::Policy policy) {
  inclusions_.limit(limit());
  return inclusions_.find(text, nodes_, std::move(policy));
}

Ref<DomainCounts> SpreadCounts::domains(const PodSelectorRef& selector, const TopologyRef& key,
                                        const Ref<Inclusion>& inclusion) {
  // What is held stays where it is: its address is as good as its text.
  const auto address = [](const void* held) {
    return static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(held));
  };
  Signature where, of;
  where.add(address(&*key));
  where.add(address(&*inclusion));
  placements_.limit(limit());
  domains_.limit(limit());
  Ref<Placement> placement = placements_.find(where.bytes(), nodes_, key, inclusion);
  of.add(std::int64_t{selector->id()});
  of.add(address(&*placement));
  return domains_.find(of.bytes(), rows(selector), std::move(placement));
}

void SpreadCounts::node_changed(Row row, const api::Node*, const api::Node* now) {
  inclusions_.each([&](Inclusion& inclusion) { inclusion.node_changed(row, now); });
}

}  // namespace koord::scheduling::pod_topology_spread
