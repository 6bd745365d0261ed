// PreferredState: see preferred.hpp.
#include "scheduling/plugins/inter_pod_affinity/preferred.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace koord::scheduling::inter_pod_affinity {

PreferredState::PreferredState(TermTable& table, std::shared_ptr<const AffinityTerms> terms,
                               std::int64_t hard_weight)
    : table_(table), terms_(std::move(terms)), hard_weight_(hard_weight) {
  if (!terms_) return;
  for (const AffinityTerms::Part& part : terms_->wanted().preferred)
    own_.push_back({part.counted, part.amount, key_of(*part.counted)});
  own_keys_ = keys_.size();
}

std::uint32_t PreferredState::key_of(const Counted& counted) {
  const auto [it, added] = key_index_.try_emplace(&*counted.key, static_cast<std::uint32_t>(keys_.size()));
  if (added) keys_.push_back({counted.key, {}});
  return it->second;
}

bool PreferredState::update(const LabelSet& pod) {
  if (pod_version_ != pod.version() || table_version_ != table_.version()) find_drawing(pod);
  bool any = false;
  for (Key& key : keys_)
    if (key.sums.size() < key.key->id_limit()) key.sums.resize(key.key->id_limit(), 0);
  for (std::vector<Source>* sources : {&own_, &drawing_})
    for (Source& source : *sources) {
      any = any || source.counted->counts.domains() > 0;
      built_ = built_ && catch_up(source);
    }
  if (!built_) rebuild();
  return any;
}

/// Whose terms select a pod with these labels: mostly the same as for the class's pod before.
void PreferredState::find_drawing(const LabelSet& pod) {
  pod_version_ = pod.version();
  table_version_ = table_.version();
  std::vector<Counted*> found;
  for (const LabelSet::Selected& selected : pod.selected())
    for (Counted* counted : table_.of_selector(*selected.by))
      if (counted->of == Counts::liking || (counted->of == Counts::attracting && hard_weight_ > 0))
        found.push_back(counted);
  std::sort(found.begin(), found.end(),
            [](const Counted* a, const Counted* b) { return a->serial < b->serial; });
  if (std::equal(found.begin(), found.end(), drawing_.begin(), drawing_.end(),
                 [](const Counted* counted, const Source& s) { return &*s.counted == counted; }))
    return;
  // Until the others are held: what is found may be held by these alone.
  const std::vector<Source> before = std::exchange(drawing_, {});
  for (; keys_.size() > own_keys_; keys_.pop_back()) key_index_.erase(&*keys_.back().key);
  for (Counted* counted : found) {
    const std::int64_t factor = counted->of == Counts::attracting ? hard_weight_ : 1;
    drawing_.push_back({table_.hold(*counted), factor, key_of(*counted)});
  }
  built_ = false;
}

void PreferredState::rebuild() {
  for (Key& key : keys_) key.sums.assign(key.key->id_limit(), 0);
  for (std::vector<Source>* sources : {&own_, &drawing_})
    for (Source& source : *sources) {
      std::vector<std::int64_t>& sums = keys_[source.key].sums;
      source.counted->counts.each(
          [&](DomainId domain, std::int64_t number) { sums[domain] += source.factor * number; });
      source.read = source.counted->counts.log_end();
    }
  built_ = true;
}

/// False: what changed is not known any more.
bool PreferredState::catch_up(Source& source) {
  const DomainCounts& counts = source.counted->counts;
  if (source.read < counts.log_begin()) return false;
  std::vector<std::int64_t>& sums = keys_[source.key].sums;
  for (; source.read < counts.log_end(); ++source.read) {
    const DomainCounts::Change& change = counts.change(source.read);
    sums[change.domain] += source.factor * change.by;
  }
  return true;
}

void PreferredState::score(std::span<const Row> rows, std::span<std::int64_t> out) const {
  std::fill(out.begin(), out.end(), 0);
  if (rows.empty()) return;
  const bool run = rows.back() - rows.front() + 1 == rows.size();
  for (const Key& key : keys_) {
    if (key.key->nodes() == 0) continue;  // a pod may name any number of them
    const DomainId* column = key.key->column().data();
    const std::int64_t* sums = key.sums.data();
    const auto of = [&](DomainId domain) { return domain == kNoDomain ? 0 : sums[domain]; };
    if (run) {
      column += rows.front();
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] += of(column[i]);
    } else {
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] += of(column[rows[i]]);
    }
  }
}

std::size_t PreferredState::bytes() const {
  std::size_t all = sizeof *this + keys_.capacity() * sizeof(Key) +
                    (own_.capacity() + drawing_.capacity()) * sizeof(Source);
  for (const Key& key : keys_) all += key.sums.capacity() * sizeof(key.sums[0]);
  return all;
}

void normalize(std::span<std::int64_t> scores) {
  if (scores.empty()) return;
  std::int64_t least = scores[0], most = scores[0];
  for (const std::int64_t score : scores) {
    least = std::min(least, score);
    most = std::max(most, score);
  }
  if (most == least) return std::fill(scores.begin(), scores.end(), 0);
  // In the order of kube-scheduler's arithmetic, which rounds. Most rows share their sum with others of their
  // domain, and a division takes its time.
  constexpr std::size_t kKnown = 64;
  struct Known {
    std::int64_t sum = -1, score = 0;
  };
  std::array<Known, kKnown> known{};
  const auto range = static_cast<double>(most - least);
  for (std::int64_t& score : scores) {
    const std::int64_t sum = score - least;
    Known& k = known[static_cast<std::size_t>(sum) % kKnown];
    if (k.sum != sum) k = {sum, static_cast<std::int64_t>(100.0 * (static_cast<double>(sum) / range))};
    score = k.score;
  }
}

}  // namespace koord::scheduling::inter_pod_affinity
