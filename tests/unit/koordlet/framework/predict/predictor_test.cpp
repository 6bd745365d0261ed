// The predictor: when it learns, what it keeps for the next agent, and what it makes of files that somebody
// else wrote, or half wrote.
#include "framework/predict/predictor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "framework/predict/peak_files.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPod = "0f3c5a4e-90ab-4cde-8123-456789abcdef";
constexpr std::string_view kStatic = "2d0b6cae50f6bdbc0b97a6ea0bd6d6a8";

/// One agent: its series, its models, and the folder that the next one has, too.
struct Agent {
  test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  WorkerPool workers{1};
  SeriesStore series{SeriesStore::Limits{}};
  Predictor predictor;
  std::shared_ptr<Inventory> inventory = std::make_shared<Inventory>();
  bool complete = true;

  explicit Agent(std::string folder, PredictorSettings settings = {})
      : predictor({loop.clock, log, workers, series}, settings, std::move(folder)) {
    loop.clock.advance(1h);
    inventory->pods_known = true;
    auto pod = std::make_shared<PodInfo>();
    pod->uid = kPod;
    pod->priority_class = PriorityClass::prod;
    inventory->pods = {pod};
  }
  void tick(double cpu = 2) {
    loop.clock.advance(1s);
    for (const auto& [metric, memory, entity] :
         {std::tuple(Metric::node_cpu, Metric::node_memory, std::string_view{}),
          std::tuple(Metric::pod_cpu, Metric::pod_memory, kPod)}) {
      series.append(*series.open(metric, entity), loop.clock.mono(), cpu);
      series.append(*series.open(memory, entity), loop.clock.mono(), 1e9);
    }
    TickView view;
    view.at = loop.clock.mono();
    view.wall = loop.clock.now();
    view.interval = 1s;
    view.inventory = inventory;
    view.node.cpu = cpu;
    view.complete = complete;
    predictor.tick(view);
  }
  void ticks(int count, double cpu = 2) {
    for (int i = 0; i < count; ++i) tick(cpu);
  }
  double samples(std::string_view uid = kPod) const {
    const PeakModel* const model = predictor.models().find(uid);
    if (model == nullptr) return 0;
    SavedHistogram saved;
    model->cpu.save(saved);
    return saved.total / std::exp2(std::chrono::duration<double>(loop.clock.now() - *saved.reference) / 12h);
  }
  void keep() {
    const Result<> kept = test::run_task(loop, predictor.keep(), true);
    REQUIRE(kept.has_value());
  }
};

TEST_CASE("It learns at once, then every minute") {
  Agent agent("");
  agent.tick();
  CHECK(agent.samples() == Approx(1).margin(0.01));
  agent.ticks(59);
  CHECK(agent.samples() == Approx(1).margin(0.01));
  agent.tick();
  CHECK(agent.samples() == Approx(2).margin(0.01));
  agent.ticks(600);
  CHECK(agent.samples() == Approx(12).margin(0.1));
}

TEST_CASE("It waits until all pods were measured, but not for ever") {
  Agent agent("");
  agent.complete = false;
  agent.ticks(60);
  CHECK(agent.predictor.models().size() == 0);
  agent.tick();
  CHECK(agent.predictor.models().find(kPod) != nullptr);
  SECTION("nor does it learn before pods are known") {
    Agent other("");
    other.inventory->pods_known = false;
    other.ticks(200);
    CHECK(other.predictor.models().size() == 0);
  }
}

TEST_CASE("What is learned is kept, a dozen files a minute, and the next agent goes on with it") {
  const testing::Tree tree;
  const std::string folder = tree.path() + "/";
  Amounts peak;
  {
    Agent agent(folder, {.checkpoints_at_once = 5});
    agent.ticks(61, 3);
    agent.keep();
    CHECK(host::list_folder(folder)->size() == 5);
    agent.keep();
    CHECK(host::list_folder(folder)->size() == 8);  // the pod, five classes, node and system
    agent.ticks(120, 7);
    agent.keep();  // nothing is due again for ten minutes
    peak = *agent.predictor.models().find(kPod)->peak();
  }
  Agent next(folder);
  next.predictor.restore();
  CHECK(next.predictor.models().size() == 8);
  CHECK(next.samples() == Approx(2).margin(0.01));
  CHECK(next.predictor.models().find(kPod)->peak()->cpu < peak.cpu);  // two of four samples were kept
  CHECK(next.captured.contains("prediction goes on with what was learned before"));
  next.tick(3);
  CHECK(next.samples() == Approx(3).margin(0.01));
}

TEST_CASE("A pod that has gone is forgotten after half an hour, its file too") {
  const testing::Tree tree;
  const std::string folder = tree.path() + "/";
  Agent agent(folder);
  agent.ticks(61);
  agent.keep();
  REQUIRE(host::exists(folder + std::string(kPod)));
  agent.inventory = std::make_shared<Inventory>(*agent.inventory);
  agent.inventory->pods.clear();
  agent.ticks(1800);
  agent.keep();
  CHECK(agent.predictor.models().find(kPod) != nullptr);
  agent.ticks(60);
  agent.keep();
  CHECK(agent.predictor.models().find(kPod) == nullptr);
  CHECK_FALSE(host::exists(folder + std::string(kPod)));
  CHECK(host::exists(folder + "__node-sys__"));
}

TEST_CASE("A folder that cannot be written is told once") {
  Agent agent("/proc/nowhere/");
  agent.predictor.restore();
  CHECK(agent.captured.count(LogLevel::warn) == 1);
  agent.tick();
  agent.keep();
  agent.ticks(700);
  agent.keep();
  CHECK(agent.captured.count(LogLevel::warn) == 2);
  CHECK(agent.samples() > 10);
}

/// As the original wrote it, of a node in China.
std::string original_file() {
  return R"({"UID":"x","CPU":{"referenceTimestamp":"2023-11-15T08:00:00+08:00","bucketWeights":{"10":10000,"2":5000},)"
         R"("totalWeight":3},"Memory":{"referenceTimestamp":"2023-11-15T08:00:00+08:00","bucketWeights":{"100":10000},)"
         R"("totalWeight":3},"LastUpdated":"2023-11-14T22:00:00Z"})"
         "\n";
}

TEST_CASE("Files of the original's: restored, refused, cleared away, passed over") {
  struct Row {
    std::string name, text;
    bool restored, stays;
  };
  const std::string pod(kPod), good = original_file();
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string bucket = R"("10":10000)";
  const Row rows[] = {
      {pod, good, true, true},
      {std::string(kStatic), good, true, true},
      {"__node-koord-prod__", good, true, true},
      {"__node-__", good, true, true},
      // An empty histogram, as the original writes it.
      {pod,
       R"({"UID":"x","CPU":{"referenceTimestamp":"0001-01-01T00:00:00Z"},"Memory":{"referenceTimestamp":"0001-01-01T00:00:00Z"},"LastUpdated":null})",
       true, true},
      {pod, "", false, false},
      {pod, good.substr(0, 90), false, false},
      {pod, "[]", false, false},
      {pod, R"({"UID":"x","CPU":null,"Memory":null,"LastUpdated":null})", false, false},
      {pod, with(bucket, R"("-1":10000)"), false, false},
      {pod, with(bucket, R"("158":10000)"), false, false},
      {pod, with(bucket, R"("010":1,"10":10000)"), false, false},
      {pod, with(bucket, R"("10":4294967296)"), false, false},
      {pod, with(bucket, R"("10":-1)"), false, false},
      {pod, with(bucket, R"("10":"1")"), false, false},
      {pod, with(R"("totalWeight":3)", R"("totalWeight":-3)"), false, false},
      {pod, with(R"("totalWeight":3)", R"("totalWeight":1e300)"), false, false},
      {pod, with("2023-11-15T08:00", "2024-11-15T08:00"), false, false},
      {pod, with("2023-11-15T08:00:00+08:00", "yesterday"), false, false},
      {pod, with(R"("LastUpdated":"2023)", R"("LastUpdated":"2024)"), false, false},
      {pod, std::string(100'000, ' ') + good, false, false},
      // What a crash left, of either program.
      {pod + ".tmp", good, false, false},
      {pod + ".new", good.substr(0, 30), false, false},
      // Somebody else's.
      {"notes.txt", "hello", false, true},
      {"notes.txt.tmp", "hello", false, true},
      {"throttled", good, false, true},
      {"lost+found/x", "hello", false, true},
      {pod + "/x", "hello", false, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name, row.text);
    const testing::Tree tree{{row.name, row.text}};
    Agent agent(tree.path() + "/");
    agent.predictor.restore();
    CHECK(agent.predictor.models().size() == (row.restored ? 1 : 0));
    CHECK(host::exists(tree / row.name) == row.stays);
  }
}

TEST_CASE("Links and pipes are not followed, and nothing waits for them") {
  const testing::Tree tree{{"target", original_file()}};
  const testing::Tree folder;
  REQUIRE(::symlink((tree / "target").c_str(), (folder / std::string(kPod)).c_str()) == 0);
  REQUIRE(::mkfifo((folder / std::string(kStatic)).c_str(), 0600) == 0);
  Agent agent(folder.path() + "/");
  agent.predictor.restore();
  CHECK(agent.predictor.models().size() == 0);
  CHECK(host::exists(tree / "target"));
}

TEST_CASE("Of many files that are of no use a few are told, and of many good ones so many taken") {
  testing::Tree tree;
  for (int i = 0; i < 50; ++i) {
    const std::string uid = "00000000-0000-0000-0000-0000000000" + std::to_string(10 + i);
    tree.write(uid, i < 30 ? "{" : original_file());
  }
  Agent agent(tree.path() + "/", {.limits = {.most = 15}});
  agent.predictor.restore();
  CHECK(agent.predictor.models().size() == 15);
  CHECK(agent.captured.count(LogLevel::warn) == 9);
}

TEST_CASE("A file reads back as what was written, and the original's is written alike") {
  const auto read = read_peaks(original_file());
  REQUIRE(read.has_value());
  PeakModels models({});
  const WallTime now{1'700'000'000s};
  REQUIRE(models.restore("x", read->cpu, read->memory, MonoTime{}, now).has_value());
  std::string text;
  write_peaks("x", *models.find("x"), now, text);
  CHECK(
      text ==
      R"({"UID":"x","CPU":{"referenceTimestamp":"2023-11-15T00:00:00Z","bucketWeights":{"2":5000,"10":10000},)"
      R"("totalWeight":3},"Memory":{"referenceTimestamp":"2023-11-15T00:00:00Z","bucketWeights":{"100":10000},)"
      R"("totalWeight":3},"LastUpdated":"2023-11-14T22:13:20Z"})"
      "\n");
}

TEST_CASE("A crash between two files, or within one, costs what was not written and no more") {
  // What replace_file() leaves at any point: the old file, with or without a new one beside it, or the new
  // one.
  const std::string pod(kPod);
  for (const std::size_t written :
       {std::size_t{0}, std::size_t{1}, original_file().size() / 2, original_file().size()}) {
    const testing::Tree tree{{pod, original_file()},
                             {"__node-sys__", original_file()},
                             {pod + ".new", original_file().substr(0, written)}};
    Agent agent(tree.path() + "/");
    agent.predictor.restore();
    CHECK(agent.predictor.models().size() == 2);
    CHECK(host::list_folder(tree.path())->size() == 2);
    agent.tick();
    agent.keep();
    CHECK(host::list_folder(tree.path())->size() == 8);
  }
}

}  // namespace
}  // namespace koord::koordlet
