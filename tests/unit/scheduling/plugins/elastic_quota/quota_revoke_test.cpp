// Quotas that use more than they may: whose pods go for it, and when.
#include "scheduling/plugins/elastic_quota/revoke.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quota_world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace elastic_quota;
using namespace std::chrono_literals;

/// By cpu and memory.
Spender spender(std::int64_t cpu, std::int64_t memory, bool may_go = true, bool leaves = false) {
  return {{{kCpu, cpu}, {kMemory, memory}}, may_go, leaves};
}

TEST_CASE("whose going is enough, the least important first, and who may stay after all") {
  // Koordinator's pods 4, 3, 2 and 1, of the priorities 7 to 10, and those of other rows.
  const std::vector<Spender> four{spender(40, 0), spender(20, 0), spender(10, 1), spender(20, 0)};
  struct Row {
    const char* name;
    std::vector<Spender> pods;
    std::vector<std::optional<std::int64_t>> limits;
    std::vector<std::size_t> gone;
  };
  const Row rows[] = {
      {"of two resources", four, {50, 0}, {2, 0}},
      {"all, where that is not enough", four, {-1, 0}, {0, 1, 2, 3}},
      {"one that waits has nothing", {four[1], four[2], four[3]}, {-1, 0}, {0, 1, 2}},
      {"nothing is too much", four, {90, 1}, {}},
      {"a resource without a limit", four, {90, std::nullopt}, {}},
      {"the largest is not needed", {spender(1, 0), spender(50, 0), spender(5, 0)}, {51, 0}, {1}},
      {"who cannot be preempted stays", {spender(40, 0, false), spender(20, 0)}, {40, 0}, {1}},
      {"and stays though it is too much", {spender(40, 0, false), spender(20, 0)}, {30, 0}, {1}},
      {"who leaves counts no more", {spender(40, 0, true, true), spender(20, 0)}, {20, 0}, {}},
      {"and is not asked again", {spender(40, 0, true, true), spender(20, 0)}, {10, 0}, {1}},
      {"a pod without the resource stays", {spender(0, 5), spender(20, 0)}, {10, 5}, {1}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(too_many(row.pods, row.limits) == row.gone);
  }
}

/// What a quota tells of who is to go.
struct RevokeWorld : QuotaWorld {
  explicit RevokeWorld(bool heard = true)
      : book(engine.context().shared.get<QuotaBook>(engine.context(), ElasticQuotaArgs())) {
    if (heard) board->call([] {});
  }
  std::string gone() {
    std::vector<std::string> names;
    for (const QuotaBoard::Revoked& each : board->take_revoked())
      names.push_back(fmt::format("{} of {}", each.pod->metadata.name, each.quota));
    return fmt::format("{}", fmt::join(names, ", "));
  }
  std::string look(nanoseconds by) {
    clock.advance(by);
    over.time_passed(clock.now());
    return gone();
  }
  std::shared_ptr<const api::Pod> runs(std::string name, std::string quota, std::string_view cpu,
                                       std::int32_t priority, const PodEdit& edit = {}) {
    auto made = pod(std::move(name), std::move(quota), cpu, [&](api::Pod& p) {
      p.spec.priority = priority;
      if (edit) edit(p);
    });
    return bound(made);
  }

  QuotaBook& book;
  std::shared_ptr<QuotaBoard> board = std::make_shared<QuotaBoard>();
  OverUse over{book, {.delay = 10s, .every = 1s}, board};
};

TEST_CASE("2342: who has borrowed gives back when the owner asks, after the delay, the least important pod") {
  RevokeWorld w;
  w.put(make_quota("a", "100", "40"));
  w.put(make_quota("b", "100", "60"));
  w.runs("base", "a", "40", 9);
  w.runs("lent", "a", "30", 5);
  CHECK(w.look(1s).empty());
  CHECK(w.look(60s).empty());
  w.pod("owner", "b", "60");
  CHECK(w.look(1s).empty());
  CHECK(w.look(10s).empty());
  CHECK(w.look(1s) == "lent of a");
  // It takes its time to end: nobody else is asked, and it is asked again after as long.
  CHECK(w.look(5s).empty());
  CHECK(w.look(6s) == "lent of a");
}

TEST_CASE("nobody goes while nothing is wanted back, nobody may evict, or it was over before the delay") {
  const bool heard = GENERATE(true, false);
  RevokeWorld w(heard);
  w.put(make_quota("a", "100", "40"));
  w.put(make_quota("b", "100", "60"));
  w.runs("kept", "a", "70", 9,
         [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false"; });
  const auto lent = w.runs("lent", "a", "10", 5);
  CHECK(w.look(60s).empty());
  const auto owner = w.pod("owner", "b", "60");
  CHECK(w.look(5s).empty());
  w.engine.remove_pod(*owner);
  CHECK(w.look(20s).empty());
  w.pod("owner-again", "b", "60");
  CHECK(w.look(1s).empty());
  CHECK(w.look(11s) == (heard ? "lent of a" : ""));
  w.engine.remove_pod(*lent);
  // One that cannot be preempted never goes, though it is too much.
  CHECK(w.look(30s).empty());
  CHECK(w.look(30s).empty());
}

TEST_CASE("a parent's own pods go for what it uses with all below, and the default quota's for nothing") {
  RevokeWorld w;
  w.put(make_quota("top", "100", "40"));
  w.put(make_quota("leaf", "100", "40", below("top")));
  w.put(make_quota("other", "100", "40"));
  w.runs("own", "top", "20", 5);
  w.runs("leafs", "leaf", "40", 5);
  w.runs("free", "", "10", 1);
  w.pod("wants", "other", "80");
  CHECK(w.look(1s).empty());
  CHECK(w.look(11s) == "own of top");
}

}  // namespace
}  // namespace koord::scheduling::test
