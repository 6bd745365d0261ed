// Collectors that ask somebody else: throw-away ones, in the sampler as the agent runs it.
#include "framework/sampler/asking.hpp"

#include <catch2/catch.hpp>

#include "framework/sampler/sampler.hpp"
#include "koord/async/event.hpp"
#include "koord/host/command.hpp"
#include "koord/host/text.hpp"
#include "rigs/fake_node.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using std::chrono::seconds;

/// What the throw-away collectors measure. Nobody but they and this test knows the type.
struct Reading {
  int value = 0;
  std::size_t pods = 0;  // of the inventory for which it was asked
};

/// Whom the collector asks, played by the test.
struct Other {
  Event answers;
  int value = 0;
  int asked = 0;
  bool fails = false, deaf = false;  // deaf: what asks it cannot be stopped
  Suspension never;
};
Other* other = nullptr;

class AskingOther final : public AskingCollector<Reading> {
 public:
  explicit AskingOther(const CollectorContext&) {}

 private:
  Task<Result<Reading>> answer(std::shared_ptr<const Inventory> inventory) override {
    ++other->asked;
    if (other->deaf) (void)co_await other->never.wait([] { return !other->deaf; });
    KOORD_CO_CHECK(co_await other->answers.wait());
    if (other->fails) co_return Error(Code::io, "the device is gone");
    co_return Reading{other->value, inventory->pods.size()};
  }
};
const CollectorEntry kOther{
    .name = "other", .period = seconds(10), .patience = seconds(4), .make = &make_collector<AskingOther>};

/// Another one asks a program.
std::string script;
class AskingProgram final : public AskingCollector<Reading> {
 public:
  explicit AskingProgram(const CollectorContext& context)
      : program_(*context.loop.clock, {.arguments = {"/bin/sh", "-c", script}, .limit = seconds(3)}) {}

 private:
  Task<Result<Reading>> answer(std::shared_ptr<const Inventory>) override {
    KOORD_CO_TRY(text, co_await program_.run());
    Reading reading;
    if (!host::to_number(host::trimmed(text), reading.value)) co_return Error(Code::parse, "no number");
    co_return reading;
  }
  host::CommandRunner program_;
};
const CollectorEntry kProgram{
    .name = "program", .period = seconds(2), .patience = seconds(10), .make = &make_collector<AskingProgram>};

struct Bench {
  explicit Bench(const CollectorEntry& row, bool has_loop = true)
      : table{&row},
        sampler({}, table, fs, node.root(), series, registry, Logger(log, loop.clock), {},
                has_loop ? CollectorLoop{&tasks, &loop.clock} : CollectorLoop{}) {
    other = &played;
  }
  ~Bench() { stop(); }
  void stop() {
    played.deaf = false;
    played.never.resume();
    test::run_task(loop, tasks.stop(loop.clock, seconds(1)), true);
  }
  /// The next second.
  const TickView& tick() {
    loop.advance(seconds(1));
    const TickView& view = sampler.tick(now, loop.clock.mono(), loop.clock.now());
    loop.settle();
    return view;
  }
  const TickView& ticks(int count) {
    for (int i = 1; i < count; ++i) tick();
    return tick();
  }
  bool gauge() {
    return registry.exposition().find("koordlet_collector_available{collector=\"other\"} 1\n") !=
           std::string::npos;
  }
  Availability told() { return sampler.availability().front(); }

  testing::FakeNode node{host::CgroupVersion::v2};
  test::Loop loop;
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  host::CgroupFs fs = node.cgroups();
  Other played;
  std::optional<Error> failure;
  TaskGroup tasks{loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
  std::vector<const CollectorEntry*> table;
  Sampler sampler;
  std::shared_ptr<Inventory> now = testing::inventory({testing::pod("a", Qos::ls, 1)});
};

TEST_CASE("An answer is in the view of a later tick, with the age of its question") {
  Bench bench(kOther);
  bench.played.value = 7;
  CHECK(bench.tick().find<Reading>() == nullptr);
  CHECK_FALSE(bench.tick().age<Reading>());
  CHECK(bench.told().reason == "it has not answered yet");
  CHECK_FALSE(bench.gauge());
  bench.played.answers.set();
  bench.loop.settle();
  CHECK(bench.sampler.view().find<Reading>() == nullptr);  // a view stays what it is until the next tick
  {
    const TickView& view = bench.tick();
    REQUIRE(view.find<Reading>() != nullptr);
    CHECK(view.find<Reading>()->value == 7);
    CHECK(view.find<Reading>()->pods == 1);
    CHECK(*view.age<Reading>() == seconds(2));
  }
  CHECK(bench.told().works);
  CHECK(bench.gauge());
  CHECK(*bench.ticks(7).age<Reading>() == seconds(9));
  CHECK(bench.played.asked == 1);
  // Ten seconds after the first question the second one, whose answer is there at once, but not in its tick.
  bench.played.value = 8;
  bench.now = testing::inventory({});
  CHECK(bench.tick().find<Reading>()->value == 7);
  CHECK(bench.played.asked == 2);
  const TickView& view = bench.tick();
  CHECK(view.find<Reading>()->value == 8);
  CHECK(view.find<Reading>()->pods == 0);
  CHECK(*view.age<Reading>() == seconds(1));
  CHECK(bench.log.count(LogLevel::warn) == 0);
}

TEST_CASE("Who does not answer holds up no tick, is told of once, and is asked again") {
  Bench bench(kOther);
  bench.played.answers.set();
  bench.ticks(2);
  REQUIRE(bench.sampler.view().find<Reading>() != nullptr);
  bench.played.answers.reset();
  bench.ticks(9);  // asked for the second time
  CHECK(bench.played.asked == 2);
  CHECK(bench.told().works);
  bench.ticks(5);
  CHECK_FALSE(bench.told().works);
  CHECK(bench.told().reason == "it did not answer within 4 s");
  CHECK_FALSE(bench.gauge());
  CHECK(*bench.sampler.view().age<Reading>() == seconds(15));  // what it said last stays, and grows old
  bench.ticks(10);
  CHECK(bench.played.asked == 3);
  CHECK(bench.log.count(LogLevel::warn) == 1);
  bench.played.answers.set();
  bench.ticks(6);
  CHECK(bench.told().works);
  CHECK(bench.gauge());
  CHECK(bench.log.contains("a collector answers again"));
  CHECK(bench.sampler.stats().ticks == 32);
  CHECK_FALSE(bench.failure);
}

TEST_CASE("Who cannot even be stopped is asked no second time before he answers") {
  Bench bench(kOther);
  bench.played.deaf = true;
  bench.played.answers.set();
  bench.ticks(30);
  CHECK(bench.played.asked == 1);
  CHECK(bench.told().reason == "it has not answered for 29 s");
  CHECK(bench.log.count(LogLevel::warn) == 1);
  bench.played.deaf = false;
  bench.played.never.resume();
  bench.ticks(2);
  CHECK(bench.played.asked == 2);  // overdue
  CHECK(bench.tick().find<Reading>() != nullptr);
  CHECK(bench.told().works);
}

TEST_CASE("An error is told, and an agent that ends waits for nobody's answer") {
  Bench bench(kOther);
  bench.played.answers.set();
  bench.played.fails = true;
  bench.ticks(2);
  CHECK(bench.told().reason == "the device is gone");
  CHECK(bench.log.contains("the device is gone"));
  bench.played.answers.reset();
  bench.ticks(9);
  CHECK(bench.tasks.size() == 1);
  bench.stop();
  CHECK(bench.tasks.size() == 0);
  CHECK_FALSE(bench.failure);
}

TEST_CASE("Without an event loop nobody is asked") {
  Bench bench(kOther, false);
  bench.ticks(5);
  CHECK(bench.played.asked == 0);
  CHECK(bench.sampler.availability().empty());
}

TEST_CASE("A program is asked beside the ticks: it answers, hangs, and answers again") {
  const koord::testing::Tree tree{{"value", "41\n"}};
  script = fmt::format("cd {}; test -e hang && echo > hung && exec /bin/sleep 1000; read x < value; echo $x",
                       tree.path());
  Bench bench(kProgram);
  // The kernel's time passes while it runs, the test's does not.
  const auto idle = [&] {
    while (bench.tasks.size() > 0) {
      bench.loop.context.restart();
      bench.loop.context.run_one();
    }
  };
  bench.tick();
  idle();
  CHECK(bench.tick().find<Reading>()->value == 41);
  CHECK(*bench.sampler.view().age<Reading>() == seconds(1));
  koord::testing::Tree::write_to(tree / "value", "42\n");
  bench.tick();
  idle();
  CHECK(bench.tick().find<Reading>()->value == 42);
  koord::testing::Tree::write_to(tree / "hang", "");
  bench.tick();
  while (!std::filesystem::exists(tree / "hung")) bench.loop.settle();
  std::filesystem::remove(tree / "hang");
  bench.ticks(2);
  CHECK(bench.sampler.view().find<Reading>()->value == 42);
  bench.ticks(2);  // its limit of 3 s is over
  idle();
  bench.ticks(3);
  idle();
  bench.tick();
  CHECK(bench.log.contains("/bin/sh: not done after 3000 ms"));
  CHECK(bench.told().works);
  CHECK(*bench.sampler.view().age<Reading>() <= seconds(3));
}

}  // namespace
}  // namespace koord::koordlet
