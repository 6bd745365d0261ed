// History: a node's half hour is bounded whatever comes, and says what was.
#include "view/page/history.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::view;
using namespace std::chrono_literals;

namespace {

constexpr MonoTime kBegin{1h};

Usage usage(double prod, double batch = 0) {
  Usage out;
  out.cpu[0] = prod;
  out.cpu[2] = batch;
  out.memory[0] = prod * 1024 * 1024 * 1024;
  out.lent_cpu = 2 * prod;
  return out;
}

std::string written(const History& history, MonoTime now) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  history.write(json, now);
  json.end_object();
  return out;
}

}  // namespace

TEST_CASE("samples are told with their tiers, what is lent and the pods") {
  History history;
  history.add(kBegin, usage(1.5, 0.25), std::vector<PodUsage>{{"a/x", 0, 1.5}, {"a/y", 2, 0.25}});
  history.add(kBegin + 60s, usage(2), std::vector<PodUsage>{{"a/x", 0, 2}});
  CHECK(
      written(history, kBegin + 90s) ==
      R"({"seconds":[-90,-30],"cpu":[[1.5,2],[0,0],[0.25,0],[0,0],[0,0],[0,0]],)"
      R"("memory":[[1610612736,2147483648],[0,0],[0,0],[0,0],[0,0],[0,0]],"lent":[3,4],)"
      R"("pods":[{"name":"a/x","tier":"koord-prod","cpu":[1.5,2]},{"name":"a/y","tier":"koord-batch","cpu":[0.25,0]}]})");
}

TEST_CASE("what is older than half an hour goes, and a pod with it") {
  History history;
  history.add(kBegin, usage(1), std::vector<PodUsage>{{"a/old", 0, 1}});
  history.add(kBegin + 20min, usage(1), {});
  CHECK(history.pods() == 1);
  history.add(kBegin + 31min, usage(1), {});
  CHECK(history.size() == 2);
  CHECK(history.pods() == 0);
}

TEST_CASE("fast samples thin themselves out, the newest stays and the window is kept") {
  const auto period = GENERATE(1s, 7s, 28s, 60s);
  History history;
  MonoTime at = kBegin;
  for (int i = 0; i < 4000; ++i) {
    at = kBegin + i * period;
    history.add(at, usage(i % 50), std::vector<PodUsage>{{"a/x", 0, 1}});
    REQUIRE(history.size() <= History::kSamples);
  }
  const std::string text = written(history, at);
  const auto document = json::parse(text);
  REQUIRE(document.has_value());
  const json::Value* seconds = json::find(*document, "seconds");
  REQUIRE(seconds != nullptr);
  CHECK(history.size() >= 25);
  // From about half an hour ago ...
  CHECK((text.starts_with("{\"seconds\":[-17") || text.starts_with("{\"seconds\":[-18")));
  CHECK(text.find(",0],\"cpu\"") != std::string::npos);  // ... to now
}

TEST_CASE("times that do not go on say nothing") {
  History history;
  history.add(kBegin, usage(1), {});
  history.add(kBegin, usage(2), {});
  history.add(kBegin - 1s, usage(3), {});
  CHECK(history.size() == 1);
}

TEST_CASE("pods are bounded to those that use most; names that are none are left out") {
  History history;
  std::vector<PodUsage> pods;
  for (int i = 0; i < 500; ++i) pods.push_back({fmt::format("a/pod-{}", i), 2, 0.01 * i});
  pods.push_back({std::string(10'000, 'x'), 0, 1000});
  history.add(kBegin, usage(1), pods);
  CHECK(history.pods() == History::kPods);
  CHECK(written(history, kBegin).find("a/pod-499\"") != std::string::npos);
  CHECK(written(history, kBegin).find("a/pod-400\"") == std::string::npos);
  for (int i = 1; i < 200; ++i)
    history.add(kBegin + i * 30s, usage(1), std::vector<PodUsage>{{fmt::format("b/{}", i), 0, 100.0 + i}});
  CHECK(history.pods() <= History::kPods);
  CHECK(written(history, kBegin + 200 * 30s).find("\"b/199\"") != std::string::npos);
}

TEST_CASE("amounts beyond all machines are clamped") {
  History history;
  history.add(kBegin, usage(1e30, -5), std::vector<PodUsage>{{"a/x", 0, 1e30}});
  CHECK(written(history, kBegin).find("655.35") != std::string::npos);
  CHECK(written(history, kBegin).find('-') == written(history, kBegin).find("koord-prod") + 5);
}
