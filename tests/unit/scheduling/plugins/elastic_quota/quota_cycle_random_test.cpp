// Random quotas, pods and nodes through the engine, beside the oracle: each decision is what it says at that
// moment, and who fits is not left waiting.
#include <random>
#include <set>

#include "koord/api/rules/pod_requests.hpp"
#include "quota_world.hpp"
#include "support/reference/quotas.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;
using Pod = std::shared_ptr<const api::Pod>;

reference::QuotaAmounts plain(const api::ResourceList& list) {
  reference::QuotaAmounts all;
  for (const auto& [name, quantity] : list)
    all[name.str()] = name == "cpu" ? quantity.milli_value() : quantity.value();
  return all;
}

class RandomCluster : QuotaWorld {
 public:
  explicit RandomCluster(unsigned seed) : random_(seed) { nodes_["n"] = 100; }

  void step() {
    switch (below(10)) {
      case 0: put_quota(); break;
      case 1: remove_quota(); break;
      case 2: resize(); break;
      case 3:
      case 4: remove_pod(); break;
      case 5: relabel(); break;
      case 6: confirm(); break;
      default: add_pod();
    }
    decide();
    if (below(4) != 0) return;
    // Backoffs are over, and what plugins look at from time to time is looked at.
    for (int i = 0; i < 4; ++i) {
      clock.advance(11s);
      decide();
    }
    for (const std::string& name : waiting_) {
      INFO(name << " waits after " << steps_ << " steps");
      REQUIRE_FALSE(fits(*pods_.at(name)));
    }
    ++settled_;
  }
  int settled() const { return settled_; }
  int bound_ones() const { return bound_count_; }
  int refused_ones() const { return refused_count_; }

 private:
  std::int64_t below(std::int64_t most) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }
  std::string some_quota() { return "q" + std::to_string(below(6)); }

  void put_quota() {
    const std::string name = some_quota();
    const std::int64_t number = std::stoll(name.substr(1));
    auto quota = make_quota(name, std::to_string(below(60)), std::to_string(below(15)), [&](auto& q) {
      if (number > 0 && below(2) == 0) test::below("q" + std::to_string(below(number)))(q);
      if (below(3) == 0) q.metadata.labels[std::string(api::kQuotaLendsLabel)] = "false";
    });
    quotas_[name] = put(quota);
  }
  void remove_quota() {
    const auto found = quotas_.find(some_quota());
    if (found == quotas_.end()) return;
    const QuotaPtr quota = found->second;
    quotas_.erase(found);
    engine.remove_object(quota);
  }
  void resize() {
    // The only node is never too small for what runs there already.
    nodes_["n"] = 60 + below(80);
    node("n", std::to_string(nodes_["n"]));
  }
  void add_pod() {
    if (pods_.size() > 60) return remove_pod();
    const std::string name = "p" + std::to_string(++last_), quota = below(6) == 0 ? "" : some_quota();
    pods_[name] = pod(name, quota, std::to_string(1 + below(12)));
    waiting_.insert(name);
  }
  std::string some_pod() {
    auto found = pods_.begin();
    std::advance(found, below(static_cast<std::int64_t>(pods_.size())));
    return found->first;
  }
  void remove_pod() {
    if (pods_.empty()) return;
    const std::string name = some_pod();
    const Pod gone = pods_.at(name);
    pods_.erase(name);
    waiting_.erase(name);
    placed_.erase(name);
    engine.remove_pod(*gone);
  }
  void relabel() {
    if (pods_.empty()) return;
    Pod& pod = pods_.at(some_pod());
    pod = changed(pod,
                  [&](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaNameLabel)] = some_quota(); });
    engine.put_pod(pod);
  }
  /// The API server tells of one that was bound.
  void confirm() {
    if (placed_.empty()) return;
    auto found = placed_.begin();
    std::advance(found, below(static_cast<std::int64_t>(placed_.size())));
    Pod& pod = pods_.at(*found);
    pod = bound(pod);
  }

  void decide() {
    for (;;) {
      // Time may have passed for the plugin before it decides: the oracle knows no time.
      const auto made = run(1);
      if (made.empty()) return;
      const std::string name = made[0].pod->metadata.name;
      const bool binds = made[0].kind() == Decision::Kind::bind;
      INFO(name << " after " << ++steps_ << " decisions");
      REQUIRE(binds == fits(*pods_.at(name)));
      if (binds) {
        waiting_.erase(name);
        placed_.insert(name);
        ++bound_count_;
      } else {
        ++refused_count_;
      }
    }
  }

  std::string quota_of(const api::Pod& pod) const {
    const std::string label(api::quota_name(pod.metadata));
    return quotas_.contains(label) ? label : std::string(api::kDefaultQuota);
  }
  bool fits(const api::Pod& pod) const {
    reference::QuotaState state;
    for (const auto name : {api::kSystemQuota, api::kDefaultQuota}) {
      auto& quota = state.quotas[std::string(name)];
      quota.parent = api::kRootQuota;
      quota.max = {{"cpu", INT64_MAX}, {"memory", INT64_MAX / 5}};
    }
    for (const auto& [name, object] : quotas_) {
      const api::QuotaTerms terms = api::quota_terms(*object);
      state.quotas[name] = {terms.parent, terms.lends, plain(object->spec.min), plain(object->spec.max),
                            plain(terms.shared_weight)};
    }
    std::int64_t free = nodes_.at("n") * 1000;
    state.total = {{"cpu", free}, {"memory", std::int64_t{1} << 40}};
    int number = 0;
    for (const auto& [name, other] : pods_) {
      const auto requests = plain(api::pod_requests(*other));
      const bool placed = placed_.contains(name);
      if (placed) free -= requests.at("cpu");
      state.pods[++number] = {quota_of(*other), requests, true, placed};
    }
    const auto asked = plain(api::pod_requests(pod));
    if (asked.at("cpu") > free) return false;
    const std::string quota = quota_of(pod);
    if (quota == api::kDefaultQuota) return true;
    const auto answers = reference::quota_answers(state).at(quota);
    for (const auto& [resource, amount] : asked) {
      const auto& answer = answers.at(resource);
      const auto limit = answer.runtime.value_or(state.quotas.at(quota).max.at(resource));
      if (answer.used + amount > limit) return false;
    }
    return true;
  }

  std::mt19937_64 random_;
  std::map<std::string, QuotaPtr> quotas_;
  std::map<std::string, Pod> pods_;
  std::set<std::string> waiting_, placed_;
  std::map<std::string, std::int64_t> nodes_;
  int last_ = 0, steps_ = 0, settled_ = 0, bound_count_ = 0, refused_count_ = 0;
};

TEST_CASE("random quotas and pods: each decision is the oracle's, and who fits is not left waiting") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    RandomCluster cluster(seed);
    const std::size_t steps = koord::test::hostile(1000);
    for (std::size_t i = 0; i < steps; ++i) cluster.step();
    CHECK(cluster.settled() > static_cast<int>(steps) / 8);
    CHECK(cluster.bound_ones() > static_cast<int>(steps) / 20);
    CHECK(cluster.refused_ones() > static_cast<int>(steps) / 20);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
