// Leader election: two electors on one Lease, in virtual time.
#include "leader_state.hpp"

#include <catch2/catch.hpp>
#include <memory>

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;

namespace {

const WallTime kWall{std::chrono::seconds{1'700'000'000}};

/// The API server's side: one Lease with optimistic concurrency.
struct Server {
  std::optional<LeaseRecord> lease;
  int version = 0;
  bool down = false;
  bool loses_answers = false;  // stores, but does not answer
  int writes = 0;
};

struct Elector {
  Elector(Server& s, std::string identity, nanoseconds wall_error = 0ns) : server(s), skew(wall_error) {
    LeaderElectionConfig config;
    config.lease_namespace = "ns";
    config.lease_name = "lease";
    config.identity = std::move(identity);
    config.seed = 3;
    state = std::make_unique<LeaderState>(config);
  }
  Server& server;
  nanoseconds skew;
  std::unique_ptr<LeaderState> state;
  int version = 0;
  bool lost = false, finished = false;
  MonoTime wake{};

  /// Does what is to be done now.
  void run(MonoTime now) {
    for (int i = 0; i < 10; ++i) {
      const auto action = state->next(now, kWall + (now - MonoTime{}) + skew);
      if (const auto* wait = std::get_if<LeaderState::Wait>(&action)) {
        wake = wait->until;
        return;
      }
      if (std::holds_alternative<LeaderState::Lost>(action)) {
        lost = true;
      } else if (std::holds_alternative<LeaderState::Finished>(action)) {
        finished = true;
        return;
      } else {
        talk(action, now);
      }
    }
    FAIL("a busy loop");
  }

 private:
  void talk(const LeaderState::Action& action, MonoTime now) {
    if (server.down) return state->on_error(Error(Code::unavailable, "down"), now);
    if (std::holds_alternative<LeaderState::Read>(action)) {
      if (!server.lease) return state->on_read_missing(now);
      version = server.version;
      return state->on_read(*server.lease, now);
    }
    const auto* create = std::get_if<LeaderState::Create>(&action);
    if (create != nullptr && server.lease) return state->on_error(Error(Code::already_exists, "there"), now);
    if (create == nullptr && !server.lease) return state->on_error(Error(Code::not_found, "gone"), now);
    if (create == nullptr && version != server.version)
      return state->on_error(Error(Code::conflict, "stale"), now);
    server.lease = create != nullptr ? create->record : std::get<LeaderState::Update>(action).record;
    ++server.version;
    ++server.writes;
    if (server.loses_answers) return state->on_error(Error(Code::timeout, "no answer"), now);
    version = server.version;
    state->on_written(now);
  }
};

struct Race {
  Server server;
  Elector a{server, "a"};
  Elector b{server, "b"};
  MonoTime now{1h};
  int both = 0;

  /// Both electors for a while, in steps of 100 ms; never may two lead.
  void run(nanoseconds duration, bool run_a = true, bool run_b = true) {
    for (const MonoTime end = now + duration; now < end; now += 100ms) {
      if (run_a && !a.finished) a.run(now);
      if (run_b && !b.finished) b.run(now);
      if (a.state->leading(now) && b.state->leading(now)) ++both;
    }
  }
};

}  // namespace

TEST_CASE("the first candidate makes the lease with upstream's fields, and renews it") {
  Race r;
  r.run(5s);
  CHECK(r.a.state->leading(r.now));
  CHECK_FALSE(r.b.state->leading(r.now));
  CHECK(r.b.state->holder() == "a");
  REQUIRE(r.server.lease);
  CHECK(r.server.lease->holder == "a");
  CHECK(r.server.lease->duration_seconds == 15);
  CHECK(r.server.lease->transitions == 0);
  const WallTime renewed = r.server.lease->renewed, acquired = r.server.lease->acquired;
  const int writes = r.server.writes;
  r.run(60s);
  CHECK(r.server.lease->renewed > renewed);
  CHECK(r.server.lease->acquired == acquired);
  CHECK(r.server.writes - writes <= 31);
  CHECK(r.both == 0);
}

TEST_CASE("a dead leader is followed after the lease's duration, not before") {
  Race r;
  r.run(5s);
  const MonoTime died = r.now;
  r.run(14s, false);
  CHECK_FALSE(r.b.state->leading(r.now));
  r.run(10s, false);
  CHECK(r.b.state->leading(r.now));
  CHECK(r.server.lease->transitions == 1);
  CHECK(r.server.lease->acquired > kWall + (died - MonoTime{}));
  // The dead one comes back: it had stopped leading by itself, long before.
  CHECK_FALSE(r.a.state->leading(r.now));
  r.run(5s);
  CHECK(r.a.lost);
  CHECK(r.both == 0);
}

TEST_CASE("a leader without a server stops before another may start") {
  Race r;
  r.run(5s);
  r.server.down = true;
  const MonoTime down = r.now;
  while (r.a.state->leading(r.now)) r.run(100ms);
  CHECK(r.now - down <= 10s + 100ms);
  CHECK(r.now - down >= 7s);
  r.run(2s);
  CHECK(r.a.lost);
  r.server.down = false;
  r.run(30s);
  CHECK(r.a.state->leading(r.now) != r.b.state->leading(r.now));
  CHECK(r.both == 0);
}

TEST_CASE("answers that get lost do not make two leaders") {
  Race r;
  r.run(5s);
  r.server.loses_answers = true;
  r.run(25s);
  CHECK_FALSE(r.a.state->leading(r.now));
  CHECK(r.a.lost);
  r.server.loses_answers = false;
  r.run(30s);
  CHECK(r.a.state->leading(r.now) != r.b.state->leading(r.now));
  CHECK(r.both == 0);
}

TEST_CASE("a claim whose answer was lost is recognised as ours") {
  Race r;
  r.server.loses_answers = true;
  r.run(1s, true, false);
  CHECK(r.server.lease->holder == "a");
  CHECK_FALSE(r.a.state->leading(r.now));
  r.server.loses_answers = false;
  r.run(5s, true, false);
  CHECK(r.a.state->leading(r.now));
  CHECK(r.server.lease->transitions == 0);
}

TEST_CASE("wall clocks that are hours apart, or jump, do not matter") {
  Race r;
  r.b.skew = GENERATE(-5h, 0h, 5h);
  r.run(5s);
  CHECK(r.a.state->leading(r.now));
  r.a.skew = GENERATE(-30h, 30h);
  r.run(60s);
  CHECK(r.a.state->leading(r.now));
  CHECK_FALSE(r.b.state->leading(r.now));
  CHECK(r.both == 0);
}

TEST_CASE("stop gives the lease back, and the next one takes it at once") {
  Race r;
  r.run(5s);
  r.a.state->stop();
  r.a.run(r.now);
  CHECK(r.a.finished);
  CHECK_FALSE(r.a.state->leading(r.now));
  CHECK(r.server.lease->holder.empty());
  CHECK(r.server.lease->duration_seconds == 1);
  r.run(5s);
  CHECK(r.b.state->leading(r.now));
  CHECK(r.server.lease->transitions == 1);
}

TEST_CASE("stop after a write of unknown fate reads, and gives back what is ours") {
  Race r;
  r.run(5s, true, false);
  r.server.loses_answers = true;
  r.run(3s, true, false);
  r.server.loses_answers = false;
  r.a.state->stop();
  r.a.run(r.now);
  CHECK(r.a.finished);
  CHECK(r.server.lease->holder.empty());
}

TEST_CASE("stop with the server down, or as a candidate, just ends") {
  Race r;
  r.run(5s);
  r.server.down = true;
  r.a.state->stop();
  r.a.run(r.now);
  CHECK(r.a.finished);
  CHECK(r.server.lease->holder == "a");
  const int writes = r.server.writes;
  r.server.down = false;
  r.b.state->stop();
  r.b.run(r.now);
  CHECK(r.b.finished);
  CHECK(r.server.writes == writes);
}

TEST_CASE("a lease that is deleted is made again, one that is taken is lost at once") {
  Race r;
  r.run(5s);
  r.server.lease.reset();
  r.run(5s, true, false);
  CHECK(r.a.state->leading(r.now));
  CHECK_FALSE(r.a.lost);
  r.server.lease->holder = "somebody";
  ++r.server.version;
  r.run(2100ms, true, false);
  CHECK(r.a.lost);
  CHECK_FALSE(r.a.state->leading(r.now));
}

TEST_CASE("configurations that cannot work are refused in the flags' terms") {
  LeaderElectionConfig good;
  good.lease_namespace = "ns";
  good.lease_name = "lease";
  good.identity = make_identity("host");
  CHECK(good.identity.starts_with("host_"));
  CHECK(good.identity.size() == 5 + 36);
  CHECK(good.identity != make_identity("host"));
  CHECK(validate(good).has_value());
  struct Row {
    const char* names;
    void (*spoil)(LeaderElectionConfig&);
  };
  const Row rows[] = {
      {"lease-duration", [](auto& c) { c.lease_duration = 10s; }},
      {"lease-duration", [](auto& c) { c.lease_duration = 500ms; }},
      {"renew-deadline", [](auto& c) { c.retry_period = 9s; }},
      {"retry-period", [](auto& c) { c.retry_period = 0s; }},
      {"resource-name", [](auto& c) { c.lease_name.clear(); }},
      {"resource-namespace", [](auto& c) { c.lease_namespace.clear(); }},
      {"identity", [](auto& c) { c.identity.clear(); }},
  };
  for (const Row& row : rows) {
    LeaderElectionConfig bad = good;
    row.spoil(bad);
    const Result<> result = validate(bad);
    REQUIRE(result.has_error());
    CHECK(result.error().code() == Code::invalid);
    CHECK_THAT(result.error().message(), Catch::Contains(row.names));
  }
}
