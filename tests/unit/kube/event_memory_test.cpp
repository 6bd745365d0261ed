// What the event recorder remembers, and how its JSON looks.
#include "event_memory.hpp"

#include <catch2/catch.hpp>

#include "event_text.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using Answer = EventSeriesMemory::Answer;

namespace {
const WallTime kWall{1'700'000'000s};

struct Memory : EventSeriesMemory {
  explicit Memory(std::size_t limit = 100) : EventSeriesMemory(6min, 30min, limit) {}
  MonoTime now{1h};
  Write write{};
  Answer event(const std::string& key) {
    const Answer answer = seen(key, now, kWall, write);
    if (answer == Answer::first) remember(key, "ns", key + ".1", now, kWall);
    return answer;
  }
};
}  // namespace

TEST_CASE("the second equal event makes a series, the others are counted") {
  Memory m;
  CHECK(m.event("a") == Answer::first);
  CHECK(m.event("b") == Answer::first);
  m.now += 5min;
  CHECK(m.event("a") == Answer::second);
  CHECK(m.write.count == 2);
  CHECK(m.write.name == "a.1");
  for (int i = 0; i < 5; ++i) {
    m.now += 1min;
    CHECK(m.event("a") == Answer::counted);
  }
  CHECK(m.due(m.now).empty());
  m.now += 6min;
  auto due = m.due(m.now);
  REQUIRE(due.size() == 1);
  CHECK(due[0].count == 7);
  CHECK(m.empty());
  CHECK(m.event("a") == Answer::first);
}

TEST_CASE("a series that goes on is refreshed") {
  Memory m;
  m.event("a");
  m.event("a");
  int writes = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    m.now += 1min;
    m.event("a");
    for (const auto& write : m.due(m.now)) {
      ++writes;
      last = write.count;
    }
  }
  CHECK(writes == 2);
  CHECK(last == 62);
}

TEST_CASE("what is forgotten for want of room is still written") {
  Memory m(2);
  m.event("a");
  m.event("a");
  m.event("a");
  m.event("b");
  m.event("c");
  auto due = m.due(m.now);
  REQUIRE(due.size() == 1);
  CHECK(due[0].name == "a.1");
  CHECK(due[0].count == 3);
}

TEST_CASE("an object's events are limited, another's are not") {
  EventLimiter limiter(25, 5min, 2);
  MonoTime now{1h};
  int allowed = 0;
  for (int i = 0; i < 100; ++i) allowed += limiter.allow("a", now);
  CHECK(allowed == 25);
  CHECK(limiter.allow("b", now));
  now += 4min;
  CHECK_FALSE(limiter.allow("a", now));
  now += 1min;
  CHECK(limiter.allow("a", now));
  CHECK_FALSE(limiter.allow("a", now));
}

TEST_CASE("an event as the API takes it") {
  const EventTemplate text("koord-scheduler", "koord-scheduler-h");
  EventRecord event{.regarding = {.group = "",
                                  .version = "v1",
                                  .kind = "Pod",
                                  .ns = "n",
                                  .name = "p",
                                  .uid = "u",
                                  .resource_version = "5"},
                    .type = EventType::warning,
                    .reason = "FailedScheduling",
                    .action = "Scheduling",
                    .note = "0/1 nodes"};
  CHECK(text.whole(EventTemplate::rest(event, "n", "p.17", kWall)) ==
        R"({"apiVersion":"events.k8s.io/v1","kind":"Event","reportingController":"koord-scheduler",)"
        R"("reportingInstance":"koord-scheduler-h","metadata":{"namespace":"n","name":"p.17"},)"
        R"("eventTime":"2023-11-14T22:13:20.000000Z","type":"Warning","reason":"FailedScheduling",)"
        R"("action":"Scheduling","note":"0/1 nodes","regarding":{"kind":"Pod","namespace":"n","name":"p",)"
        R"("uid":"u","apiVersion":"v1","resourceVersion":"5"}})");
  CHECK(EventTemplate::series(3, kWall) ==
        R"({"series":{"count":3,"lastObservedTime":"2023-11-14T22:13:20.000000Z"}})");
}
