// What is told of attempts, and what of it is remembered, within bounds.
#include "koord/scheduling/engine/attempt_log.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{std::chrono::hours(1)};

Decision failed(const std::string& pod, std::string message, std::uint32_t attempt = 1) {
  Decision d;
  d.pod = make_pod(pod);
  d.outcome = Decision::Unschedulable{.message = std::move(message),
                                      .preemption = {.victims = {{make_pod("v"), false}}}};
  d.profile = "default-scheduler";
  d.attempts = attempt;
  return d;
}

TEST_CASE("equal outcomes in a row are one, with when it began and how often it was") {
  AttemptLog log(10);
  for (std::uint32_t i = 1; i <= 3; ++i) log.record(failed("p", "no cpu", i), kNow + i * 1s);
  log.record(failed("p", "no memory", 4), kNow + 4s);
  Decision bound;
  bound.pod = make_pod("p");
  bound.outcome = Decision::Bind{.node = Symbol("n")};
  bound.attempts = 5;
  log.record(bound, kNow + 5s);
  const auto known = log.of("default", "p");
  REQUIRE(known);
  CHECK(known->pod == "default/p");
  std::vector<std::string> all;
  for (const AttemptRecord& a : known->attempts)
    all.push_back(fmt::format("{} {} {} x{} #{} {}", a.outcome, a.node, a.message, a.times, a.attempt,
                              (a.last.wall() - a.first.wall()) / 1s));
  CHECK(all == std::vector<std::string>{"unschedulable  no cpu x3 #3 2", "unschedulable  no memory x1 #4 0",
                                        "bind n  x1 #5 0"});
  CHECK(api::decode<AttemptsRecord>(api::encode(*known)).value() == *known);
}

TEST_CASE("what is told of an attempt is kept, and stays where a later one has no time to tell it") {
  AttemptLog log(10);
  Decision d = failed("p", "no cpu");
  d.detail = std::make_shared<AttemptDetail>();
  d.detail->refusals.push_back(
      {"NodeResourcesFit", {"Insufficient cpu"}, 7, {Symbol("a"), Symbol("b")}, true});
  log.record(d, kNow);
  log.record(failed("p", "no cpu", 2), kNow + 1s);
  const AttemptRecord last = log.of("default", "p")->attempts.at(0);
  CHECK(last.times == 2);
  REQUIRE(last.refused.size() == 1);
  CHECK(last.refused[0].plugin == "NodeResourcesFit");
  CHECK(last.refused[0].nodes == 7);
  CHECK(last.refused[0].examples == std::vector<std::string>{"a", "b"});
}

TEST_CASE("it is bounded: pods, attempts of a pod, texts") {
  AttemptLog log(3);
  for (const char* pod : {"a", "b", "c", "a", "d"}) log.record(failed(pod, "no"), kNow);
  CHECK(log.size() == 3);
  CHECK(!log.of("default", "b"));
  CHECK(log.of("default", "a"));
  for (int i = 0; i < 100; ++i) log.record(failed("d", std::string(5000, 'x') + std::to_string(i)), kNow);
  const auto known = log.of("default", "d");
  CHECK(known->attempts.size() <= AttemptLog::kPerPod);
  for (const AttemptRecord& a : known->attempts) CHECK(a.message.size() <= 1024);
  AttemptLog none(0);
  none.record(failed("a", "no"), kNow);
  CHECK(none.size() == 0);
}

TEST_CASE("a pod that was made again under its name begins anew") {
  AttemptLog log(3);
  log.record(failed("p", "no"), kNow);
  Decision again = failed("p", "yes");
  again.pod = make_pod("p", "1", "", [](auto& p) { p.metadata.uid = "other"; });
  log.record(again, kNow);
  CHECK(log.of("default", "p")->attempts.size() == 1);
}

TEST_CASE("what is told of an attempt: who refused how many nodes, and the scores of the chosen one") {
  World world;
  world.engine.put_node(make_node("a", "1"));
  world.engine.put_node(make_node("b", "2"));
  world.engine.put_node(make_node("c", "8", "8Gi", [](auto& n) { n.spec.unschedulable = true; }));
  world.engine.put_pod(make_pod("p", "4"));
  const Decision failed = world.one();
  REQUIRE(failed.detail);
  std::vector<std::string> refusals;
  for (const auto& r : failed.detail->refusals) {
    std::vector<std::string_view> nodes;
    for (const Symbol& node : r.examples) nodes.push_back(node.view());
    refusals.push_back(
        fmt::format("{} {} {}: {}", r.nodes, r.plugin, r.reasons.at(0), fmt::join(nodes, " ")));
  }
  CHECK(refusals == std::vector<std::string>{"2 NodeResourcesFit Insufficient cpu: a b",
                                             "1 NodeUnschedulable node(s) were unschedulable: c"});
  world.engine.details().tell_scores(2);
  world.engine.put_pod(make_pod("q", "1"));
  const Decision placed = world.one();
  REQUIRE(placed.detail);
  REQUIRE(placed.detail->scores.size() == 2);
  CHECK(placed.detail->scores[0].node == placed.node());
  std::int64_t total = 0;
  for (const auto& s : placed.detail->scores[0].scores) total += s.weight * s.score;
  CHECK(total == placed.detail->scores[0].total);
  CHECK(placed.detail->scores[0].total >= placed.detail->scores[1].total);
}

}  // namespace
}  // namespace koord::scheduling::test
