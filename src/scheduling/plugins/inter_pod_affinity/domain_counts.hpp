// DomainCounts: a number for each domain of a topology key, with a log of what changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/topology.hpp"

namespace koord::scheduling::inter_pod_affinity {

/// Takes memory for the domains that have a number other than 0 while these are few, else for all of them.
class DomainCounts {
 public:
  struct Change {
    DomainId domain;
    std::int32_t crossing;  // 1: from 0, -1: to 0, else 0
    std::int64_t by;
  };

  std::int64_t operator[](DomainId domain) const {
    if (!many_.empty()) return domain < many_.size() ? many_[domain] : 0;
    const auto it = find(domain);
    return it != few_.end() && it->first == domain ? it->second : 0;
  }
  /// kNoDomain counts nowhere.
  void add(DomainId domain, std::int64_t by) {
    if (domain == kNoDomain || by == 0) return;
    std::int64_t& number = at(domain);
    const bool was = number != 0;
    number += by;
    const int crossing = static_cast<int>(number != 0) - static_cast<int>(was);
    domains_ = static_cast<std::uint32_t>(static_cast<int>(domains_) + crossing);
    log({domain, crossing, by});
    if (crossing < 0) drop(domain);
  }
  /// How many domains have a number other than 0.
  std::uint32_t domains() const { return domains_; }
  /// Calls f(domain, number) for those.
  template <class F>
  void each(F&& f) const {
    for (const auto& [domain, number] : few_) f(domain, number);
    for (DomainId domain = 0; domain < many_.size(); ++domain)
      if (many_[domain] != 0) f(domain, many_[domain]);
  }

  /// Changes are numbered from 0 for ever; a reader that is behind log_begin() reads everything anew.
  std::uint64_t log_begin() const { return log_begin_; }
  std::uint64_t log_end() const { return log_begin_ + log_.size(); }
  const Change& change(std::uint64_t number) const { return log_[number - log_begin_]; }

 private:
  using Few = std::vector<std::pair<DomainId, std::int64_t>>;  // by domain
  static constexpr std::size_t kFew = 32, kShortestLog = 16;

  Few::const_iterator find(DomainId domain) const {
    return std::lower_bound(few_.begin(), few_.end(), domain,
                            [](const auto& entry, DomainId d) { return entry.first < d; });
  }
  std::int64_t& at(DomainId domain) {
    if (many_.empty()) {
      const auto it = few_.begin() + (find(domain) - few_.cbegin());
      if (it != few_.end() && it->first == domain) return it->second;
      if (few_.size() < kFew) return few_.insert(it, {domain, 0})->second;
      many_.resize(few_.back().first + 1, 0);
      for (const auto& [d, number] : few_) many_[d] = number;
      few_ = {};
    }
    if (domain >= many_.size()) many_.resize(std::max<std::size_t>(domain + 1, many_.size() * 3 / 2), 0);
    return many_[domain];
  }
  /// The domain's number is 0 now.
  void drop(DomainId domain) {
    if (many_.empty()) {
      few_.erase(find(domain));
    } else if (domains_ <= kFew / 2) {
      for (DomainId d = 0; d < many_.size(); ++d)
        if (many_[d] != 0) few_.emplace_back(d, many_[d]);
      many_ = {};
    }
  }
  /// Whoever is further behind than there are domains reads all of them as fast.
  void log(const Change& change) {
    log_.push_back(change);
    const std::size_t keep = std::max<std::size_t>(domains_, kShortestLog);
    if (log_.size() <= 2 * keep) return;
    const std::size_t gone = log_.size() - keep;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(gone));
    log_begin_ += gone;
  }

  Few few_;
  std::vector<std::int64_t> many_;
  std::uint32_t domains_ = 0;
  std::vector<Change> log_;
  std::uint64_t log_begin_ = 0;
};

}  // namespace koord::scheduling::inter_pod_affinity
