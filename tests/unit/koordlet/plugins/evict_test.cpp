// What CPU and memory eviction share: choosing victims, and what is asked beyond batch and mid resources.
#include <limits>

#include "plugins/evict/settings.hpp"
#include "rigs/evict_rig.hpp"

namespace koord::koordlet {
namespace {

using evict::Resource;
using evict::Target;
using evict::Task;
using testing::enabled;
using testing::EvictRig;
using testing::EvictRow;
using testing::Names;

TEST_CASE("What several features count of one pod counts once, and for all of them", "[koordlet][evict]") {
  const auto pod = [](std::string name, std::int32_t priority, PodRequests requests, std::int64_t used) {
    auto info = std::make_shared<PodInfo>();
    info->uid = info->name = std::move(name);
    info->priority_class = api::koord_priority_of(priority);
    info->requests = requests;
    return evict::Candidate{info, used};
  };
  constexpr std::int64_t kMi = 1 << 20;
  const auto batch1 = pod("batch1", 5500, {.batch_cpu = 1000}, 1536 * kMi);
  const auto batch2 = pod("batch2", 5500, {.batch_cpu = 500}, 768 * kMi);
  const auto mid = pod("mid", 7500, {.mid_cpu = 2000}, 3072 * kMi);
  Task used{
      .feature = "use", .target = Target::used, .release = {}, .candidates = {batch1, batch2}, .frees = {}};
  of(used.release, Resource::memory) = 2048 * kMi;
  used.frees = [](const evict::Candidate& candidate) {
    evict::Amounts amounts{};
    of(amounts, Resource::memory) = candidate.used;
    return amounts;
  };
  Task asked{.feature = "request",
             .target = Target::request,
             .release = {},
             .candidates = {batch1, batch2, mid},
             .frees = {}};
  of(asked.release, Resource::batch_cpu) = 1200;
  of(asked.release, Resource::mid_cpu) = 1500;
  asked.frees = [](const evict::Candidate& candidate) {
    return evict::asked({.release = {}, .batch = true, .mid = true}, true, *candidate.pod);
  };
  const auto names = [](const evict::Choice& choice) {
    Names all;
    for (const auto& victim : choice.victims)
      all.push_back(fmt::format("{} {}", victim.feature, victim.pod->name));
    return all;
  };
  const auto free = [](const PodInfo&) { return Standing::free; };
  const std::vector<Task> both{used, asked};
  const auto choice = evict::choose(both, free, 10);
  // Both batch pods go for their memory, and that is enough batch CPU, too.
  CHECK(names(choice) == Names{"use batch1", "use batch2", "request mid"});
  CHECK(choice.satisfied == std::vector<bool>{true, true});
  CHECK(names(evict::choose(both, free, 1)) == Names{"use batch1"});

  // The original's rows of what is going already.
  Task wants{.feature = "use", .target = Target::used, .release = {}, .candidates = {}, .frees = used.frees};
  of(wants.release, Resource::memory) = 2048 * kMi;
  const auto marked = [](const PodInfo& one) {
    return one.name == "marked" ? Standing::pending : Standing::free;
  };
  wants.candidates = {pod("marked", 5500, {}, 2048 * kMi), pod("other", 5500, {}, 1024 * kMi)};
  CHECK(names(evict::choose({&wants, 1}, marked, 10)).empty());
  wants.candidates = {pod("marked", 5500, {}, 1024 * kMi), pod("other", 5500, {}, 2048 * kMi)};
  CHECK(names(evict::choose({&wants, 1}, marked, 10)) == Names{"use other"});
  // Who is going counts, whoever's turn it is.
  wants.candidates = {pod("other", 5500, {}, 2048 * kMi), pod("marked", 5500, {}, 2048 * kMi)};
  CHECK(names(evict::choose({&wants, 1}, marked, 10)).empty());
}

TEST_CASE("A task goes on until nothing is missing of any of its resources", "[koordlet][evict]") {
  struct Case {
    std::int64_t cpu, memory;              // to be freed
    std::int64_t frees_cpu, frees_memory;  // by each of four pods
    std::size_t victims;
    bool satisfied;
  };
  // The original's rows of what is left after something was freed.
  const Case cases[] = {
      {500, 1024, 500, 1024, 1, true}, {500, 1024, 400, 512, 2, true},   {500, 1024, 400, 0, 2, false},
      {400, 1024, 500, 0, 1, false},   {-400, 1024, 0, 1024, 1, true},   {0, 1024, 400, 1024, 1, true},
      {800, 1024, 500, 1024, 2, true}, {0, 2048, 500, 1024, 2, true},    {0, 0, 500, 1024, 0, true},
      {100, 1024, 0, 0, 0, false},     {5000, 100, 500, 1024, 4, false},
  };
  for (const Case& one : cases) {
    Task task{.feature = "use", .target = Target::used, .release = {}, .candidates = {}, .frees = {}};
    of(task.release, Resource::cpu) = one.cpu;
    of(task.release, Resource::memory) = one.memory;
    for (const char* name : {"a", "b", "c", "d"}) {
      auto info = std::make_shared<PodInfo>();
      info->uid = info->name = name;
      task.candidates.push_back({info, 0});
    }
    task.frees = [&](const evict::Candidate&) {
      evict::Amounts amounts{};
      of(amounts, Resource::cpu) = one.frees_cpu;
      of(amounts, Resource::memory) = one.frees_memory;
      return amounts;
    };
    const auto choice = evict::choose(
        {&task, 1}, [](const PodInfo&) { return Standing::free; }, 10);
    CAPTURE(one.cpu, one.memory, one.frees_cpu, one.frees_memory);
    CHECK(choice.victims.size() == one.victims);
    CHECK(choice.satisfied == std::vector<bool>{one.satisfied});
  }
}

TEST_CASE("Percentages that are missing, negative or in the wrong order", "[koordlet][evict]") {
  struct Case {
    std::optional<std::int64_t> threshold, lower;
    bool by_default, required;  // good where the lower one has a default; where it has to be said
    std::int64_t lower_mark;
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(),
                 kLeast = std::numeric_limits<std::int64_t>::min();
  // The original's rows, of CPU and memory, by use and by requests.
  const Case cases[] = {
      {{}, {}, false, false, 0},      {-1, {}, false, false, 0},       {-1, -5, false, false, 0},
      {20, {}, true, false, 18},      {20, 30, false, false, 0},       {20, 10, true, true, 10},
      {80, {}, true, false, 78},      {80, 90, false, false, 0},       {80, 80, false, false, 0},
      {80, 70, true, true, 70},       {85, 75, true, true, 75},        {90, 0, true, true, 0},
      {120, 100, true, true, 100},    {kMost, kMost, false, false, 0}, {kMost, {}, true, false, kMost - 2},
      {80, kLeast, true, true, -100}, {0, {}, true, false, -2},
  };
  for (const Case& one : cases) {
    const auto used = evict::marks(one.threshold, one.lower, evict::Lower::by_default);
    const auto requested = evict::marks(one.threshold, one.lower, evict::Lower::required);
    CHECK(used.nonsense.empty() == one.by_default);
    CHECK(requested.nonsense.empty() == one.required);
    for (const auto* marks : {&used, &requested})
      if (marks->nonsense.empty()) CHECK(marks->lower == one.lower_mark);
  }
  CHECK(evict::percent_of(kMost, 1) == kMost);
  CHECK(evict::percent_of(kMost, kMost) == 100);
  CHECK(evict::part_of(kMost, 200) == kMost);
  CHECK(evict::part_of(kMost, kLeast) == kLeast);
  CHECK(evict::part_of(120'000'000'000, 13) == 15'600'000'000);
}

TEST_CASE("Absurd percentages evict those who would free something, or nobody", "[koordlet][evict]") {
  struct Case {
    std::int64_t threshold, lower;
    Names victims;
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max(),
                 kLeast = std::numeric_limits<std::int64_t>::min();
  const Case cases[] = {{80, kLeast, {"large", "small"}}, {kMost, kLeast, {}}, {kMost, 0, {}}};
  const bool by_use = GENERATE(true, false);
  for (const Case& one : cases) {
    EvictRig rig(by_use ? "BEMemoryEvict=true" : "MemoryAllocatableEvict=true");
    auto& slo = rig.slo();
    slo.memory_evict_threshold_percent = slo.memory_allocatable_evict_threshold_percent = one.threshold;
    slo.memory_evict_lower_percent = slo.memory_allocatable_evict_lower_percent = one.lower;
    slo.allocatable_evict_priority_threshold = 5999;
    rig.inventory.node.extended = {{"kubernetes.io/batch-memory", 1'000'000}};
    const auto pod = [](std::string name, std::int64_t asked, double used) {
      return EvictRow{std::move(name), Qos::be, 5000, used, 1, {.batch_memory = asked}, enabled()};
    };
    rig.pods({pod("small", 1'000'000, 1), pod("large", std::int64_t{1} << 50, 2), pod("idle", 0, kUnknown)});
    rig.node_memory = 115;
    CHECK(rig.tick_for() == one.victims);
  }
}

TEST_CASE("What is asked beyond the node's batch and mid resources", "[koordlet][evict]") {
  struct Case {
    std::vector<std::pair<std::string, std::int64_t>> has;  // of the node
    std::vector<EvictRow> pods;
    std::int32_t priority;
    std::int64_t batch, mid;
    std::int64_t threshold = 80, lower = 70;
  };
  const auto batch = [](std::string name, std::int64_t asked, std::int32_t priority = 5000) {
    return EvictRow{std::move(name), Qos::be, priority, 1, 1, {.batch_cpu = asked, .batch_memory = asked}};
  };
  const auto mid = [](std::string name, std::int64_t asked) {
    return EvictRow{std::move(name),
                    Qos::ls,
                    7000,
                    1,
                    1,
                    {.cpu = asked, .memory = asked, .mid_cpu = asked, .mid_memory = asked}};
  };
  const Case cases[] = {
      {{{"batch", 100}}, {batch("1", 0, 100), batch("2", 0, 100)}, 5999, 0, 0},
      {{{"batch", 100'000}}, {batch("1", 45'000), batch("2", 40'000)}, 5999, 15'000, 0},
      {{{"batch", 100'000}}, {batch("1", 40'000), batch("2", 40'000)}, 5999, 0, 0},  // not beyond 80%
      {{{"batch", 100'000}, {"mid", 100'000}}, {batch("1", 85'000), mid("2", 85'000)}, 7999, 15'000, 15'000},
      {{{"batch", 100'000}, {"mid", 100'000}}, {batch("1", 85'000), mid("2", 85'000)}, 5999, 15'000, 0},
      {{{"mid", 100'000}}, {batch("1", 85'000)}, 5999, 85'000, 0},  // there is none: all of it
      {{{"batch", 0}}, {batch("1", 85'000)}, 5999, 85'000, 0},
      // Amounts that divide evenly are not beyond the threshold; what is lent twice over is.
      {{{"batch", 50'000}}, {batch("1", 40'000)}, 5999, 0, 0},
      {{{"batch", 50'000}}, {batch("1", 100'000)}, 5999, 65'000, 0},
      {{{"batch", 100'000}}, {batch("1", 50'000)}, 5999, 50'000, 0, 0, 0},
      // Plain CPU is nothing that eviction by requests could set right.
      {{}, {{"free", Qos::ls, 3500, 1, 1, {.cpu = 900'000}}}, 7999, 0, 0},
  };
  const bool cpu = GENERATE(true, false);
  for (const Case& one : cases) {
    EvictRig rig("");
    rig.pods(one.pods);
    for (const auto& [name, value] : one.has)
      rig.inventory.node.extended.push_back(
          {fmt::format("kubernetes.io/{}-{}", name, cpu ? "cpu" : "memory"), value});
    const auto over = evict::overcommit(rig.inventory, cpu, one.priority, one.threshold, one.lower);
    CHECK(of(over.release, cpu ? Resource::batch_cpu : Resource::batch_memory) == one.batch);
    CHECK(of(over.release, cpu ? Resource::mid_cpu : Resource::mid_memory) == one.mid);
    CHECK(over.batch == one.batch > 0);
    CHECK(over.mid == one.mid > 0);
  }
}

TEST_CASE("Pods go until no more is asked than may be, by CPU and by memory", "[koordlet][evict]") {
  const bool cpu = GENERATE(true, false);
  EvictRig rig(cpu ? "CPUAllocatableEvict=true" : "MemoryAllocatableEvict=true");
  auto& slo = rig.slo();
  (cpu ? slo.cpu_allocatable_evict_threshold_percent : slo.memory_allocatable_evict_threshold_percent) = 80;
  (cpu ? slo.cpu_allocatable_evict_lower_percent : slo.memory_allocatable_evict_lower_percent) = 70;
  slo.allocatable_evict_priority_threshold = 5999;
  rig.inventory.node.extended = {{cpu ? "kubernetes.io/batch-cpu" : "kubernetes.io/batch-memory", 100'000}};
  const auto batch = [&](std::string name, std::int64_t asked, EvictionTerms terms) {
    return EvictRow{std::move(name), Qos::be, 5000, 1, 1, {.batch_cpu = asked, .batch_memory = asked}, terms};
  };
  rig.pods(
      {batch("small", 20'000, enabled()), batch("large", 60'000, enabled()), batch("stays", 15'000, {})});
  rig.node_cpu = 1;
  Names expected{"large"};
  SECTION("the largest request first") {}
  SECTION("all three have to be said") {
    const int missing = GENERATE(0, 1, 2, 3);
    if (missing == 0) slo.allocatable_evict_priority_threshold.reset();
    if (missing == 1)
      slo.cpu_allocatable_evict_lower_percent = slo.memory_allocatable_evict_lower_percent = std::nullopt;
    if (missing == 2)
      slo.cpu_allocatable_evict_threshold_percent = slo.memory_allocatable_evict_threshold_percent =
          std::nullopt;
    if (missing == 3) slo.allocatable_evict_priority_threshold = 8000;  // koord-prod
    expected.clear();
  }
  SECTION("where there is none of it, all that asks for it goes") {
    rig.inventory.node.extended.clear();
    slo.allocatable_evict_priority_threshold = 5000;
    expected = {"large", "small"};
  }
  SECTION("a threshold beyond 100% is one, too") {
    slo.cpu_allocatable_evict_threshold_percent = slo.memory_allocatable_evict_threshold_percent = 120;
    expected.clear();
  }
  SECTION("an old list of pods says nothing of who asks for what") {
    rig.fresh_pods = false;
    expected.clear();
  }
  CHECK(rig.tick_for(25) == expected);
}

}  // namespace
}  // namespace koord::koordlet
