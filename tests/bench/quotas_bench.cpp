// What quotas cost: a pod of one leaf changes and the leaf's runtime is asked for, a pod's check, and the
// look at all of them for those whose status is another now (once a second, after any change), in a tree of
// 10 quotas under each, four levels, and under one root alone. All ask for more than there is. Then an engine
// with pods that wait for 100 quotas, when nodes come and every quota may use more.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>

#include "koord/api/koordinator/quota.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"
#include "scheduling/plugins/elastic_quota/check.hpp"
#include "scheduling/plugins/elastic_quota/summarize.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling;
using namespace koord::scheduling::elastic_quota;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Amounts four(std::int64_t cores) {
  return {{kCpu, cores * 1000}, {kMemory, cores << 32}, {kStorage, cores << 34}, {kFirstScalar, cores}};
}

struct Bench {
  explicit Bench(std::size_t seed) : random(seed) {}

  void put(const std::string& name, const std::string& parent, std::int64_t max) {
    QuotaSpec spec{.name = name, .parent = parent, .min = four(max / 4), .max = four(max)};
    spec.weight = four(1 + static_cast<std::int64_t>(random() % 50));
    const QuotaId id = tree.put(spec);
    if (parent != name) leaves.push_back(id);
  }
  /// 10 under each, `depth` levels.
  void grow(const std::string& parent, int depth, std::int64_t max) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = fmt::format("{}-{}", parent.size() < 20 ? parent : "q", i);
      put(name, parent, max);
      if (depth > 1) {
        leaves.pop_back();
        grow(name, depth - 1, max / 10);
      }
    }
  }
  void fill() {
    for (const QuotaId leaf : leaves)
      pods.push_back(tree.add_pod(leaf, four(1 + static_cast<std::int64_t>(random() % 9)), true, true));
  }

  void report(const char* name, int rounds, int checks, int looks) {
    std::int64_t sum = 0;
    const auto look = [&](QuotaId leaf) {
      for (ResourceId r = 0; r < tree.resources(); ++r) sum += tree.runtime(leaf, r).value_or(0);
    };
    for (const QuotaId leaf : leaves) look(leaf);
    const double began = cpu_seconds();
    for (int i = 0; i < rounds; ++i) {
      const std::size_t at = random() % leaves.size();
      tree.change_pod(pods[at], four(1 + i % 9), true);
      look(leaves[at]);
    }
    const double changed = cpu_seconds();
    const Amounts asked = four(1);
    const QuotaId leaf = leaves[leaves.size() / 2];
    look(leaf);
    const double checking = cpu_seconds();
    for (int i = 0; i < checks; ++i) sum += refusal(tree, leaf, asked, true, {}) ? 1 : 0;
    const double ended = cpu_seconds();
    for (int i = 0; i < looks; ++i) {
      tree.change_pod(pods[random() % leaves.size()], four(1 + i % 9), true);
      tree.each([&](QuotaId id) { sum += static_cast<std::int64_t>(fingerprint("", {&tree, id}) & 1); });
    }
    const double looked = cpu_seconds();
    fmt::print("| {} | {} | {:.2f} | {:.3f} | {:.1f} |\n", name, tree.size() - 1,
               (changed - began) * 1e6 / rounds, (ended - checking) * 1e6 / checks,
               (looked - ended) * 1e3 / looks);
    if (sum == 0) fmt::print("nobody may use anything\n");
  }

  std::mt19937_64 random;
  QuotaTree tree{{.built_in = false}};
  std::vector<QuotaId> leaves;
  std::vector<PodId> pods;
};

api::ResourceList cores(std::string_view cpu) { return {{"cpu", api::Quantity::must(cpu)}}; }

struct Waiting {
  static constexpr int kQuotas = 100;

  explicit Waiting(int count) : pods(count) {
    KubeSchedulerConfiguration config;
    Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
    plugins.multi_point.enabled = {{"ElasticQuota", {}}};
    plugins.post_filter.disabled = {{"*", {}}};
    if (!complete(config, plugin_table())) std::abort();
    auto profiles = build_profiles(config, plugin_table(), engine.context(), {});
    if (!profiles) std::abort();
    engine.set_profiles(std::move(*profiles));
    clock.advance(std::chrono::seconds(100));
    put_node("first", "100");
    for (int i = 0; i < kQuotas; ++i) {
      auto quota = std::make_shared<api::ElasticQuota>();
      quota->metadata.name = fmt::format("q{}", i);
      quota->metadata.namespace_ = "quotas";
      quota->spec.min = cores("1");
      quota->spec.max = cores("10000");
      engine.put_object<api::ElasticQuota>(quota);
    }
  }
  void put_node(std::string name, std::string_view cpu) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = std::move(name);
    node->status.allocatable = cores(cpu);
    node->status.allocatable["pods"] = api::Quantity::must("20000");
    engine.put_node(node);
  }
  /// Each asks for more than its quota may use. Of `classes` shapes.
  void put_pods(int classes) {
    for (int i = 0; i < pods; ++i) {
      auto pod = std::make_shared<api::Pod>();
      pod->metadata.name = fmt::format("p{}", i);
      pod->metadata.namespace_ = "default";
      pod->metadata.uid = fmt::format("uid-{}", i);
      pod->metadata.labels[std::string(api::kQuotaNameLabel)] = fmt::format("q{}", i % kQuotas);
      pod->spec.scheduler_name = "default-scheduler";
      pod->spec.containers.emplace_back().resources.requests =
          cores(fmt::format("{}m", 5000 + i / kQuotas % classes));
      engine.put_pod(pod);
    }
  }
  /// Those of which something is said.
  std::size_t decide(Decision::Kind kind) {
    std::vector<Decision> made;
    engine.schedule(SIZE_MAX, made);
    return static_cast<std::size_t>(
        std::ranges::count_if(made, [&](const Decision& d) { return d.kind() == kind; }));
  }
  void report(int classes) {
    put_pods(classes);
    const std::size_t refused = decide(Decision::Kind::unschedulable);
    clock.advance(std::chrono::seconds(20));
    // Every quota may use more, and no pod as much as it asks for.
    const double began = cpu_seconds();
    put_node("second", "100");
    clock.advance(std::chrono::milliseconds(100));
    const std::size_t again = decide(Decision::Kind::unschedulable);
    const double asked = cpu_seconds();
    put_node("third", "100000");
    clock.advance(std::chrono::milliseconds(100));
    const std::size_t bound = decide(Decision::Kind::bind);
    const double placed = cpu_seconds();
    fmt::print("| {} | {} | {:.1f} | {} | {:.1f} | {} |\n", classes, refused, (asked - began) * 1e3, again,
               (placed - asked) * 1e3, bound);
  }

  int pods;
  ManualClock clock;
  Engine engine{clock, {}};
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  const int checks = rounds * 50, looks = std::max(rounds / 1000, 1);
  const std::string root(api::kRootQuota);
  fmt::print("| tree | quotas | a change, us | a check, us | all looked at, ms |\n|---|---|---|---|---|\n");
  Bench deep(1);
  for (int i = 0; i < 10; ++i) {
    const std::string name = fmt::format("q{}", i);
    deep.put(name, root, 10'000);
    deep.leaves.pop_back();
    deep.grow(name, 3, 1000);
  }
  deep.fill();
  deep.tree.set_total(four(30'000));
  deep.report("10 under each, 4 levels", rounds, checks, looks);
  Bench flat(2);
  for (int i = 0; i < 10'000; ++i) flat.put(fmt::format("q{}", i), root, 20);
  flat.fill();
  flat.tree.set_total(four(30'000));
  flat.report("all under the root", std::max(rounds / 50, 1), checks, looks);
  fmt::print(
      "\n| shapes of pods | refused | all asked again in vain, ms | told | all placed, ms | bound |\n"
      "|---|---|---|---|---|---|\n");
  for (const int classes : {1, 100}) Waiting(std::max(rounds / 2, 1000)).report(classes);
  return 0;
}
