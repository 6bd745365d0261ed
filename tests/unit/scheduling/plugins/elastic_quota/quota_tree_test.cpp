// The tree of quotas: the sequences of tests/golden/scheduler/quota_sequences.txt, users' complaints by
// number, bad input.
#include <fstream>

#include "quota_script.hpp"
#include "support/tsv.hpp"

namespace koord::scheduling::elastic_quota::test {
namespace {

constexpr TreeOptions kScaled{};

TEST_CASE("quotas come to Koordinator's numbers") {
  std::ifstream file(koord::test::golden("scheduler/quota_sequences.txt"));
  std::string name, script;
  TreeOptions options;
  std::size_t run = 0;
  const auto end = [&] {
    if (name.empty()) return;
    INFO(name);
    QuotaScript(options).run(script);
    ++run;
  };
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (!line.starts_with("== ")) {
      script += line + '\n';
      continue;
    }
    end();
    script.clear();
    name = line;
    options.guarantee_usage = name.ends_with("| guaranteed");
    options.scale_min = options.guarantee_usage || name.ends_with("| scaled");
  }
  end();
  CHECK(run == 36);
}

// Users' complaints

TEST_CASE("2393: where mins fit, nobody has less than its min of what it asks for") {
  QuotaScript(kScaled).run(R"(
    total 100/100
    quota a root 100/100 60/60 1/1
    quota b root 100/100 40/40 keeps
    pod 1 a 500/30
    runtime a 60/30
    runtime b 40/40
    pod 2 b 500/500
    runtime a 60/30
    runtime b 40/70)");
}

TEST_CASE("2342: what a neighbour asks for takes back what was lent") {
  QuotaScript(kScaled).run(R"(
    total 100/100
    quota a root 100/100 50/50
    quota b root 100/100 50/50
    pod 1 a 100/100 runs
    runtime a 100/100
    pod 2 b 30/30
    runtime a 70/70
    runtime b 30/30
    used a 100/100)");
}

TEST_CASE("2288: a min that nobody asks for is lent") {
  QuotaScript(kScaled).run(R"(
    total 100/100
    quota a root 100/100 20/20
    quota b root 100/100 80/80
    pod 1 a 100/100
    runtime a 100/100
    runtime b 0/0)");
}

// Bad input

TEST_CASE("parents that go round in a circle") {
  QuotaScript s(kScaled);
  s.run(R"(
    total 100/100
    quota self self 50/50 10/10
    pod 1 self 30/30 runs
    runtime self 10/10
    quota a b 50/50 10/10
    quota b c 50/50 10/10
    quota c a 50/50 10/10
    pod 2 a 30/30 runs
    used root 0/0
    quota b root 50/50 10/10
    runtime a 30/30
    used root 30/30
    quota self root 50/50 10/10
    runtime self 30/30
    used root 60/60
    remove b
    remove c
    used root 30/30
    remove a
    gone 1)");
}

TEST_CASE("a chain of 20,000 quotas") {
  // Who hangs a quota below n others waits for n: the deepest come first.
  constexpr int kDeep = 20'000, kTopDown = 2'000;
  QuotaTree tree({});
  tree.set_total({{kCpu, 1000}});
  const auto put = [&](int i) {
    QuotaSpec spec{.name = fmt::format("q{}", i),
                   .parent = i == 0 ? std::string(api::kRootQuota) : fmt::format("q{}", i - 1),
                   .max = {{kCpu, 100}}};
    spec.weight = spec.max;
    tree.put(spec);
  };
  for (int i = kDeep - 1; i >= kTopDown; --i) put(i);
  for (int i = 0; i < kTopDown; ++i) put(i);
  const QuotaId leaf = tree.find(fmt::format("q{}", kDeep - 1));
  tree.add_pod(leaf, {{kCpu, 70}}, true, true);
  CHECK(tree.runtime(leaf, kCpu) == 70);
  CHECK(tree.figures(QuotaTree::kRoot, kCpu).used == 70);
}

TEST_CASE("only levels on the way of what has changed are divided anew") {
  QuotaScript s(kScaled);
  s.run(R"(
    total 100/100
    quota a root 100/100 50/50
    quota a1 a 100/100 10/10
    quota a2 a 100/100 10/10
    quota b root 100/100 50/50
    quota b1 b 100/100 10/10
    pod 1 a1 20/20
    pod 2 b1 100/100)");
  const auto look = [&](const char* name) {
    const std::uint64_t before = s.tree.divisions();
    s.tree.runtime(s.id(name), kCpu);
    return s.tree.divisions() - before;
  };
  look("a1");
  look("b1");
  CHECK(look("a1") == 0);
  CHECK(look("b1") == 0);
  // More than the most is no more.
  s.run("pod 3 b1 100/100");
  CHECK(look("b1") == 0);
  // a2 asks: its level and the root's.
  s.run("pod 4 a2 1/1");
  CHECK(look("a1") == 2);
  CHECK(look("b1") == 1);
  CHECK(look("a2") == 0);
}

}  // namespace
}  // namespace koord::scheduling::elastic_quota::test
