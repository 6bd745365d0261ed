// The reflector's decisions, input by input.
#include "reflector_state.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using Effect = ReflectorState::Effect;

namespace {

constexpr MonoTime kStart{1h};

struct Script {
  explicit Script(ReflectorOptions options = {}) : state(options) {}
  ReflectorState state;
  MonoTime now = kStart;

  /// The next action, whatever has to be waited for.
  ReflectorState::Action act() {
    for (;;) {
      auto action = state.next(now);
      const auto* wait = std::get_if<ReflectorState::Wait>(&action);
      if (wait == nullptr) return action;
      REQUIRE(wait->until > now);
      waited += wait->until - now;
      now = wait->until;
    }
  }
  ReflectorState::Watch watch() {
    auto action = act();
    REQUIRE(std::holds_alternative<ReflectorState::Watch>(action));
    return std::get<ReflectorState::Watch>(action);
  }
  ReflectorState::List list() {
    auto action = act();
    REQUIRE(std::holds_alternative<ReflectorState::List>(action));
    return std::get<ReflectorState::List>(action);
  }
  Effect event(WatchEventType type, std::string_view rv, bool end = false) {
    return state.on_event(type, rv, end, now);
  }
  void fail(Code code) { state.on_error(Error(code, "test"), now); }
  /// Through the first watch-list, so that an ordinary watch from version 10 comes next in line.
  void sync() {
    REQUIRE(watch().initial_events);
    CHECK(event(WatchEventType::added, "7") == Effect::apply);
    CHECK(event(WatchEventType::bookmark, "10", true) == Effect::complete);
  }
  nanoseconds waited{};
};

ReflectorOptions listing() {
  ReflectorOptions options;
  options.watch_list = false;
  return options;
}

}  // namespace

TEST_CASE("a watch-list delivers, completes at the bookmark, and goes on as a watch") {
  Script s;
  const auto first = s.watch();
  CHECK(first.initial_events);
  CHECK(first.resource_version.empty());
  CHECK(first.timeout >= 300s);
  CHECK(first.timeout <= 600s);
  CHECK(s.event(WatchEventType::added, "7") == Effect::apply);
  CHECK(s.event(WatchEventType::bookmark, "8") == Effect::none);
  CHECK_FALSE(s.state.synced());
  CHECK(s.state.resource_version().empty());
  CHECK(s.event(WatchEventType::bookmark, "10", true) == Effect::complete);
  CHECK(s.state.synced());
  CHECK(s.event(WatchEventType::modified, "11") == Effect::apply);
  s.state.on_watch_end(s.now + 5min);
  const auto second = s.watch();
  CHECK_FALSE(second.initial_events);
  CHECK(second.resource_version == "11");
  CHECK(s.waited == 0ns);
}

TEST_CASE("the length of a watch is random and the same for a seed") {
  ReflectorOptions options;
  options.seed = 7;
  Script a(options), b(options);
  options.seed = 8;
  Script c(options);
  CHECK(a.watch().timeout == b.watch().timeout);
  bool differs = false;
  for (int i = 0; i < 5 && !differs; ++i) differs = a.watch().timeout != c.watch().timeout;
  CHECK(differs);
}

TEST_CASE("servers without watch-list are listed page by page") {
  const Code code = GENERATE(Code::bad_request, Code::invalid, Code::unsupported);
  Script s;
  CHECK_FALSE(s.state.refuses_watch_list(Error(code, "")));
  CHECK(s.watch().initial_events);
  CHECK(s.state.refuses_watch_list(Error(code, "")));
  CHECK_FALSE(s.state.refuses_watch_list(Error(Code::forbidden, "")));
  s.fail(code);
  CHECK_FALSE(s.state.refuses_watch_list(Error(code, "")));
  CHECK(s.waited == 0ns);
  auto page = s.list();
  CHECK(page.first);
  CHECK(page.limit == 500);
  CHECK(s.state.on_page("20", "c1", s.now) == Effect::none);
  page = s.list();
  CHECK_FALSE(page.first);
  CHECK(page.continue_token == "c1");
  CHECK_FALSE(s.state.synced());
  CHECK(s.state.on_page("20", "", s.now) == Effect::complete);
  CHECK(s.watch().resource_version == "20");
  s.fail(Code::gone);
  CHECK(s.list().first);  // it is not asked for a watch-list again
}

TEST_CASE("a server that takes the watch-list for a plain watch is listed after a while") {
  Script s;
  CHECK(s.watch().initial_events);
  CHECK(s.event(WatchEventType::added, "7") == Effect::apply);
  REQUIRE(s.state.deadline());
  CHECK(*s.state.deadline() == s.now + 60s);
  s.now = *s.state.deadline();
  s.state.on_deadline(s.now);
  CHECK(s.list().first);
}

TEST_CASE("a failure of a watch resumes where it was") {
  const Code code = GENERATE(Code::unavailable, Code::io, Code::timeout, Code::server_error,
                             Code::too_many_requests, Code::unauthorized, Code::forbidden, Code::parse);
  Script s;
  s.sync();
  CHECK(s.event(WatchEventType::modified, "12") == Effect::apply);
  s.fail(code);
  CHECK(std::holds_alternative<ReflectorState::Wait>(s.state.next(s.now)));
  const auto watch = s.watch();
  CHECK(watch.resource_version == "12");
  CHECK_FALSE(watch.initial_events);
  CHECK(s.state.synced());
}

TEST_CASE("events and bookmarks move the version, duplicates do not") {
  Script s;
  s.sync();
  CHECK(s.event(WatchEventType::bookmark, "15") == Effect::none);
  CHECK(s.event(WatchEventType::modified, "13") == Effect::none);
  CHECK(s.event(WatchEventType::deleted, "14") == Effect::none);
  CHECK(s.event(WatchEventType::deleted, "16") == Effect::apply);
  CHECK(s.event(WatchEventType::added, "9") == Effect::none);
  s.fail(Code::unavailable);
  CHECK(s.watch().resource_version == "16");
}

TEST_CASE("versions that are no numbers are never taken for old") {
  Script s;
  s.sync();
  CHECK(s.event(WatchEventType::modified, "b") == Effect::apply);
  CHECK(s.event(WatchEventType::modified, "a") == Effect::apply);
  CHECK(s.state.resource_version() == "a");
}

TEST_CASE("410 begins anew, without a version") {
  Script s;
  s.sync();
  s.fail(Code::gone);
  const auto watch = s.watch();
  CHECK(watch.initial_events);
  CHECK(watch.resource_version.empty());
  CHECK(s.state.synced());  // what is here is old but whole
  // Cut within: nothing may be resumed from the middle of initial events.
  CHECK(s.event(WatchEventType::added, "30") == Effect::apply);
  s.fail(Code::unavailable);
  CHECK(s.watch().initial_events);
  CHECK(s.event(WatchEventType::bookmark, "40", true) == Effect::complete);
}

TEST_CASE("410 between two pages lists again, in one piece") {
  Script s(listing());
  s.list();
  s.state.on_page("20", "c1", s.now);
  CHECK(s.list().continue_token == "c1");
  s.fail(Code::gone);
  const auto again = s.list();
  CHECK(again.first);
  CHECK(again.limit == 0);
  CHECK(s.state.on_page("25", "", s.now) == Effect::complete);
  s.watch();
  s.fail(Code::gone);
  CHECK(s.list().limit == 500);
}

TEST_CASE("a page that failed is asked for again") {
  Script s(listing());
  s.list();
  s.state.on_page("20", "c1", s.now);
  s.list();
  s.fail(Code::unavailable);
  CHECK(s.list().continue_token == "c1");
  s.fail(Code::bad_request);  // the token itself is refused
  CHECK(s.list().first);
}

TEST_CASE("waits double up to a bound, and quiet times make them short again") {
  struct Row {
    Code code;
    nanoseconds bound;
  };
  const Row row =
      GENERATE(Row{Code::server_error, 45s}, Row{Code::unavailable, 7500ms}, Row{Code::io, 7500ms});
  Script s;
  s.sync();
  nanoseconds last{};
  for (int i = 0; i < 12; ++i) {
    s.watch();
    const MonoTime before = s.now;
    s.fail(row.code);
    s.watch();
    last = s.now - before;
    CHECK(last <= row.bound);
    if (i == 0) CHECK(last < 400ms);
  }
  CHECK(last >= row.bound / 3 * 2 - 1ms);
  s.now += 5min;
  s.fail(row.code);
  const MonoTime before = s.now;
  s.watch();
  CHECK(s.now - before < 400ms);
}

TEST_CASE("Retry-After is waited for in full") {
  Script s;
  s.sync();
  s.watch();
  const MonoTime before = s.now;
  s.state.on_error(Error(Code::too_many_requests, "slow down").retry_after(17s), s.now);
  s.watch();
  CHECK(s.now - before >= 17s);
}

TEST_CASE("what cannot be read is listed after three tries") {
  Script s(listing());
  s.list();
  s.state.on_page("20", "", s.now);
  for (int i = 0; i < 2; ++i) {
    s.watch();
    s.fail(Code::parse);
  }
  CHECK(s.watch().resource_version == "20");
  s.fail(Code::parse);
  CHECK(s.list().first);
}

TEST_CASE("a version that the server does not have yet is dropped") {
  Script s;
  s.sync();
  // Three unreadable lines make it relist with a lower bound kept, as after a restore from backup.
  s.watch();
  s.fail(Code::gone);
  CHECK(s.watch().initial_events);
  s.fail(Code::timeout);
  const auto again = s.watch();
  CHECK(again.initial_events);
  CHECK(again.resource_version.empty());
}

TEST_CASE("a watch that ends at once is no busy loop, a dead one is given up") {
  Script s;
  s.sync();
  s.watch();
  s.state.on_watch_end(s.now + 10ms);
  CHECK(std::holds_alternative<ReflectorState::Wait>(s.state.next(s.now)));
  const auto watch = s.watch();
  REQUIRE(s.state.deadline());
  CHECK(*s.state.deadline() == s.now + watch.timeout + 30s);
  CHECK(s.event(WatchEventType::modified, "11") == Effect::apply);
  s.now = *s.state.deadline();
  s.state.on_deadline(s.now);
  CHECK(s.watch().resource_version == "11");
}

TEST_CASE("a kind that may be undefined counts as empty at the first 404, and is asked for until it comes") {
  ReflectorOptions options;
  options.may_be_undefined = true;
  Script s(options);
  REQUIRE(s.watch().initial_events);
  CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::empty);
  CHECK(s.state.synced());
  for (int tries = 0; tries < 5; ++tries) {
    REQUIRE(s.watch().initial_events);
    CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::none);  // said once
  }
  CHECK(s.waited > 1s);
  REQUIRE(s.watch().initial_events);
  CHECK(s.event(WatchEventType::added, "7") == Effect::apply);
  CHECK(s.event(WatchEventType::bookmark, "10", true) == Effect::complete);
  CHECK(s.watch().resource_version == "10");
}

TEST_CASE("what was whole is gone after half a minute of 404s, not after one") {
  ReflectorOptions options;
  options.may_be_undefined = true;
  Script s(options);
  s.sync();
  // A proxy that has lost its way for a moment.
  REQUIRE_FALSE(s.watch().initial_events);
  CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::none);
  s.now += 20s;
  REQUIRE(s.watch().initial_events);
  s.fail(Code::unavailable);
  s.now += 20s;
  REQUIRE(s.watch().initial_events);
  CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::none);
  // It lasts.
  s.now += 31s;
  REQUIRE(s.watch().initial_events);
  CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::empty);
  CHECK(s.state.resource_version().empty());
  // A definition that comes again begins from nothing.
  CHECK(s.watch().resource_version.empty());
}

TEST_CASE("a kind that every server has is never undefined") {
  Script s;
  REQUIRE(s.watch().initial_events);
  CHECK(s.state.on_error(Error(Code::not_found, "test"), s.now) == Effect::none);
  CHECK_FALSE(s.state.synced());
}
