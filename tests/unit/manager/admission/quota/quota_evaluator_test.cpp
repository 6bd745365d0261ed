// Pods and the room of their quota: upstream's rows, and writes that meet others, on an API server that the
// test plays.
#include "admission/quota/quota_evaluator.hpp"

#include <catch2/catch.hpp>
#include <optional>

#include "admission/quota/amounts.hpp"
#include "admission/quota/quotas.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kChild = "quota.scheduling.koordinator.sh/child-request",
                           kLimit = "quota.scheduling.koordinator.sh/admission";

api::ResourceList amounts(std::string_view text) {
  return testing::version_of({.name = "x", .max = text})->max();
}

/// One quota, default/q, as the API server has it; the catalog sees only what it is told.
struct World {
  explicit World(std::string_view max, std::string_view child = {}, std::string_view limit = {}) {
    std::string annotations;
    for (const auto& [key, text] : {std::pair{kChild, child}, std::pair{kLimit, limit}})
      if (!text.empty())
        annotations += fmt::format(R"({}"{}":"{}")", annotations.empty() ? "" : ",", key, escaped(text));
    stored.read(testing::to_json({.name = "q", .max = max, .annotations = annotations}, "1")).value();
    catalog->set(now());
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.method == "PATCH") {
        ++writes;
        if (before_write) std::exchange(before_write, {})();
        if (!broken.empty()) return test::status_response(500, "InternalError", broken);
        const json::Document patch = json::parse(request.body).value();
        if (json::text_at(patch, "metadata", "resourceVersion") !=
            json::text_at(stored, "metadata", "resourceVersion"))
          return test::status_response(409, "Conflict", "it was modified");
        json::merge_patch(stored, patch, stored.arena());
        next_version();
      }
      return test::json_response(200, json::to_text(stored));
    };
  }
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '"' ? std::string("\\\"") : std::string(1, c);
    return out;
  }
  std::shared_ptr<const api::ElasticQuota> now() const {
    return std::make_shared<const api::ElasticQuota>(api::decode<api::ElasticQuota>(stored).value());
  }
  void next_version() {
    json::set_text(*json::find(stored, "metadata"), "resourceVersion", std::to_string(++version),
                   stored.arena());
  }
  /// Somebody else counts so much.
  void others_count(std::string_view child) {
    json::set_text(*json::find(stored, "metadata", "annotations"), kChild, child, stored.arena());
    next_version();
  }
  std::string child() const { return std::string(json::text_at(stored, "metadata", "annotations", kChild)); }
  /// The word on each of them, asked at once; "?" where there was none.
  std::vector<std::string> ask(const std::vector<std::string_view>& pods, bool dry_run = false) {
    std::vector<std::string> words(pods.size(), "?");
    for (std::size_t i = 0; i < pods.size(); ++i)
      tasks.spawn("pod", one(i, std::string(pods[i]), dry_run, words));
    for (int i = 0; i < 40; ++i) loop.advance(std::chrono::milliseconds(100));
    return words;
  }
  Task<> one(std::size_t index, std::string pod, bool dry_run, std::vector<std::string>& words) {
    const auto word = co_await evaluator.evaluate("default", "q", amounts(pod), dry_run);
    words[index] = word ? *word : word.error().message();
  }
  ~World() { test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1))); }

  json::Document stored;
  int version = 1, writes = 0;
  std::string broken;
  std::function<void()> before_write;
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  CapturedLog lines;
  std::shared_ptr<QuotaCatalog> catalog = std::make_shared<QuotaCatalog>(loop.clock);
  QuotaEvaluator evaluator{
      {.clock = loop.clock, .log = Logger(lines, loop.clock), .client = api, .catalog = catalog}};
  TaskGroup tasks{loop.executor()};
};

TEST_CASE("Who has room is counted, who has none is told what there is") {
  struct Row {
    std::string_view max, child, limit, pod, word, after;
  };
  for (const Row& row : {
           Row{"cpu=4", "", "", "cpu=2", "", R"({"cpu":"2"})"},
           Row{"cpu=4", R"({"cpu":"2"})", "", "cpu=2 memory=1Gi", "", R"({"cpu":"4"})"},
           Row{"cpu=4 memory=4Gi", R"({"cpu":"4"})", "", "cpu=2",
               "exceeded quota: default/q, requested: cpu=2, used: cpu=4, limited: cpu=4", R"({"cpu":"4"})"},
           Row{"cpu=4 memory=4Gi", R"({"cpu":"4","memory":"4Gi"})", "", "cpu=1 memory=1Gi",
               "exceeded quota: default/q, requested: cpu=1,memory=1Gi, used: cpu=4,memory=4Gi, limited: "
               "cpu=4,memory=4Gi",
               R"({"cpu":"4","memory":"4Gi"})"},
           Row{"cpu=4", "", "{}", "cpu=2", "", R"({"cpu":"2"})"},                 // no limit of its own
           Row{"cpu=4", "", R"({"memory":"0"})", "cpu=9", "", R"({"cpu":"9"})"},  // what it does not name
           Row{"cpu=4", "", R"({"cpu":"0"})", "cpu=1",
               "exceeded quota: default/q, requested: cpu=1, used: , limited: cpu=0", ""},
           Row{"cpu=4", "", R"({"cpu":"8"})", "cpu=6", "", R"({"cpu":"6"})"},
           Row{"cpu=4", R"({"cpu":"3"})", "", "memory=1Gi", "", R"({"cpu":"3"})"},  // nothing of its own
           Row{"cpu=4", R"({"cpu":"3"})", "", "cpu=0", "", R"({"cpu":"3"})"},
           Row{"example.com/x=1", "", "", "example.com/x=2", "", ""},  // no matter of pods
           Row{"kubernetes.io/batch-cpu=1k", "", "", "kubernetes.io/batch-cpu=500", "",
               R"({"kubernetes.io/batch-cpu":"500"})"},
       }) {
    CAPTURE(row.max, row.child, row.limit, row.pod);
    World world(row.max, row.child, row.limit);
    CHECK(world.ask({row.pod}) == std::vector<std::string>{std::string(row.word)});
    CHECK(world.child() == row.after);
    CHECK(world.writes == (row.after != row.child ? 1 : 0));
  }
  World broken("cpu=4", "{");
  CHECK_THAT(broken.ask({"cpu=1"}).front(), Catch::StartsWith(std::string(kChild)));
  CHECK(broken.writes == 0);
}

TEST_CASE("Pods at once share a write, in the order in which they came") {
  World world("cpu=10", R"({"cpu":"1"})");
  world.server.delay = std::chrono::milliseconds(50);
  const auto words = world.ask({"cpu=4", "cpu=4", "cpu=4", "cpu=1"});
  CHECK(words ==
        std::vector<std::string>{
            "", "", "exceeded quota: default/q, requested: cpu=4, used: cpu=9, limited: cpu=10", ""});
  CHECK(world.child() == R"({"cpu":"10"})");
  CHECK(world.writes == 2);  // the first pod's, and one for all who came meanwhile
}

TEST_CASE("A dry run has its answer and leaves no trace") {
  World world("cpu=4", R"({"cpu":"3"})");
  CHECK(world.ask({"cpu=1"}, true).front().empty());
  CHECK_THAT(world.ask({"cpu=2"}, true).front(), Catch::StartsWith("exceeded quota"));
  CHECK(world.writes == 0);
  CHECK(world.ask({"cpu=1"}).front().empty());
}

TEST_CASE("What was written a moment ago counts though the catalog has not seen it") {
  World world("cpu=4");
  CHECK(world.ask({"cpu=3"}).front().empty());
  CHECK(world.ask({"cpu=1"}).front().empty());
  CHECK_THAT(world.ask({"cpu=1"}).front(), Catch::StartsWith("exceeded quota"));
  // koord-scheduler takes back what was counted for pods that never came.
  world.others_count(R"({"cpu":"1"})");
  world.catalog->set(world.now());
  CHECK(world.ask({"cpu=3"}).front().empty());
}

TEST_CASE("A write that meets another's is decided anew: two replicas never count past the limit") {
  World world("cpu=4");
  world.before_write = [&] { world.others_count(R"({"cpu":"3"})"); };
  CHECK(world.ask({"cpu=2"}).front() ==
        "exceeded quota: default/q, requested: cpu=2, used: cpu=3, limited: cpu=4");
  CHECK(world.child() == R"({"cpu":"3"})");
  world.before_write = [&] { world.others_count(R"({"cpu":"2"})"); };
  CHECK(world.ask({"cpu=2"}).front().empty());
  CHECK(world.child() == R"({"cpu":"4"})");
}

TEST_CASE("Repetitions are bounded; who could not be counted is refused") {
  World world("cpu=4");
  world.broken = "the disk is full";
  CHECK_THAT(world.ask({"cpu=1"}).front(), Catch::Contains("the disk is full"));
  CHECK(world.writes == 4);
  CHECK(world.child().empty());
  world.broken.clear();
  CHECK(world.ask({"cpu=1"}).front().empty());
  for (const auto& [pods, most, retries] :
       {std::tuple{1, 3, 3}, std::tuple{1, 10, 3}, std::tuple{2, 10, 4}, std::tuple{7, 10, 5},
        std::tuple{8, 10, 6}, std::tuple{1000, 10, 10}, std::tuple{1000, 0, 3}, std::tuple{0, 10, 3}}) {
    CAPTURE(pods, most);
    CHECK(quota_write_retries(static_cast<std::size_t>(pods), most) == retries);
  }
}

TEST_CASE("Who is cut short in the middle leaves the work to who waits") {
  World world("cpu=4");
  world.server.delay = std::chrono::milliseconds(500);
  std::vector<std::string> words(2, "?");
  asio::cancellation_signal cut;
  asio::co_spawn(world.loop.context, world.one(0, "cpu=1", false, words),
                 asio::bind_cancellation_slot(cut.slot(), [](std::exception_ptr) {}));
  world.loop.advance(std::chrono::milliseconds(100));
  world.tasks.spawn("second", world.one(1, "cpu=2", false, words));
  world.loop.advance(std::chrono::milliseconds(100));
  cut.emit(asio::cancellation_type::terminal);
  for (int i = 0; i < 30; ++i) world.loop.advance(std::chrono::milliseconds(100));
  CHECK(words[1].empty());
  CHECK_THAT(world.child(), Catch::Contains("cpu"));
}

}  // namespace
}  // namespace koord::manager
