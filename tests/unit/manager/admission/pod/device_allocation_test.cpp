// Who changes the devices of a pod: those who may bind it.
#include "admission/pod/device_allocation.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <vector>

#include "admission/handler_rig.hpp"
#include "koord/async/timer.hpp"
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
  bool silent = false;
  DevicesValidating handler{
      {.clock = loop.clock, .log = rig.log(), .may_bind = [this](Subject who, std::string ns) {
         return told(std::move(who), std::move(ns));
       }}};

  Task<Result<bool>> told(Subject who, std::string ns) {
    asked.push_back(fmt::format("{} {}", who.user, ns));
    if (silent) KOORD_CO_CHECK(co_await sleep(loop.clock, std::chrono::hours(1)));
    co_return answer;
  }
  Verdict ask(std::string_view before, std::string_view now, std::string_view user = "author",
              std::string_view subresource = {}) {
    Verdict verdict = rig.ask(handler, Asked{.operation = update,
                                             .subresource = subresource,
                                             .object = now,
                                             .old_object = before,
                                             .username = user});
    if (!verdict.later) return verdict;
    return test::run_task(loop, verdict.later()).value();
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
    CHECK(world.ask(row.before, row.now).allowed);
    CHECK(world.ask(row.before, row.now, "author", "status").allowed);
  }
}

TEST_CASE("A yes is good for ten seconds, for its user alone; a no is asked each time") {
  World world;
  CHECK(world.ask(kNone, kGiven, "scheduler").allowed);
  CHECK(world.ask(kNone, kGiven, "scheduler").allowed);
  CHECK(world.asked.size() == 1);
  world.answer = false;
  CHECK_FALSE(world.ask(kNone, kGiven, "author").allowed);
  CHECK_FALSE(world.ask(kNone, kGiven, "author").allowed);
  CHECK(world.asked.size() == 3);
  world.loop.advance(DevicesValidating::kGood);
  CHECK_FALSE(world.ask(kNone, kGiven, "scheduler").allowed);
}

TEST_CASE("Who cannot be asked about passes, and the log says so once for each reason") {
  World world;
  world.answer = Error(Code::forbidden, "cannot create subjectaccessreviews");
  CHECK(world.ask(kNone, kGiven).allowed);
  CHECK(world.ask(kNone, kGiven).allowed);
  CHECK(world.rig.lines.contains("cannot create subjectaccessreviews"));
  world.silent = true;
  const MonoTime began = world.loop.clock.mono();
  CHECK(world.ask(kNone, kGiven).allowed);
  CHECK(world.loop.clock.mono() - began <= 2 * DevicesValidating::kPatience);
  world.silent = false;
  world.answer = false;
  CHECK_FALSE(world.ask(kNone, kGiven).allowed);
}

}  // namespace
}  // namespace koord::manager
