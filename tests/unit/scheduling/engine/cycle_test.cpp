// The cycle around the choice of a node: PostFilter when there is none, Reserve to PostBind when there is
// one.
#include <algorithm>
#include <catch2/catch.hpp>

#include "cycle_rig.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;
using Kind = Decision::Kind;

TEST_CASE("a pod that is bound is reserved, permitted, and told of when it is bound") {
  Cycle c;
  const Decision d = c.put("p");
  CHECK(d.kind() == Kind::bind);
  CHECK(d.tells_end());
  CHECK(c.asked_text() == "A.reserve(p) B.reserve(p) A.permit(p) B.permit(p)");
  CHECK(c.kept == 2);
  c.bound(d);  // the watch may be faster
  CHECK(c.asked_text().empty());
  CHECK(c.kept == 2);
  c.engine.binding_succeeded(*d.pod);
  CHECK(c.asked_text() == "A.post_bind(p) B.post_bind(p)");
  CHECK(c.kept == 0);
  c.engine.binding_succeeded(*d.pod);
  CHECK(c.asked_text().empty());
}

struct FailureCase {
  const char* name;
  const char* point;
  Status status;
  Kind kind;
  std::string message;
  std::string asked;
};

TEST_CASE("whoever refuses, everything is unreserved in reverse, and the pod is put back") {
  const FailureCase kCases[] = {
      {"reserve rejects",
       "A.reserve",
       {StatusCode::unschedulable, "full"},
       Kind::unschedulable,
       "0/1 nodes are available: 1 full.",
       "A.reserve(p) B.unreserve(p) A.unreserve(p)"},
      {"the second reserve fails",
       "B.reserve",
       {StatusCode::error, "broken"},
       Kind::error,
       "running Reserve plugin \"B\": broken",
       "A.reserve(p) B.reserve(p) B.unreserve(p) A.unreserve(p)"},
      {"permit rejects",
       "A.permit",
       {StatusCode::unresolvable, "no"},
       Kind::unschedulable,
       "0/1 nodes are available: 1 no.",
       "A.reserve(p) B.reserve(p) A.permit(p) B.unreserve(p) A.unreserve(p)"},
      {"permit fails",
       "B.permit",
       {StatusCode::error, "oops"},
       Kind::error,
       "running Permit plugin \"B\": oops",
       "A.reserve(p) B.reserve(p) A.permit(p) B.permit(p) B.unreserve(p) A.unreserve(p)"},
  };
  for (const FailureCase& k : kCases) {
    INFO(k.name);
    Cycle c;
    c.says[k.point] = k.status;
    const Decision d = c.put("p", "4");
    CHECK(d.kind() == k.kind);
    CHECK(d.message() == k.message);
    CHECK(d.nominate() == Symbol());
    CHECK(c.asked_text() == k.asked);
    CHECK(c.kept == 0);
    CHECK(c.engine.assumed() == 0);
    const QueueSizes sizes = c.engine.queue_sizes();
    CHECK(sizes.backoff == (k.kind == Kind::error ? 1 : 0));
    CHECK(sizes.unschedulable == (k.kind == Kind::error ? 0 : 1));
    // The room is free again.
    c.says.clear();
    CHECK(c.put("q", "4").kind() == Kind::bind);
  }
}

TEST_CASE("a binding that fails unreserves, and so does one whose pod is gone by then") {
  Cycle c;
  const Decision d = c.put("p");
  const bool gone = GENERATE(false, true);
  if (gone) c.engine.remove_pod(*d.pod);
  c.asked.clear();
  CHECK(c.kept == 2);
  CHECK(c.engine.assumed() == (gone ? 0 : 1));
  CHECK(c.engine.binding_failed(*d.pod) == !gone);
  CHECK(c.asked_text() == "B.unreserve(p) A.unreserve(p)");
  CHECK(c.kept == 0);
  CHECK(c.engine.assumed() == 0);
  CHECK(c.engine.queue_sizes().backoff == (gone ? 0 : 1));
}

TEST_CASE("a pod that is gone before its binding is told of has its PostBind all the same") {
  Cycle c;
  const Decision d = c.put("p");
  c.bound(d);
  c.engine.remove_pod(*d.pod);
  c.asked.clear();
  c.engine.binding_succeeded(*d.pod);
  CHECK(c.asked_text() == "A.post_bind(p) B.post_bind(p)");
  CHECK(c.kept == 0);
}

// Permit

TEST_CASE("a pod that waits for a permit is bound when all have allowed it") {
  Cycle c;
  c.says["A.permit"] = c.says["B.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 10s}, {"B", 20s}};
  const Decision waits = c.put("p");
  CHECK(waits.kind() == Kind::wait);
  CHECK(waits.nominate() == Symbol("n"));
  CHECK(waits.node() == "n");
  CHECK(c.engine.waiting() == 1);
  CHECK(c.engine.assumed() == 1);
  CHECK(c.engine.next_wakeup() == c.clock.mono() + 10s);
  CHECK(c.run().empty());
  const std::string uid = waits.pod->metadata.uid;
  c.cycle->allow(uid, c.index['A']);
  CHECK(c.run().empty());
  CHECK(c.engine.next_wakeup() == c.clock.mono() + 20s);
  c.clock.advance(5s);
  c.cycle->allow(uid, c.index['B']);
  const Decision d = c.one();
  CHECK(d.kind() == Kind::bind);
  CHECK(d.node() == "n");
  CHECK_FALSE(d.nominate());
  CHECK(d.took >= 5s);
  CHECK(d.attempts == 1);
  CHECK(c.engine.waiting() == 0);
  CHECK_FALSE(c.cycle->is_waiting(uid));
  c.clock.advance(1h);
  CHECK(c.run().empty());
}

TEST_CASE("a wait ends in its time, at the plugin that was to be the first") {
  Cycle c;
  c.says["A.permit"] = c.says["B.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 1h}, {"B", 90s}};
  CHECK(c.put("p", "4").kind() == Kind::wait);
  c.clock.advance(90s - 1ns);
  CHECK(c.run().empty());
  c.clock.advance(1ns);
  c.asked.clear();
  const Decision d = c.one();
  CHECK(d.kind() == Kind::unschedulable);
  CHECK(d.message() == "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin B.");
  CHECK(c.asked_text() == "B.unreserve(p) A.unreserve(p)");
  CHECK(c.engine.assumed() == 0);
  CHECK(c.engine.queue_sizes().unschedulable == 1);
  c.says.clear();
  CHECK(c.put("q", "4").kind() == Kind::bind);
}

TEST_CASE("no plugin makes a pod wait longer than a quarter of an hour") {
  Cycle c;
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 24h}};
  CHECK(c.put("p").kind() == Kind::wait);
  c.clock.advance(15min);
  CHECK(c.one().message().ends_with("1 rejected due to timeout after waiting 15m0s at plugin A."));
}

TEST_CASE("a plugin rejects a pod that waits, from within another pod's attempt") {
  Cycle c;
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  const Decision waits = c.put("p");
  int seen = 0;
  c.cycle->each_waiting([&](const PodAttempt& attempt) {
    ++seen;
    CHECK(attempt.node == "n");
    CHECK(attempt.pod.pod->metadata.name == "p");
  });
  CHECK(seen == 1);
  CHECK(c.cycle->reject(waits.pod->metadata.uid, c.index['B'], "preempted"));
  CHECK_FALSE(c.cycle->reject("nobody", c.index['B'], "preempted"));
  // The first word counts.
  c.cycle->allow(waits.pod->metadata.uid, c.index['A']);
  const Decision d = c.one();
  CHECK(d.kind() == Kind::unschedulable);
  CHECK(d.message() == "0/1 nodes are available: 1 preempted.");
}

TEST_CASE("a pod that goes, is bound by others or is being deleted while it waits leaves nothing behind") {
  Cycle c;
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  const Decision waits = c.put("p", "4");
  c.asked.clear();
  const std::string how = GENERATE("gone", "bound elsewhere", "deleting");
  if (how == "gone") c.engine.remove_pod(*waits.pod);
  if (how == "bound elsewhere")
    c.engine.put_pod(changed(waits.pod, [](api::Pod& p) { p.spec.node_name = "elsewhere"; }));
  if (how == "deleting")
    c.engine.put_pod(
        changed(waits.pod, [&](api::Pod& p) { p.metadata.deletion_timestamp = api::Time(c.clock.now()); }));
  CHECK(c.asked_text() == "B.unreserve(p) A.unreserve(p)");
  CHECK(c.kept == 0);
  CHECK(c.engine.waiting() == 0);
  CHECK(c.engine.assumed() == 0);
  CHECK(c.run().empty());
  c.clock.advance(1h);
  CHECK(c.run().empty());
  c.says.clear();
  CHECK(c.put("q", "4").kind() == Kind::bind);
}

// What happened meanwhile

TEST_CASE("what happens while a pod waits is asked about when it is rejected") {
  const bool matters = GENERATE(true, false);
  Cycle c({}, events_of(EventKind::node_add, EventKind::node_label));
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  c.worth = matters ? "NodeAdd" : "NodeUpdateNodeLabel";
  c.put("p");
  c.engine.put_node(make_node("m"));
  c.clock.advance(60s);
  CHECK(c.first().kind() == Kind::unschedulable);
  CHECK(c.engine.queue_sizes().unschedulable == (matters ? 0 : 1));
  CHECK(c.engine.queue_sizes().backoff == (matters ? 1 : 0));
}

TEST_CASE("what happened before a pod was tried is not asked about") {
  Cycle c({}, events_of(EventKind::node_add));
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  c.put("o");
  c.engine.put_node(make_node("m"));
  c.clock.advance(30s);
  c.put("p");
  c.clock.advance(30s);
  CHECK(c.first().pod->metadata.name == "o");
  CHECK(c.engine.queue_sizes().backoff == 1);
  c.engine.remove_pod(*make_pod("o"));
  c.clock.advance(30s);
  CHECK(c.one().pod->metadata.name == "p");
  CHECK(c.engine.queue_sizes().unschedulable == 1);
}

TEST_CASE("what is too much to remember counts as worth another attempt") {
  Cycle c({}, events_of(EventKind::node_label));
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  c.worth = "nothing";
  c.put("p");
  for (std::size_t i = 0; i <= EventLog::kMost; ++i)
    c.engine.put_node(
        make_node("n", "4", "8Gi", [&](api::Node& n) { n.metadata.labels["i"] = std::to_string(i); }));
  c.clock.advance(60s);
  CHECK(c.first().kind() == Kind::unschedulable);
  CHECK(c.engine.queue_sizes().backoff == 1);
}

TEST_CASE("a pod that is pending for a plugin skips its backoff when that is through with it") {
  const bool pending = GENERATE(true, false);
  Cycle c({}, events_of(EventKind::node_add));
  c.says["A.reserve"] = {pending ? StatusCode::pending : StatusCode::unschedulable, "not yet"};
  CHECK(c.put("p").kind() == Kind::unschedulable);
  c.engine.put_node(make_node("m"));
  CHECK(c.engine.queue_sizes().active == (pending ? 1 : 0));
  CHECK(c.engine.queue_sizes().backoff == (pending ? 0 : 1));
}

// Activation and gates

TEST_CASE("a plugin activates pods, whatever their backoff, but not through a gate") {
  Cycle c;
  c.says["A.reserve"] = {StatusCode::error, "broken"};
  const Decision d = c.put("p");
  CHECK(c.run().empty());
  c.cycle->activate(*d.pod);
  CHECK(c.run().size() == 1);
  c.says["A.reserve"] = {StatusCode::unschedulable, "full"};
  c.cycle->activate(*d.pod);
  CHECK(c.run().size() == 1);
  c.gated = true;
  c.cycle->activate(*d.pod);
  CHECK(c.run().empty());
  CHECK(c.engine.queue_sizes().gated == 1);
  CHECK(c.engine.queue_sizes().unschedulable == 0);
  c.gated = false;
  c.says.clear();
  c.cycle->activate(*d.pod);
  CHECK(c.one().kind() == Kind::bind);
  CHECK(c.engine.incoming().contains({"active", "ForceActivate"}));
}

TEST_CASE("a gate opens by an event that its plugin asks for") {
  Cycle c({}, events_of(EventKind::node_add));
  c.gated = true;
  c.engine.put_pod(make_pod("p"));
  CHECK(c.run().empty());
  c.engine.put_node(make_node("m"));
  CHECK(c.engine.queue_sizes().gated == 1);
  c.gated = false;
  c.engine.put_node(make_node("o"));
  CHECK(c.one().kind() == Kind::bind);
  CHECK(c.engine.queue_sizes() == QueueSizes{});
}

// PostFilter and nomination

TEST_CASE("when no node will do, PostFilter plugins are asked until one has an answer") {
  struct Case {
    const char* name;
    PostFilterResult a, b;
    std::string message, asked;
    std::optional<Symbol> nominate;
  };
  const std::string fit = "0/1 nodes are available: 1 Insufficient cpu.";
  const Case kCases[] = {
      {"success ends it",
       {{StatusCode::success, {}}, Symbol("n"), {}},
       {{StatusCode::success, "b"}, {}, {}},
       fit,
       "A.post_filter(p)",
       Symbol("n")},
      {"unresolvable ends it",
       {{StatusCode::unresolvable, "not ever"}, Symbol(), {}},
       {},
       fit + " not ever",
       "A.post_filter(p)",
       Symbol()},
      {"the last nomination counts",
       {{StatusCode::unschedulable, "a"}, Symbol(), {}},
       {{StatusCode::unschedulable, "b"}, Symbol("n"), {}},
       fit + " a, b",
       "A.post_filter(p) B.post_filter(p)",
       Symbol("n")},
      {"nobody says anything of it",
       {{StatusCode::unschedulable, "a"}, {}, {}},
       {{StatusCode::unschedulable, "b"}, {}, {}},
       fit + " a, b",
       "A.post_filter(p) B.post_filter(p)",
       {}},
      {"an error is told",
       {{StatusCode::error, "broken"}, Symbol("n"), {}},
       {},
       fit + " broken",
       "A.post_filter(p)",
       {}},
  };
  for (const Case& k : kCases) {
    INFO(k.name);
    Cycle c;
    c.post_filters = {{"A", k.a}, {"B", k.b}};
    const Decision d = c.put("p", "100");
    CHECK(d.kind() == Kind::unschedulable);
    CHECK(d.message() == k.message);
    CHECK(d.nominate() == k.nominate);
    CHECK(c.asked_text() == k.asked);
    CHECK(c.engine.queue_sizes().unschedulable == 1);
    CHECK(c.engine.nominator().size() == (k.nominate && !k.nominate->empty() ? 1 : 0));
  }
}

TEST_CASE("plugins are told what became of the victims, also of a pod that is gone") {
  Cycle c;
  const Decision d = c.put("p", "100");
  c.asked.clear();
  c.engine.preempted(*d.pod, true);
  CHECK(c.asked_text() == "A.preempted(p, true) B.preempted(p, true)");
  c.engine.remove_pod(*d.pod);
  c.engine.preempted(*d.pod, false);
  CHECK(c.asked_text() == "A.preempted(p, false) B.preempted(p, false)");
}

// PreBind

TEST_CASE("what has to be done before a binding goes with the decision, and the node is told before") {
  const bool told = GENERATE(true, false);
  Cycle c({.nominate_expected = told});
  c.pre_binds = "B";
  const Decision d = c.put("p");
  CHECK(d.kind() == Kind::bind);
  REQUIRE(d.as<Decision::Bind>()->pre_binds.size() == 1);
  CHECK(d.as<Decision::Bind>()->pre_binds[0].plugin == "B");
  CHECK(d.nominate() == (told ? std::optional(Symbol("n")) : std::nullopt));
}

TEST_CASE("what is done before a binding is asked for when the pod is permitted, and nothing is told twice") {
  Cycle c;
  c.says["A.permit"] = {StatusCode::wait, {}};
  c.timeouts = {{"A", 60s}};
  const Decision waits = c.put("p");
  CHECK(waits.kind() == Kind::wait);
  CHECK(waits.nominate() == Symbol("n"));
  // Only now do the plugins know what it is.
  c.pre_binds = "AB";
  c.cycle->allow(waits.pod->metadata.uid, c.index['A']);
  const Decision d = c.one();
  CHECK(d.as<Decision::Bind>()->pre_binds.size() == 2);
  CHECK_FALSE(d.nominate());
}

TEST_CASE("a pod that a plugin keeps out of the queue hears why") {
  // Complaint 2480: it is not left without an event.
  Cycle c;
  c.gated = true;
  SECTION("at once, and again while events fade") {
    c.why_gated = "gang: 1 of 4";
    c.engine.put_pod(make_pod("p"));
    const Decision d = c.one();
    CHECK(d.kind() == Kind::gated);
    CHECK(d.message() == "gang: 1 of 4");
    CHECK(d.profile == "default-scheduler");
    const auto touch = [&](const char* value) {
      c.engine.put_pod(make_pod("p", "1", "", [&](auto& p) { p.metadata.labels["x"] = value; }));
      c.engine.activate(*make_pod("p"));
    };
    touch("1");
    CHECK(c.run().empty());
    c.why_gated = "gang: 2 of 4";
    touch("2");
    CHECK(c.one().message() == "gang: 2 of 4");
    c.clock.advance(5min);
    touch("3");
    CHECK(c.one().message() == "gang: 2 of 4");
    c.gated = false;
    touch("4");
    CHECK(c.one().kind() == Kind::bind);
  }
  SECTION("not when it may go meanwhile") {
    c.why_gated = "gang: 1 of 4";
    c.engine.put_pod(make_pod("p"));
    c.engine.remove_pod(*make_pod("p"));
    CHECK(c.run().empty());
  }
  SECTION("not what somebody else tells it") {
    c.engine.put_pod(make_pod("p"));
    CHECK(c.run().empty());
  }
}

}  // namespace
}  // namespace koord::scheduling::test
