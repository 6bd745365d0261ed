// What quotas cost: a pod of one leaf changes and the leaf's runtime is asked for, a pod's check, and the
// look at all of them for those whose status is another now (once a second, after any change), in a tree of
// 10 quotas under each, four levels, and under one root alone. All ask for more than there is.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <random>

#include "koord/api/koordinator/quota.hpp"
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

  void report(const char* name, int rounds) {
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
    const int checks = 1'000'000;
    const double checking = cpu_seconds();
    for (int i = 0; i < checks; ++i) sum += refusal(tree, leaf, asked, true, {}) ? 1 : 0;
    const double ended = cpu_seconds();
    const int looks = 20;
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

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
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
  deep.report("10 under each, 4 levels", rounds);
  Bench flat(2);
  for (int i = 0; i < 10'000; ++i) flat.put(fmt::format("q{}", i), root, 20);
  flat.fill();
  flat.tree.set_total(four(30'000));
  flat.report("all under the root", std::max(rounds / 50, 1));
  return 0;
}
