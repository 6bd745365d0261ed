// Random trees of quotas and their pods beside the oracle, which computes all of it anew at each step.
#include <catch2/catch.hpp>
#include <random>

#include "koord/api/koordinator/quota.hpp"
#include "scheduling/plugins/elastic_quota/tree.hpp"
#include "support/reference/quotas.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::elastic_quota {
namespace {

constexpr ResourceId kGpu = kFirstScalar;
const std::pair<const char*, ResourceId> kNames[] = {{"cpu", kCpu}, {"memory", kMemory}, {"x.io/gpu", kGpu}};

Amounts amounts(const reference::QuotaAmounts& plain) {
  Amounts all;
  for (const auto& [name, id] : kNames)
    if (const auto found = plain.find(name); found != plain.end()) all.push_back({id, found->second});
  return all;
}

class RandomTree {
 public:
  RandomTree(unsigned seed, TreeOptions options) : random_(seed), tree_(options) {
    state_.scale_min = options.scale_min;
    state_.guarantee_usage = options.guarantee_usage;
    for (const auto name : {api::kSystemQuota, api::kDefaultQuota}) put(std::string(name), built_in());
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1: return put(some_name(), some_quota());
      case 2: return remove(some_name());
      case 3: return total();
      case 4:
      case 5:
      case 6: return add();
      default: return pod();
    }
  }

  void compare() {
    const auto all = reference::quota_answers(state_);
    for (const auto& [name, answers] : all) {
      const QuotaId id = tree_.find(name);
      REQUIRE(id != kNoQuota);
      for (const auto& [resource, r] : kNames) {
        const auto found = answers.find(resource);
        if (found == answers.end() || r >= tree_.resources()) continue;
        const reference::QuotaAnswer& expected = found->second;
        const QuotaFigures& f = tree_.figures(id, r);
        INFO(name << " " << resource << " after " << steps_ << " steps");
        REQUIRE(f.child_request == expected.child_request);
        REQUIRE(f.request == expected.request);
        REQUIRE(f.limited == expected.limited);
        REQUIRE(f.used == expected.used);
        REQUIRE(f.non_preemptible_request == expected.non_preemptible_request);
        REQUIRE(f.non_preemptible_used == expected.non_preemptible_used);
        REQUIRE(f.guaranteed == expected.guaranteed);
        // Some are looked at and others not, so that levels are stale for long.
        if (below(3) == 0) continue;
        REQUIRE(tree_.runtime(id, r) == expected.runtime);
        REQUIRE(tree_.scaled_min(id, r) == expected.scaled_min);
      }
    }
    CHECK(tree_.size() == state_.quotas.size() + 1);
    ++steps_;
  }

  /// What users rely on, whatever the numbers are.
  void check_promises() {
    for (const auto& [resource, r] : kNames) {
      std::map<std::string, std::int64_t> mins, sums;
      for (const auto& [name, quota] : state_.quotas) {
        if (is_built_in(name)) continue;
        mins[quota.parent] += tree_.figures(tree_.find(name), r).min_or_zero();
      }
      for (const auto& [name, quota] : state_.quotas) {
        if (is_built_in(name)) continue;
        const QuotaId id = tree_.find(name);
        const QuotaFigures& f = tree_.figures(id, r);
        const auto runtime = tree_.runtime(id, r);
        if (!runtime) continue;
        sums[quota.parent] += *runtime;
        const QuotaId parent = tree_.parent(id);
        if (parent == kNoQuota) continue;
        const auto total = tree_.runtime(parent, r);
        if (total && mins[quota.parent] <= *total) {
          CHECK(*runtime >= std::min(f.min_or_zero(), f.limited));
          if (!tree_.lends(id)) CHECK(*runtime >= f.min_or_zero());
        }
        if (f.in_max() && f.max >= std::max(f.min_or_zero(), f.guaranteed)) CHECK(*runtime <= f.max);
      }
      for (const auto& [parent, sum] : sums) {
        const QuotaId id = tree_.find(parent);
        if (id == kNoQuota || state_.guarantee_usage) continue;
        const auto total = tree_.runtime(id, r);
        if (total && mins[parent] <= *total) CHECK(sum <= *total);
      }
    }
  }

 private:
  static bool is_built_in(const std::string& name) {
    return name == api::kSystemQuota || name == api::kDefaultQuota;
  }
  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }
  std::string some_name() { return "q" + std::to_string(below(14)); }
  reference::QuotaAmounts some(std::int64_t most, std::int64_t least_of_ten) {
    reference::QuotaAmounts all;
    for (const auto& [name, id] : kNames)
      if (below(10) >= least_of_ten) all[name] = below(most) * (id == kMemory ? 1'000'000'007 : 1);
    return all;
  }
  reference::PlainQuota built_in() {
    reference::PlainQuota quota{.parent = std::string(api::kRootQuota)};
    quota.max = {{"cpu", INT64_MAX / 5}, {"memory", INT64_MAX / 5}};
    if (below(2) == 0) quota.weight = quota.max;
    return quota;
  }
  reference::PlainQuota some_quota() {
    reference::PlainQuota quota;
    // Only below one with a smaller number: no circles, but parents that are not there.
    quota.parent = below(3) == 0 ? std::string(api::kRootQuota) : std::string();
    quota.lends = below(3) != 0;
    quota.max = some(60, 1);
    quota.min = some(20, 3);
    quota.weight = below(4) == 0 ? some(5, 2) : quota.max;
    return quota;
  }

  void put(const std::string& name, reference::PlainQuota quota) {
    if (quota.parent.empty()) {
      const std::int64_t number = std::stoll(name.substr(1));
      quota.parent = number == 0 ? std::string(api::kRootQuota) : "q" + std::to_string(below(number));
    }
    tree_.put({.name = name,
               .parent = quota.parent,
               .lends = quota.lends,
               .min = amounts(quota.min),
               .max = amounts(quota.max),
               .weight = amounts(quota.weight)});
    state_.quotas[name] = std::move(quota);
  }
  void remove(const std::string& name) {
    if (state_.quotas.erase(name) == 0) return;
    const QuotaId id = tree_.find(name);
    for (auto& [number, pod] : state_.pods) {
      if (pod.quota != name) continue;
      pod.quota = api::kDefaultQuota;
      tree_.move_pod(ids_.at(number), tree_.find(api::kDefaultQuota));
    }
    CHECK(tree_.pods(id).empty());
    tree_.remove(id);
    CHECK(tree_.find(name) == kNoQuota);
  }
  void total() {
    state_.total = some(300, 1);
    tree_.set_total(amounts(state_.total));
  }
  void add() {
    auto quota = state_.quotas.begin();
    std::advance(quota, below(static_cast<std::int64_t>(state_.quotas.size())));
    const reference::QuotaPod pod{quota->first, some(12, 2), below(4) != 0, below(2) == 0};
    state_.pods[++last_] = pod;
    ids_[last_] = tree_.add_pod(tree_.find(pod.quota), amounts(pod.requests), pod.preemptible, pod.assigned);
  }
  void pod() {
    if (state_.pods.empty()) return;
    auto some_pod = state_.pods.begin();
    std::advance(some_pod, below(static_cast<std::int64_t>(state_.pods.size())));
    auto& [number, pod] = *some_pod;
    const PodId id = ids_.at(number);
    switch (below(4)) {
      case 0:
        pod.requests = some(12, 2);
        pod.preemptible = below(2) == 0;
        return tree_.change_pod(id, amounts(pod.requests), pod.preemptible);
      case 1: pod.assigned = !pod.assigned; return tree_.assign_pod(id, pod.assigned);
      case 2: {
        auto quota = state_.quotas.begin();
        std::advance(quota, below(static_cast<std::int64_t>(state_.quotas.size())));
        pod.quota = quota->first;
        return tree_.move_pod(id, tree_.find(pod.quota));
      }
      default:
        tree_.remove_pod(id);
        ids_.erase(number);
        state_.pods.erase(some_pod);
    }
  }

  std::mt19937_64 random_;
  reference::QuotaState state_;
  QuotaTree tree_;
  std::map<int, PodId> ids_;
  int last_ = 0, steps_ = 0;
};

TEST_CASE("random quotas and pods come to the oracle's numbers") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    RandomTree world(seed, {.scale_min = seed != 3, .guarantee_usage = seed == 4});
    const std::size_t steps = koord::test::hostile(2000);
    for (std::size_t i = 0; i < steps; ++i) {
      world.step();
      world.compare();
      if (i % 10 == 0) world.check_promises();
    }
  }
}

}  // namespace
}  // namespace koord::scheduling::elastic_quota
