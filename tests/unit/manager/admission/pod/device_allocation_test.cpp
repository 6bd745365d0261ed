// Who changes the devices of a pod: those who may bind it.
#include "admission/pod/device_allocation.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <exception>
#include <vector>

#include "admission/handler_rig.hpp"
#include "koord/async/timer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::manager {
namespace {

using testing::Asked;
using testing::HandlerRig;
using enum Operation;

constexpr std::string_view kNone = R"({"metadata":{}})",
                           kGiven =
                               R"({"metadata":{"annotations":{"scheduling.koordinator.sh/device-allocated":)"
                               R"("{\"gpu\":[{\"minor\":0}]}"}}})",
                           kOther =
                               R"({"metadata":{"annotations":{"scheduling.koordinator.sh/device-allocated":)"
                               R"("{\"gpu\":[{\"minor\":1}]}","a":"b"}}})",
                           kEmpty =
                               R"({"metadata":{"annotations":{"scheduling.koordinator.sh/device-allocated":)"
                               R"("","a":"b"}}})",
                           kGarbled = R"({"metadata":{"annotations":7}})";

struct World {
  test::Loop loop;
  HandlerRig rig;
  std::vector<std::string> asked;  // "user ns"
  Result<bool> answer = true;
  nanoseconds takes{0};
  DevicesValidating handler{
      {.clock = loop.clock,
       .log = rig.log(),
       .registry = rig.registry,
       .may_bind = [this](Subject who, std::string ns) { return told(std::move(who), std::move(ns)); }}};

  Task<Result<bool>> told(Subject who, std::string ns) {
    asked.push_back(fmt::format("{} {}", who.user, ns));
    if (takes > nanoseconds::zero()) KOORD_CO_CHECK(co_await sleep(loop.clock, takes));
    co_return answer;
  }
  /// What is left for later, if it is, is not awaited.
  Verdict begin(Asked asked) {
    asked.operation = update;
    return rig.ask(handler, asked);
  }
  Verdict ask(const Asked& asked) {
    Verdict verdict = begin(asked);
    return verdict.later ? test::run_task(loop, verdict.later()).value() : verdict;
  }
  Verdict ask(std::string_view before, std::string_view now, std::string_view user = "author",
              std::string_view subresource = {}) {
    return ask({.subresource = subresource, .object = now, .old_object = before, .username = user});
  }
};

TEST_CASE("The devices of a pod are changed by who may bind it, whatever the change, and by nobody else") {
  struct Row {
    std::string_view before, now;
    bool is_change;
  };
  const Row rows[] = {{kNone, kGiven, true},    {kGiven, kNone, true},   {kGiven, kOther, true},
                      {kNone, kEmpty, true},    {kGiven, kGiven, false}, {kNone, kNone, false},
                      {kGarbled, kNone, false}, {kGiven, kGarbled, true}};
  for (const Row& row : rows) {
    CAPTURE(row.before, row.now);
    World world;
    world.answer = false;
    const Verdict refused = world.ask(row.before, row.now);
    CHECK(refused.allowed != row.is_change);
    CHECK(world.asked.size() == (row.is_change ? 1U : 0U));
    if (row.is_change) {
      CHECK(refused.code == 400);
      CHECK(
          refused.message ==
          "annotations.scheduling.koordinator.sh/device-allocated: Forbidden: only the scheduler says which "
          "devices a pod is given, and user author may not bind pods");
      CHECK(world.asked.front() == "author default");
    }
    world.answer = true;
    world.loop.advance(DevicesValidating::kBad);
    CHECK(world.ask(row.before, row.now).allowed);
    CHECK(world.ask(row.before, row.now, "author", "status").allowed);
  }
}

TEST_CASE("A yes is good for ten seconds, a no for two, for its user alone") {
  World world;
  CHECK(world.ask(kNone, kGiven, "scheduler").allowed);
  CHECK(world.ask(kNone, kGiven, "scheduler").allowed);
  CHECK(world.asked.size() == 1);
  world.answer = false;
  CHECK_FALSE(world.ask(kNone, kGiven, "author").allowed);
  CHECK_FALSE(world.ask(kNone, kGiven, "author").allowed);
  CHECK(world.asked.size() == 2);
  CHECK(world.ask(kNone, kGiven, "scheduler").allowed);
  world.answer = true;
  CHECK_FALSE(world.ask(kNone, kGiven, "author").allowed);
  world.loop.advance(DevicesValidating::kBad);
  CHECK(world.ask(kNone, kGiven, "author").allowed);
  CHECK(world.asked.size() == 3);
  world.answer = false;
  world.loop.advance(DevicesValidating::kGood);
  CHECK_FALSE(world.ask(kNone, kGiven, "scheduler").allowed);
}

TEST_CASE("A change passes unanswered where the manager has no right to ask, and nowhere else") {
  struct Row {
    Code code;
    bool passes;
  };
  for (const Row& row :
       {Row{Code::forbidden, true}, Row{Code::not_found, true}, Row{Code::unsupported, true},
        Row{Code::timeout, false}, Row{Code::unavailable, false}, Row{Code::too_many_requests, false},
        Row{Code::server_error, false}, Row{Code::unauthorized, false}, Row{Code::invalid, false},
        Row{Code::bad_request, false}, Row{Code::io, false}, Row{Code::parse, false},
        Row{Code::internal, false}}) {
    CAPTURE(to_string(row.code));
    World world;
    world.answer = Error(row.code, "the reason is this");
    for (int i = 0; i < 2; ++i) {
      const Verdict verdict = world.ask(kNone, kGiven);
      CHECK(verdict.allowed == row.passes);
      if (row.passes) continue;
      CHECK(verdict.code == 503);
      CHECK(verdict.retry_after == 1);
      CHECK_THAT(verdict.message, Catch::Contains("whether user author may bind pods is not known"));
    }
    CHECK(world.asked.size() == 2);
    CHECK_THAT(
        world.rig.registry.exposition(),
        Catch::Contains(fmt::format(R"(device_admission_failures_total{{reason="{}",decision="{}"}} 2)",
                                    to_string(row.code), row.passes ? "allowed" : "refused")));
    // Said once a minute.
    const auto said = [&] { return world.rig.lines.count(LogLevel::warn); };
    CHECK(said() == 1);
    world.loop.advance(std::chrono::minutes(1));
    (void)world.ask(kNone, kGiven);
    CHECK(said() == 2);
    world.answer = false;
    CHECK_FALSE(world.ask(kNone, kGiven).allowed);
  }
}

TEST_CASE("An answer that does not come refuses, while the review can still be answered") {
  World world;
  world.takes = std::chrono::hours(1);
  const auto took = [&](nanoseconds review) {
    const MonoTime began = world.loop.clock.mono();
    CHECK(world.ask({.object = kGiven, .old_object = kNone, .until = began + review}).code == 503);
    return world.loop.clock.mono() - began;
  };
  CHECK(took(std::chrono::seconds(9)) == DevicesValidating::kPatience);
  CHECK(took(std::chrono::milliseconds(900)) == std::chrono::milliseconds(900) - DevicesValidating::kMargin);
  CHECK(took(nanoseconds(0)) == nanoseconds(0));
  CHECK(world.asked.size() == 2);
}

TEST_CASE("Equal questions at a time are one, and go on when he who asked is called off") {
  World world;
  world.takes = std::chrono::seconds(1);
  std::vector<Result<Verdict>> done;
  const auto start = [&](std::string_view ns, nanoseconds patience = std::chrono::hours(1)) {
    const Verdict verdict = world.begin({.object = kGiven, .old_object = kNone, .ns = ns});
    REQUIRE(verdict.later);
    asio::co_spawn(
        world.loop.context, with_timeout(world.loop.clock, patience, verdict.later()),
        [&done](const std::exception_ptr&, Result<Verdict> one) { done.push_back(std::move(one)); });
  };
  for (const std::string_view ns : {"one", "one", "two", "one"}) start(ns);
  world.loop.settle();
  CHECK(world.asked.size() == 2);
  world.loop.advance(world.takes);
  REQUIRE(done.size() == 4);
  for (const Result<Verdict>& one : done) CHECK(one.value().allowed);

  done.clear();
  world.asked.clear();
  world.answer = false;
  world.loop.advance(DevicesValidating::kGood);
  start("one", std::chrono::milliseconds(100));
  start("one");
  start("one");
  world.loop.settle();
  CHECK(world.asked.size() == 1);
  world.loop.advance(std::chrono::milliseconds(100));
  CHECK(done.size() == 1);
  CHECK(world.asked.size() == 2);
  world.loop.advance(world.takes);
  REQUIRE(done.size() == 3);
  CHECK(done[0].error().code() == Code::timeout);
  CHECK(done[1].value().code == 400);
  CHECK(done[2].value().code == 400);
}

TEST_CASE("All that is known of a user is asked about, and is in the question's key") {
  World world;
  const auto ask = [&](std::string_view uid, std::string_view extra) {
    return world.ask({.object = kGiven, .old_object = kNone, .user_uid = uid, .extra = extra}).allowed;
  };
  CHECK(ask("u", R"({"scopes":["all"]})"));
  world.answer = false;
  CHECK(ask("u", R"({"scopes":["all"]})"));
  for (const auto& [uid, extra] :
       {std::pair("v", R"({"scopes":["all"]})"), std::pair("u", "null"), std::pair("u", R"({"scopes":[]})"),
        std::pair("u", R"({"scopes":["all","few"]})"), std::pair("u", R"({"scope":["all"]})")}) {
    CAPTURE(uid, extra);
    CHECK_FALSE(ask(uid, extra));
  }
  CHECK(world.asked.size() == 6);
  // Less of it may be allowed more.
  world.answer = true;
  const std::string long_one(DevicesValidating::kLongestSubject, 'x');
  CHECK_FALSE(ask("u", fmt::format(R"({{"scopes":["{}"]}})", long_one)));
  CHECK_FALSE(ask(long_one + "x", "null"));
  CHECK(world.asked.size() == 6);

  test::FakeTransport server(world.loop.clock);
  kube::Client api(server, world.loop.clock, {.max_retries = 0});
  server.answer = [](const net::Request&) {
    return test::json_response(201, R"({"status":{"allowed":true}})");
  };
  Subject subject{"author", "u-1", {"g"}, {{"scopes", {"all", "few"}}}};
  const Result<bool> may = test::run_task(world.loop, may_bind(api, std::move(subject), "ns"));
  CHECK(may.value());
  REQUIRE(server.requests.size() == 1);
  CHECK_THAT(server.requests[0].body, Catch::Contains(R"("user":"author")") &&
                                          Catch::Contains(R"("uid":"u-1")") &&
                                          Catch::Contains(R"("groups":["g"])") &&
                                          Catch::Contains(R"("extra":{"scopes":["all","few"]})"));
}

}  // namespace
}  // namespace koord::manager
