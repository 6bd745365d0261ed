// What reservations and pods say of one another: facts, owners, wants, room, status and messages.
#include <algorithm>
#include <catch2/catch.hpp>

#include "reservations.hpp"
#include "scheduling/plugins/reservation/reserve_pod.hpp"
#include "scheduling/plugins/reservation/rules/event_text.hpp"
#include "scheduling/plugins/reservation/rules/room.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"
#include "scheduling/plugins/reservation/rules/wants.hpp"
#include "world.hpp"

namespace koord::scheduling::reservation {
namespace {

using namespace std::chrono_literals;
using test::changed;
using test::make_pod;
using test::make_reservation;

const WallTime kNow = WallTime(std::chrono::hours(24 * 365 * 50));

std::shared_ptr<const api::Reservation> on_node(const std::shared_ptr<const api::Reservation>& r) {
  return changed(r, [](api::Reservation& x) { set_available(x, "n", kNow); });
}

TEST_CASE("a reservation's phase says what it is") {
  const auto in = [](const char* phase, const char* node) {
    return *make_reservation("r", "2", [&](api::Reservation& r) {
      r.status.phase = phase;
      r.status.node_name = node;
    });
  };
  CHECK_FALSE(is_available(in("", "")));
  CHECK_FALSE(is_available(in("Available", "")));
  CHECK(is_available(in("Available", "n")));
  CHECK_FALSE(is_over(in("Available", "n")));
  CHECK(is_over(in("Succeeded", "n")));
  CHECK(is_over(in("Failed", "")));
  CHECK_FALSE(is_expired(in("Failed", "")));
  CHECK(allocates_once(api::Reservation()));
  CHECK_FALSE(allocates_once(in("", "")));
}

TEST_CASE("a reservation that lacks something is neither queued nor counted") {
  const auto without = [](const test::ReservationEdit& edit) {
    return std::string(what_it_lacks(*make_reservation("r", "1", edit)));
  };
  CHECK(without({}).empty());
  CHECK(without([](auto& r) { r.spec.template_ = {}; }) == "the reservation misses the template spec");
  CHECK(without([](auto& r) { r.spec.owners.clear(); }) == "the reservation misses the owner spec");
  CHECK(without([](auto& r) { r.spec.ttl.reset(); }) == "the reservation misses the expiration spec");
  const ReservePods kind;
  CHECK(kind.placeholder(*make_reservation("r")));
  CHECK_FALSE(kind.placeholder(*make_reservation("r", "1", [](auto& r) { r.spec.owners.clear(); })));
  for (const char* text : {"[]", "7", "{\"spec\":{\"containers\":3}}", "{"})
    CHECK_FALSE(
        kind.placeholder(*make_reservation("r", "1", [&](auto& r) { r.spec.template_.text = text; })));
  CHECK_FALSE(kind.placeholder(*make_reservation("r", "1", [](auto& r) { r.status.phase = "Succeeded"; })));
  CHECK_FALSE(kind.placeholder(*make_reservation("r", "1", [](auto& r) {
    r.status.phase = "Waiting";
    r.status.node_name = "n";
  })));
}

TEST_CASE("when a reservation's time is up") {
  const api::Time made(kNow - 1h);
  struct Row {
    std::optional<nanoseconds> ttl;
    std::optional<nanoseconds> expires;  // from now
    bool up;
    std::optional<nanoseconds> look;
  };
  const Row rows[] = {
      {2h, {}, false, 15s}, {30min, {}, true, 3s},  {1h, {}, false, 3s}, {1h + 8s, {}, false, 8s},
      {0s, {}, false, {}},  {0s, -1h, false, 3s},   {{}, -1s, true, 3s}, {{}, 10s, false, 10s},
      {2h, -1s, true, 3s},  {30min, 1h, true, 15s}, {-5s, {}, true, {}},
  };
  for (const Row& row : rows) {
    const auto r = make_reservation("r", "1", [&](api::Reservation& x) {
      x.metadata.creation_timestamp = made;
      x.spec.ttl.reset();
      if (row.ttl) x.spec.ttl = api::Duration(*row.ttl);
      if (row.expires) x.spec.expires = api::Time(kNow + *row.expires);
    });
    INFO(&row - rows);
    CHECK(expires_now(*r, kNow) == row.up);
    CHECK(next_look(*r, kNow) == row.look);
    CHECK_FALSE(expires_now(*changed(r, [](auto& x) { x.status.phase = "Failed"; }), kNow));
  }
  // Of the year 0, for 292 years.
  const auto old = make_reservation("r", "1", [](api::Reservation& x) {
    x.metadata.creation_timestamp = *api::Time::parse("0000-01-01T00:00:00Z");
    x.spec.ttl = api::Duration(nanoseconds::max());
  });
  CHECK(expires_now(*old, kNow));
}

TEST_CASE("owners: any of the terms, of a term all that it says") {
  const auto owner = [](std::string_view json) { return *api::decode<api::ReservationOwner>(json); };
  const auto matches = [&](const std::vector<api::ReservationOwner>& owners, const api::Pod& pod) {
    return Owners::read(owners)->matches(pod);
  };
  const auto pod = make_pod("p", "1", "", [](api::Pod& p) {
    p.metadata.namespace_ = "test";
    p.metadata.labels = {{"aaa", "bbb"}, {"ccc", "ddd"}};
    api::OwnerReference& ref = p.metadata.owner_references.emplace_back();
    ref.name = "sts";
    ref.kind = "StatefulSet";
    ref.api_version = "apps/v1";
    ref.uid = "77";
    ref.controller = true;
  });
  CHECK_FALSE(matches({}, *pod));
  CHECK(matches({owner("{}")}, *pod));
  CHECK(matches({owner(R"({"object":{"name":"p","namespace":"test","kind":"Job","resourceVersion":"9"}})")},
                *pod));
  CHECK(matches({owner(R"({"object":{"uid":"uid-p","apiVersion":"v1"}})")}, *pod));
  CHECK_FALSE(matches({owner(R"({"object":{"uid":"uid-q"}})")}, *pod));
  CHECK_FALSE(matches({owner(R"({"object":{"name":"p","namespace":"other"}})")}, *pod));
  CHECK(matches({owner(R"({"controller":{"name":"sts","controller":true,"namespace":"test"}})")}, *pod));
  CHECK(matches({owner(R"({"controller":{"kind":"StatefulSet","apiVersion":"apps/v1","uid":"77"}})")}, *pod));
  CHECK_FALSE(matches({owner(R"({"controller":{"name":"sts","controller":false}})")}, *pod));
  CHECK_FALSE(matches({owner(R"({"controller":{"name":"sts","namespace":"other"}})")}, *pod));
  CHECK_FALSE(matches({owner(R"({"controller":{}})")}, *make_pod("bare")));
  CHECK(matches({owner(R"({"labelSelector":{"matchLabels":{"aaa":"bbb"}}})")}, *pod));
  CHECK(matches({owner(R"({"labelSelector":{}})")}, *pod));
  CHECK_FALSE(
      matches({owner(R"({"object":{"name":"q"},"labelSelector":{"matchLabels":{"aaa":"bbb"}}})")}, *pod));
  CHECK(matches(
      {owner(R"({"object":{"name":"q"}})"), owner(R"({"labelSelector":{"matchLabels":{"aaa":"bbb"}}})")},
      *pod));
  const std::vector broken = {
      owner("{}"), owner(R"({"labelSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}})")};
  CHECK(Owners::read(broken).error().message().starts_with("owners[1]: "));
  const Facts facts(*make_reservation("r", "1", [&](auto& r) { r.spec.owners = broken; }));
  CHECK_FALSE(facts.broken.empty());
  CHECK_FALSE(facts.owners.matches(*pod));
}

Match matched(const api::Pod& pod, const api::Reservation& r, const api::SymbolMap* node = nullptr) {
  const Facts facts(r);
  return match(*Wants::read(pod.metadata), facts, facts.owners.matches(pod),
               {{"cpu", api::Quantity::must("2")}}, node);
}

TEST_CASE("which reservation will do for a pod, in Koordinator's order") {
  const auto pod = [](std::map<std::string, std::string> annotations) {
    return *make_pod("p", "2", "", [&](api::Pod& p) {
      p.metadata.labels["app"] = "r";
      for (const auto& [key, value] : annotations) p.metadata.annotations[key] = value;
    });
  };
  const auto wanting = [&](std::string affinity) {
    return pod({{"scheduling.koordinator.sh/reservation-affinity", std::move(affinity)}});
  };
  const api::Pod plain = pod({});
  const auto r = make_reservation("r", "2", [](api::Reservation& x) { x.metadata.labels["pool"] = "a"; });
  CHECK(matched(plain, *r) == Match::matched);
  CHECK(matched(plain, *make_reservation("other")) == Match::foreign);
  api::Pod ignoring = plain;
  ignoring.metadata.labels["scheduling.koordinator.sh/reservation-ignored"] = "true";
  CHECK(matched(ignoring, *make_reservation("other")) == Match::ignored);

  const auto closed = changed(r, [](auto& x) { x.spec.unschedulable = true; });
  const auto tainted = changed(
      r, [](auto& x) { x.spec.taints.push_back({.key = "k", .value = "v", .effect = "NoSchedule"}); });
  CHECK(matched(plain, *closed) == Match::closed);
  CHECK(matched(plain, *changed(r, [](auto& x) { x.metadata.deletion_timestamp = api::Time(); })) ==
        Match::closed);
  CHECK(matched(plain, *tainted) == Match::matched);  // nobody asks who has no affinity

  CHECK(matched(wanting(""), *r) == Match::matched);
  CHECK(matched(wanting(""), *closed) == Match::closed);
  CHECK(matched(wanting(R"({"tolerations":[{"operator":"Exists"}]})"), *closed) == Match::matched);
  CHECK(matched(wanting("{}"), *tainted) == Match::tainted);
  CHECK(matched(wanting(R"({"tolerations":[{"key":"k","operator":"Equal","value":"v"}]})"), *tainted) ==
        Match::matched);
  CHECK(matched(wanting("{}"), *changed(tainted, [](auto& x) {
                  x.spec.taints[0].effect = "PreferNoSchedule";
                })) == Match::matched);
  CHECK(matched(wanting(R"({"reservationSelector":{"pool":"a"}})"), *r) == Match::matched);
  CHECK(matched(wanting(R"({"reservationSelector":{"pool":"b"}})"), *r) == Match::affinity);
  const auto terms = [&](std::string_view expression) {
    return wanting(
        std::string(
            R"({"requiredDuringSchedulingIgnoredDuringExecution":{"reservationSelectorTerms":[{"matchExpressions":[)") +
        std::string(expression) + "]}]}}");
  };
  CHECK(matched(terms(R"({"key":"pool","operator":"In","values":["a"]})"), *r) == Match::matched);
  CHECK(matched(terms(R"({"key":"zone","operator":"In","values":["z"]})"), *r) == Match::affinity);
  const api::SymbolMap node = {{"zone", "z"}, {"pool", "node's"}};
  CHECK(matched(terms(R"({"key":"zone","operator":"In","values":["z"]})"), *r, &node) == Match::matched);
  CHECK(matched(terms(R"({"key":"pool","operator":"In","values":["a"]})"), *r, &node) == Match::matched);

  // By name nothing else is asked but the amounts.
  CHECK(matched(wanting(R"({"name":"r","reservationSelector":{"pool":"b"}})"), *closed) == Match::named);
  CHECK(matched(wanting(R"({"name":"s"})"), *r) == Match::other_name);
  const std::string exact = "scheduling.koordinator.sh/exact-match-reservation";
  CHECK(matched(pod({{exact, R"({"resourceNames":["cpu"]})"}}), *r) == Match::matched);
  CHECK(matched(pod({{exact, R"({"resourceNames":["cpu"]})"}}), *make_reservation("r", "3")) ==
        Match::not_exact);
  CHECK(matched(pod({{exact, R"({"resourceNames":["memory"]})"}}), *r) == Match::not_exact);
  CHECK(matched(pod({{exact, R"({"resourceNames":["gpu","memory"]})"}}), *r) == Match::matched);
  CHECK(matched(pod({{exact, "{\"resourceNames\":[\"cpu\"]}"},
                     {"scheduling.koordinator.sh/reservation-affinity", R"({"name":"r"})"}}),
                *make_reservation("r", "3")) == Match::not_exact);
}

TEST_CASE("what nobody can read of a pod is named") {
  const auto error = [](const char* key, std::string value) {
    const auto pod =
        make_pod("p", "2", "", [&](api::Pod& p) { p.metadata.annotations[key] = Symbol(value); });
    const auto read = Wants::read(pod->metadata);
    return read ? std::string("none") : read.error().message();
  };
  const char* const affinity = "scheduling.koordinator.sh/reservation-affinity";
  CHECK(error(affinity, "7").starts_with(affinity));
  CHECK(error(affinity, std::string(256 << 10, 'x')).starts_with(affinity));
  CHECK(error(affinity, R"({"requiredDuringSchedulingIgnoredDuringExecution":{"reservationSelectorTerms":[)"
                        R"({"matchExpressions":[{"key":"a","operator":"Is"}]}]}})")
            .starts_with(affinity));
  const char* const exact = "scheduling.koordinator.sh/exact-match-reservation";
  CHECK(error(exact, "[").starts_with(exact));
  CHECK(error(exact, "") == "none");
}

TEST_CASE("what a Restricted reservation counts") {
  const auto counted = [](const char* options) {
    const Facts facts(*make_reservation("r", "2", [&](api::Reservation& r) {
      r.spec.allocate_policy = "Restricted";
      r.metadata.annotations["scheduling.koordinator.sh/reservation-restricted-options"] = options;
    }));
    std::string all = facts.broken.empty() ? "" : "broken ";
    for (const Symbol& name : facts.counted) all += name.str() + " ";
    return all;
  };
  CHECK(counted("") == "cpu memory ");
  CHECK(counted("{}") == "cpu memory ");
  CHECK(counted(R"({"resources":["cpu","gpu"]})") == "cpu ");
  CHECK(counted(R"({"resources":["gpu"]})") == "cpu memory ");
  CHECK(counted("[]").starts_with("broken"));
}

TEST_CASE("what a pod lacks in a Restricted reservation") {
  const auto facts = [](const char* kept_back) {
    return Facts(*changed(on_node(make_reservation("r")), [&](api::Reservation& r) {
      r.spec.allocate_policy = "Restricted";
      r.status.allocatable = {{"cpu", api::Quantity::must("7")}, {"pods", api::Quantity::must("2")}};
      r.metadata.annotations["node.koordinator.sh/reservation"] = kept_back;
    }));
  };
  const auto nothing = [](std::string_view) { return false; };
  const auto of = [](const char* cpu) { return api::ResourceList{{"cpu", api::Quantity::must(cpu)}}; };
  using Reasons = std::vector<std::string>;
  const Facts plain = facts(""), less = facts(R"({"resources":{"cpu":"1"}})");
  CHECK(lacks(of("5"), plain, {of("2"), 1}, false, nothing).empty());
  CHECK(lacks(of("5"), less, {of("2"), 1}, false, nothing) == Reasons{"Reservation(s) Insufficient cpu"});
  CHECK(lacks(of("4"), less, {of("2"), 1}, false, nothing).empty());
  CHECK(lacks(of("8"), less, {of("2"), 2}, true, nothing) ==
        Reasons{"Reservation(s) Too many pods, requested: 1, used: 2, capacity: 2",
                "Reservation(s) Insufficient cpu, requested: 8000, used: 2000, capacity: 6000"});
  CHECK(lacks(of("1"), plain, {of("2"), 2}, false, nothing) == Reasons{"Reservation(s) Too many pods"});
  CHECK(lacks(of("7"), plain, {of("-3"), 0}, false, nothing).empty());
  CHECK(lacks(of("9"), plain, {}, false, [](std::string_view name) { return name == "cpu"; }).empty());
  CHECK(lacks({{"gpu", api::Quantity::must("9")}, {"cpu", {}}}, plain, {}, false, nothing).empty());
  const Facts cpus = facts(R"({"resources":{"cpu":"1"},"reservedCPUs":"0-2"})");
  CHECK(lacks(of("4"), cpus, {}, false, nothing).empty());
  CHECK_FALSE(lacks(of("5"), cpus, {}, false, nothing).empty());
  CHECK(lacks(of("7"), facts(R"({"reservedCPUs":"0-999999999"})"), {}, false, nothing).empty());
}

TEST_CASE("the fuller a reservation would be, the better") {
  const auto of = [](const char* cpu, const char* memory) {
    return api::ResourceList{{"cpu", api::Quantity::must(cpu)}, {"memory", api::Quantity::must(memory)}};
  };
  const auto facts = [&](const char* cpu, const char* memory) {
    return Facts(*changed(on_node(make_reservation("r")),
                          [&](api::Reservation& r) { r.status.allocatable = of(cpu, memory); }));
  };
  CHECK(usage_score({}, facts("2", "4Gi"), {}) == 0);
  CHECK(usage_score(of("2", "4Gi"), facts("4", "8Gi"), {}) == 50);
  CHECK(usage_score(of("2", "4Gi"), facts("2", "4Gi"), {of("2", "3Gi"), 1}) == 0);
  CHECK(usage_score(of("2", "4Gi"), facts("2", "4Gi"), {}) == 100);
  CHECK(usage_score(of("1", "4Gi"), facts("2", "4Gi"), {}) == 75);
  CHECK(usage_score(of("1", "4Gi"), facts("2", "0"), {}) == 50);
  CHECK(usage_score(of("1", "7P"), facts("2", "9P"), {}) == 63);
}

TEST_CASE("a reserve pod is its template, with the reservation's labels on top") {
  const ReservePods kind;
  const auto r = make_reservation("r", "2", [](api::Reservation& x) {
    x.metadata.labels = {{"a", "666"}};
    x.metadata.annotations = {{"b", "888"}};
    x.spec.template_.text =
        R"({"metadata":{"name":"t","namespace":"test","labels":{"a":"111","o":"1"},"annotations":{"b":"222","p":"2"}},)"
        R"("spec":{"nodeName":"n","schedulerName":"koord-scheduler","overhead":{"x.y/z":"3"},)"
        R"("containers":[{"name":"c","ports":[{"hostPort":80}],"resources":{"requests":{"x.y/z":"100"}}}],)"
        R"("initContainers":[{"name":"i","resources":{"requests":{"x.y/z":"10"}}}]}})";
  });
  const auto pod = kind.as_pod(r);
  REQUIRE(pod);
  CHECK(is_reserve_pod(*pod));
  CHECK(pod->metadata.uid == "uid-of-r");
  CHECK(pod->metadata.namespace_ == "test");
  CHECK(pod->metadata.labels == api::SymbolMap{{"a", "666"}, {"o", "1"}});
  CHECK(pod->metadata.annotations == api::SymbolMap{{"b", "888"},
                                                    {"p", "2"},
                                                    {"scheduling.koordinator.sh/reserve-pod", "true"},
                                                    {"scheduling.koordinator.sh/reservation-name", "r"},
                                                    {"scheduling.koordinator.sh/reservation-node", "n"}});
  CHECK(pod->spec.node_name.empty());
  CHECK(pod->spec.scheduler_name == "koord-scheduler");
  CHECK(pod->spec.priority == 2147483647);
  CHECK(kept_by(*r) == api::ResourceList{{"x.y/z", api::Quantity::must("103")}});

  // Once it is on a node it asks for what is kept there.
  const auto placed = changed(on_node(r), [](api::Reservation& x) {
    x.metadata.labels["koordinator.sh/priority"] = "1000";
    x.status.allocatable["x.y/z"] = api::Quantity::must("200");
  });
  const auto there = kind.as_pod(placed);
  REQUIRE(there);
  CHECK(there->spec.node_name == "n");
  CHECK(there->spec.priority == 1000);
  CHECK(there->spec.containers.size() == 2);
  CHECK(there->spec.containers[0].ports.size() == 1);
  ResourceNames names;
  const PodInfo info = make_pod_info(there, names);
  CHECK(info.requests[names.id("x.y/z")] == 200);
  CHECK(info.ports.size() == 1);

  const auto plain = kind.as_pod(
      make_reservation("r", "2", [](auto& x) { x.metadata.labels["koordinator.sh/priority"] = "high"; }));
  CHECK(plain->metadata.namespace_ == "default");
  CHECK(plain->spec.scheduler_name == "default-scheduler");
  CHECK(plain->spec.priority == 2147483647);
  CHECK_FALSE(is_reserve_pod(*make_pod("reservation", "1", "", [](api::Pod& p) {
    p.metadata.annotations["scheduling.koordinator.sh/reserve-pod"] = "true";
  })));
}

TEST_CASE("what is written into a reservation's status") {
  api::Reservation r = *make_reservation("r");
  const WallTime later = kNow + 1h;
  CHECK(set_unschedulable(r, "no node", kNow));
  CHECK_FALSE(set_unschedulable(r, "no node", later));
  CHECK(set_unschedulable(r, "still none", later));
  REQUIRE(r.status.conditions.size() == 1);
  const api::ReservationCondition& failed = r.status.conditions[0];
  CHECK((failed.type == "Scheduled" && failed.status == "False" && failed.reason == "Unschedulable"));
  CHECK(failed.message == "still none");
  CHECK(failed.last_probe_time == api::Time(later));
  CHECK(failed.last_transition_time == api::Time(kNow));

  r.metadata.annotations["scheduling.koordinator.sh/reservation-resize-allocatable"] =
      R"({"resources":{"cpu":"3","x.y/z":"1"}})";
  set_available(r, "n", later);
  CHECK(is_available(r));
  CHECK(r.status.allocatable == api::ResourceList{{"cpu", api::Quantity::must("3")},
                                                  {"memory", api::Quantity::must("1Gi")},
                                                  {"x.y/z", api::Quantity::must("1")}});
  const auto said = [&] {
    std::string all(r.status.phase);
    for (const api::ReservationCondition& c : r.status.conditions)
      all += fmt::format(" {}={}:{}", c.type.view(), c.status.view(), c.reason.view());
    return all;
  };
  CHECK(said() == "Available Scheduled=True:Scheduled Ready=True:Available");
  CHECK_FALSE(set_unschedulable(r, "late", later));
  api::Reservation used = r;
  set_succeeded(used, later);
  std::swap(used, r);
  CHECK(said() == "Succeeded Scheduled=True:Scheduled Ready=False:Succeeded");
  std::swap(used, r);
  set_expired(r, later);
  CHECK(said() == "Failed Scheduled=True:Scheduled Ready=False:Expired");
  CHECK(is_expired(r));
  r.status.conditions.clear();
  set_expired(r, later);
  CHECK(is_expired(r));
}

TEST_CASE("a failure's message in terms of reservations") {
  struct Row {
    const char* message;
    const char* says;  // nullptr: nothing
  };
  // Koordinator's own.
  const Row rows[] = {
      {"0/3 nodes are available: 1 Reservation(s) Insufficient cpu. 1 Reservation(s) matched owner total.",
       "0/1 reservations are available: 1 Reservation(s) Insufficient cpu."},
      {"0/1 nodes are available: 3 Reservation(s) didn't match affinity rules, 1 Reservation(s) is "
       "unschedulable, "
       "1 Reservation(s) is unavailable, 2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient "
       "memory, "
       "1 Insufficient cpu, 1 Insufficient memory. 8 Reservation(s) matched owner total, "
       "Gang \"default/demo-job-podgroup\" gets rejected due to pod is unschedulable.",
       "0/8 reservations are available: 3 Reservation(s) didn't match affinity rules, "
       "1 Reservation(s) is unschedulable, 1 Reservation(s) is unavailable, "
       "2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient memory."},
      {"0/21 nodes are available: 1 Insufficient nvidia.com/gpu by node, 4 Reservation(s) Insufficient "
       "nvidia.com/gpu. 1 Reservation(s) is unschedulable, 5 Reservation(s) matched owner total",
       "0/5 reservations are available: 4 Reservation(s) Insufficient nvidia.com/gpu, 1 Reservation(s) is "
       "unschedulable."},
      {"0/21 nodes are available: 2 Reservation(s) Too many pods. 1 Reservation(s) is unschedulable, 3 "
       "Reservation(s) matched owner total",
       "0/3 reservations are available: 2 Reservation(s) Too many pods, 1 Reservation(s) is unschedulable."},
      {"0/5 nodes are available: 3 node(s) didn't match pod topology spread constraints (missing required "
       "label), "
       "1 Insufficient cpu, 1 Insufficient memory, 3 Reservation(s) for node reason that didn't match pod "
       "topology "
       "spread constraints (missing required label), 2 Reservation(s) Insufficient cpu, 1 Reservation(s) "
       "Insufficient memory, 8 Reservation(s) matched owner total.",
       "0/8 reservations are available: 2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient "
       "memory, "
       "3 Reservation(s) for node reason that didn't match pod topology spread constraints (missing required "
       "label)."},
      {"0/5 nodes are available: 3 node(s) didn't match pod topology spread constraints,1 Insufficient cpu, "
       "1 Insufficient memory, 3 Reservation(s) for node reason that didn't match pod topology spread "
       "constraints,2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient memory. "
       "8 Reservation(s) matched owner total.",
       "0/8 reservations are available: 2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient "
       "memory, "
       "3 Reservation(s) for node reason that didn't match pod topology spread constraints."},
      {"0/5 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules,1 Insufficient "
       "cpu, "
       "1 Insufficient memory, 3 Reservation(s) for node reason that didn't satisfy existing pods "
       "anti-affinity "
       "rules,2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient memory. 8 Reservation(s) "
       "matched "
       "owner total.",
       "0/8 reservations are available: 2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient "
       "memory, "
       "3 Reservation(s) for node reason that didn't satisfy existing pods anti-affinity rules."},
      {"0/5 nodes are available: 3 node(s) didn't match pod topology spread constraints, 1 node(s) didn't "
       "match "
       "pod affinity rules, 1 Insufficient memory, 3 Reservation(s) for node reason that didn't match pod "
       "topology "
       "spread constraints, 1 Reservation(s) for node reason that didn't match pod affinity rules, "
       "2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient memory. 8 Reservation(s) matched "
       "owner "
       "total.",
       "0/8 reservations are available: 2 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient "
       "memory, "
       "3 Reservation(s) for node reason that didn't match pod topology spread constraints, "
       "1 Reservation(s) for node reason that didn't match pod affinity rules."},
      {"0/5 nodes are available: 3 node(s) didn't match pod topology spread constraints,1 Insufficient cpu, "
       "3 Reservation(s) for node reason that didn't match pod topology spread constraints,"
       "2 Reservation(s) had untolerated taint {koordinator.sh/reservation-pool: test}, 1 Reservation(s) "
       "Insufficient memory. 8 Reservation(s) matched owner total.",
       "0/8 reservations are available: 2 Reservation(s) had untolerated taint "
       "{koordinator.sh/reservation-pool: "
       "test}, 1 Reservation(s) Insufficient memory, 3 Reservation(s) for node reason that didn't match pod "
       "topology spread constraints."},
      {"Gang \"default/demo-job-podgroup\" gets rejected due to member Pod \"demo-job-kfqfs\" is"
       "unschedulable with reason \"0/3 nodes are available: 3 Insufficient cpu.\"",
       nullptr},
      {"0/5 nodes are available: 3 Insufficient cpu, 2 Insufficient memory.", nullptr},
      {"0/10 nodes are available: 1 Reservation(s) Insufficient cpu, requested: 4000, used: 30000, capacity: "
       "32000, 4 Insufficient cpu, 5 Insufficient memory, 1 Reservation(s) exactly matches the requested "
       "reservation name, 3 Reservation(s) didn't match the requested reservation name, 4 Reservation(s) "
       "matched "
       "owner total.",
       "0/4 reservations are available: 1 Reservation(s) exactly matches the requested reservation name, "
       "1 Reservation(s) Insufficient cpu, 3 Reservation(s) didn't match the requested reservation name."},
      {"", nullptr},
      {"0/ nodes are available: 1 Reservation(s) matched owner total", nullptr},
      {"0/99999999999999999999 nodes are available: 1 Reservation(s) matched owner total", nullptr},
  };
  for (const Row& row : rows) {
    const std::optional<std::string> says = about_reservations(row.message);
    CHECK(says.value_or("nothing") == (row.says != nullptr ? row.says : "nothing"));
  }
}

}  // namespace
}  // namespace koord::scheduling::reservation
