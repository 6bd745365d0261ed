#include "support/reference/quotas.hpp"

#include <algorithm>
#include <set>

namespace koord::reference {
namespace {

__extension__ using Exact = __int128;

const char* const kRoot = "koordinator-root-quota";
bool is_built_in(const std::string& name) {
  return name == "koordinator-system-quota" || name == "koordinator-default-quota";
}
std::int64_t of(const QuotaAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found != amounts.end() ? found->second : 0;
}

struct Sharer {
  std::string name;
  Exact asks, sure, weight;
  bool lends;
  Exact has = 0;
};

/// Whole rounds of the largest remainder, each written as the rule reads.
void share(Exact total, std::vector<Sharer>& all) {
  std::vector<Sharer*> open;
  for (Sharer& s : all) {
    s.has = s.asks > s.sure || !s.lends ? s.sure : s.asks;
    if (s.asks > s.sure) open.push_back(&s);
    total -= s.has;
  }
  while (total > 0) {
    Exact weights = 0, given = 0;
    for (const Sharer* s : open) weights += s->weight;
    if (weights <= 0) return;
    std::vector<std::pair<Exact, Sharer*>> remainders;
    for (Sharer* s : open) {
      if (s->weight <= 0) continue;
      s->has += s->weight * total / weights;
      given += s->weight * total / weights;
      remainders.emplace_back(s->weight * total % weights, s);
    }
    std::sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second->name < b.second->name;
    });
    for (auto& [remainder, s] : remainders) {
      if (given >= total) break;
      s->has += 1;
      given += 1;
    }
    total = 0;
    std::vector<Sharer*> still;
    for (Sharer* s : open) {
      if (s->has < s->asks) {
        still.push_back(s);
      } else {
        total += s->has - s->asks;
        s->has = s->asks;
      }
    }
    open = still;
  }
}

class OneResource {
 public:
  OneResource(const QuotaState& state, const std::string& resource) : state_(state), resource_(resource) {
    for (const auto& [name, quota] : state.quotas) {
      under_[quota.parent].push_back(name);
      if (!is_built_in(name)) named_ |= quota.max.contains(resource);
    }
    for (const auto& [name, under] : under_)
      if (!state.quotas.contains(name) && name != kRoot)
        for (const std::string& lost : under) add_up(lost);
    for (const std::string& name : under_[kRoot]) add_up(name);

    Exact total = of(state.total, resource);
    bool known = state.total.contains(resource);
    for (const auto& [name, quota] : state.quotas) {
      if (!is_built_in(name)) continue;
      total -= answers_[name].used;
      known |= answers_[name].used != 0;
    }
    if (named_)
      divide(kRoot, total, known);
    else
      pass_down(kRoot);
    for (const auto& [name, under] : under_)
      if (!state.quotas.contains(name) && name != kRoot) divide(name, 0, false);
    for (auto& [name, answer] : answers_) {
      if (!is_built_in(name)) continue;
      answer.runtime.reset();
      const auto& max = state.quotas.at(name).max;
      if (max.contains(resource)) answer.runtime = of(max, resource);
    }
  }
  const std::map<std::string, QuotaAnswer>& answers() const { return answers_; }

 private:
  bool counts(const QuotaPod& pod) const {
    return pod.requests.contains(resource_) && state_.quotas.at(pod.quota).max.contains(resource_);
  }
  std::int64_t min_of(const std::string& name) const {
    return is_built_in(name) ? 0 : of(state_.quotas.at(name).min, resource_);
  }

  void add_up(const std::string& name) {
    const PlainQuota& quota = state_.quotas.at(name);
    QuotaAnswer answer;
    std::int64_t allocated = 0;
    for (const auto& [number, pod] : state_.pods) {
      if (pod.quota != name || !counts(pod)) continue;
      const std::int64_t amount = of(pod.requests, resource_);
      answer.child_request += amount;
      if (!pod.preemptible) answer.non_preemptible_request += amount;
      if (!pod.assigned) continue;
      answer.used += amount;
      allocated += amount;
      if (!pod.preemptible) answer.non_preemptible_used += amount;
    }
    for (const std::string& child : under_[name]) {
      add_up(child);
      const QuotaAnswer& below = answers_[child];
      answer.child_request += below.limited;
      answer.non_preemptible_request += below.non_preemptible_request;
      answer.used += below.used;
      answer.non_preemptible_used += below.non_preemptible_used;
      allocated += below.guaranteed;
    }
    const bool lends = quota.lends && !state_.guarantee_usage;
    answer.request = lends ? answer.child_request : std::max(answer.child_request, min_for_request(name));
    answer.limited =
        quota.max.contains(resource_) ? std::min(answer.request, of(quota.max, resource_)) : answer.request;
    if (state_.guarantee_usage) answer.guaranteed = std::max(allocated, min_of(name));
    answers_[name] = answer;
  }
  std::int64_t min_for_request(const std::string& name) const {
    return of(state_.quotas.at(name).min, resource_);
  }

  /// The parent has no such resource to divide.
  void pass_down(const std::string& parent) {
    for (const std::string& child : under_[parent]) {
      answers_[child].scaled_min = min_for_request(child);
      if (state_.quotas.at(child).max.contains(resource_))
        divide(child, 0, false);
      else
        pass_down(child);
    }
  }

  void divide(const std::string& parent, Exact total, bool may_scale) {
    Exact mins = 0;
    for (const std::string& child : under_[parent]) mins += min_of(child);
    std::vector<Sharer> all;
    for (const std::string& child : under_[parent]) {
      const PlainQuota& quota = state_.quotas.at(child);
      QuotaAnswer& answer = answers_[child];
      Exact min = min_of(child);
      answer.scaled_min = min_for_request(child);
      if (may_scale && state_.scale_min && mins > total) {
        min = total <= 0 ? 0
                         : static_cast<std::int64_t>(static_cast<double>(total) * static_cast<double>(min) /
                                                     static_cast<double>(mins));
        answer.scaled_min = static_cast<std::int64_t>(min);
      }
      if (may_scale && state_.scale_min && is_built_in(child)) answer.scaled_min = 0;
      all.push_back({child, answer.limited, std::max<Exact>(min, answer.guaranteed),
                     of(quota.weight, resource_), quota.lends && !state_.guarantee_usage});
    }
    share(total, all);
    for (const Sharer& s : all) {
      answers_[s.name].runtime = static_cast<std::int64_t>(s.has);
      if (state_.quotas.at(s.name).max.contains(resource_))
        divide(s.name, s.has, true);
      else
        pass_down(s.name);
    }
  }

  const QuotaState& state_;
  const std::string resource_;
  bool named_ = false;
  std::map<std::string, std::vector<std::string>> under_;
  std::map<std::string, QuotaAnswer> answers_;
};

}  // namespace

std::map<std::string, std::map<std::string, QuotaAnswer>> quota_answers(const QuotaState& state) {
  std::set<std::string> resources;
  const auto add = [&](const QuotaAmounts& amounts) {
    for (const auto& [resource, amount] : amounts) resources.insert(resource);
  };
  for (const auto& [name, quota] : state.quotas)
    for (const QuotaAmounts* amounts : {&quota.min, &quota.max, &quota.weight}) add(*amounts);
  for (const auto& [number, pod] : state.pods) add(pod.requests);
  std::map<std::string, std::map<std::string, QuotaAnswer>> all;
  for (const std::string& resource : resources) {
    const OneResource one(state, resource);
    for (const auto& [name, answer] : one.answers()) all[name][resource] = answer;
  }
  return all;
}

}  // namespace koord::reference
