// RequiredState: see required.hpp.
#include "scheduling/plugins/inter_pod_affinity/required.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling::inter_pod_affinity {

bool selects(const PodSelector& selector, const LabelSet& pod) {
  return std::any_of(pod.selected().begin(), pod.selected().end(),
                     [&](const LabelSet::Selected& s) { return s.by == &selector; });
}

RequiredState::RequiredState(TermTable& table, std::shared_ptr<const AffinityTerms> terms)
    : table_(table), terms_(std::move(terms)) {
  if (!terms_) return;
  const AffinityTerms::Wanted& wanted = terms_->wanted();
  for (const AffinityTerms::Part& part : wanted.affinity) {
    own_.push_back({part.counted, kNobodyThere, key_of(*part.counted)});
    keys_[own_.back().key].wanted = true;
  }
  for (const AffinityTerms::Part& part : wanted.anti_affinity) {
    own_.push_back({part.counted, kDisliked, key_of(*part.counted)});
    ++keys_[own_.back().key].sources[0];
  }
  own_keys_ = keys_.size();
}

std::uint32_t RequiredState::key_of(const Counted& counted) {
  const auto [it, added] = key_index_.try_emplace(&*counted.key, static_cast<std::uint32_t>(keys_.size()));
  if (added) keys_.push_back({counted.key, false, {}, {}});
  return it->second;
}

bool RequiredState::update(const LabelSet& pod) {
  if (pod_version_ != pod.version() || table_version_ != table_.version()) find_repelling(pod);
  built_ = built_ && imagined_.empty();
  for (Key& key : keys_)
    if (key.flags.size() < key.key->id_limit()) key.flags.resize(key.key->id_limit(), key.unmet());
  for (std::vector<Source>* sources : {&own_, &repelling_})
    for (Source& source : *sources) built_ = built_ && catch_up(source);
  if (!built_) rebuild();
  near_ = 0;
  for (const Source& source : own_)
    if (source.flag == kNobodyThere) near_ += source.counted->counts.domains();
  return !own_.empty() || std::any_of(repelling_.begin(), repelling_.end(),
                                      [](const Source& s) { return s.counted->counts.domains() > 0; });
}

/// Whose terms select a pod with these labels: mostly the same as for the class's pod before.
void RequiredState::find_repelling(const LabelSet& pod) {
  pod_version_ = pod.version();
  table_version_ = table_.version();
  wants_itself_ = terms_ && terms_->all() && selects(*terms_->all(), pod);
  std::vector<Counted*> found;
  for (const LabelSet::Selected& selected : pod.selected())
    for (Counted* counted : table_.of_selector(*selected.by))
      if (counted->of == Counts::repelling) found.push_back(counted);
  std::sort(found.begin(), found.end(),
            [](const Counted* a, const Counted* b) { return a->serial < b->serial; });
  if (std::equal(found.begin(), found.end(), repelling_.begin(), repelling_.end(),
                 [](const Counted* counted, const Source& s) { return &*s.counted == counted; }))
    return;
  // Until the others are held: what is found may be held by these alone.
  const std::vector<Source> before = std::exchange(repelling_, {});
  for (; keys_.size() > own_keys_; keys_.pop_back()) key_index_.erase(&*keys_.back().key);
  for (Key& key : keys_) key.sources[1] = 0;
  for (Counted* counted : found) add_repelling(table_.hold(*counted));
  built_ = false;
}

void RequiredState::add_repelling(const CountedRef& counted) {
  repelling_.push_back({counted, kRepelled, key_of(*counted)});
  ++keys_[repelling_.back().key].sources[1];
}

void RequiredState::rebuild() {
  for (Key& key : keys_) {
    key.flags.assign(key.key->id_limit(), key.unmet());
    for (std::size_t i = 0; i < key.several.size(); ++i) {
      key.several[i].clear();
      if (key.sources[i] > 1) key.several[i].resize(key.flags.size());
    }
  }
  for (std::vector<Source>* sources : {&own_, &repelling_})
    for (Source& source : *sources) {
      source.counted->counts.each([&](DomainId domain, std::int64_t) { apply(source, domain, 1); });
      source.read = source.counted->counts.log_end();
    }
  imagined_.clear();
  built_ = true;
}

/// False: what changed is not known any more.
bool RequiredState::catch_up(Source& source) {
  const DomainCounts& counts = source.counted->counts;
  if (source.read < counts.log_begin()) return false;
  for (; source.read < counts.log_end(); ++source.read) {
    const DomainCounts::Change& change = counts.change(source.read);
    if (change.crossing != 0) apply(source, change.domain, change.crossing);
  }
  return true;
}

void RequiredState::apply(const Source& source, DomainId domain, std::int32_t crossing) {
  Key& key = keys_[source.key];
  Flags& flags = key.flags[domain];
  bool set = crossing > 0;
  if (source.flag == kNobodyThere) {
    set = !set;
  } else if (const std::size_t i = source.flag == kRepelled; key.sources[i] > 1) {
    std::vector<std::uint32_t>& several = key.several[i];
    if (several.size() < key.flags.size()) several.resize(key.flags.size());
    several[domain] += static_cast<std::uint32_t>(crossing);
    set = several[domain] > 0;
  }
  flags = set ? flags | source.flag : flags & ~source.flag;
}

void RequiredState::judge(std::span<const Row> rows, const Verdicts& verdicts, const NodeTable& nodes,
                          std::span<VerdictId> out) const {
  if (rows.empty()) return;
  // A pod may name any number of keys; those that no node has say the same of all rows.
  Flags everywhere = 0;
  judged_.clear();
  for (const Key& key : keys_) {
    if (key.key->nodes() != 0) {
      judged_.push_back(&key);
    } else if (key.wanted) {
      everywhere = kNoLabel;
    }
  }
  if (judged_.empty()) return std::fill(out.begin(), out.end(), verdicts[everywhere]);
  const std::size_t n = rows.size();
  const Row start = rows.front();
  const bool run = rows.back() - start + 1 == n;
  const auto each = [&](const Key& key, auto&& put) {
    const Flags* flags = key.flags.data();
    if (run && key.key->by_row() && key.key->nodes() == nodes.nodes()) {
      for (std::size_t i = 0; i < n; ++i) put(i, flags[start + i]);
      return;
    }
    const DomainId* column = key.key->column().data();
    const Flags absent = key.wanted ? kNoLabel : 0;
    const auto of = [&](DomainId domain) { return domain == kNoDomain ? absent : flags[domain]; };
    if (run) {
      for (std::size_t i = 0; i < n; ++i) put(i, of(column[start + i]));
    } else {
      for (std::size_t i = 0; i < n; ++i) put(i, of(column[rows[i]]));
    }
  };
  if (judged_.size() == 1)
    return each(*judged_[0], [&](std::size_t i, Flags f) { out[i] = verdicts[f | everywhere]; });
  each(*judged_[0], [&](std::size_t i, Flags f) { out[i] = f | everywhere; });
  for (std::size_t k = 1; k + 1 < judged_.size(); ++k)
    each(*judged_[k], [&](std::size_t i, Flags f) { out[i] |= f; });
  each(*judged_.back(), [&](std::size_t i, Flags f) { out[i] = verdicts[out[i] | f]; });
}

void RequiredState::imagine(const LabelSet& pod, const PodInfo& other, Row row, std::int64_t by) {
  const LabelSet& others = table_.selectors().label_set(other);
  for (const Source& source : own_)
    if (selects(*source.counted->selector, others)) imagine(source, row, by);
  const auto terms = table_.of(other);
  if (!terms) return;
  for (const AffinityTerms::Part& part : terms->carried()) {
    if (part.counted->of != Counts::repelling || !selects(*part.counted->selector, pod)) continue;
    const auto known = std::find_if(repelling_.begin(), repelling_.end(),
                                    [&](const Source& s) { return &*s.counted == &*part.counted; });
    if (known != repelling_.end()) imagine(*known, row, by * part.amount);
  }
}

void RequiredState::imagine(const Source& source, Row row, std::int64_t by) {
  const DomainId domain = source.counted->key->domain(row);
  if (domain == kNoDomain) return;
  auto it = std::find_if(imagined_.begin(), imagined_.end(),
                         [&](const Imagined& i) { return i.source == &source && i.domain == domain; });
  if (it == imagined_.end()) it = imagined_.insert(it, {&source, domain, 0});
  const std::int64_t there = source.counted->counts[domain];
  const bool before = there + it->by > 0;
  it->by += by;
  const bool now = there + it->by > 0;
  if (it->by == 0) imagined_.erase(it);
  if (now == before) return;
  const std::int32_t crossing = now ? 1 : -1;
  apply(source, domain, crossing);
  if (source.flag == kNobodyThere) near_ += static_cast<std::uint32_t>(crossing);
}

std::size_t RequiredState::bytes() const {
  std::size_t all = sizeof *this + keys_.capacity() * sizeof(Key) +
                    (own_.capacity() + repelling_.capacity()) * sizeof(Source);
  for (const Key& key : keys_) {
    all += key.flags.capacity() * sizeof(Flags);
    for (const auto& several : key.several) all += several.capacity() * sizeof(several[0]);
  }
  return all;
}

}  // namespace koord::scheduling::inter_pod_affinity
