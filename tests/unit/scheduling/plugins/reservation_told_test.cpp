// What people see of reservations: pages, events, and how the index of labels was asked.
#include <catch2/catch.hpp>

#include "koord/base/metrics.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"
#include "reservation_rig.hpp"
#include "scheduling/plugins/reservation/rules/selector_index.hpp"

namespace koord::scheduling::reservation {
namespace {

using namespace scheduling::test;

using RW = ReservationWorld;
using Labels = std::map<std::string, std::string>;

api::SymbolMap labels(const Labels& of) {
  api::SymbolMap all;
  for (const auto& [key, value] : of) all[key] = Symbol(value);
  return all;
}

/// Of the pod's profile.
template <class Interface>
Interface& part(RW& w) {
  for (const Profile::Named& named : w.engine.profiles()[0].plugins)
    if (named.name == "Reservation") return dynamic_cast<Interface&>(*named.plugin);
  throw std::runtime_error("no Reservation");
}

std::string page(RW& w, std::string path, std::vector<std::pair<std::string, std::string>> query = {}) {
  const auto answer = part<ServicePlugin>(w).serve({std::move(path), std::move(query)});
  return answer ? fmt::format("{} {}", answer->status, answer->json) : "";
}

KubeSchedulerConfiguration indexed() {
  KubeSchedulerConfiguration c = RW::config(false);
  c.profiles[0].plugin_config.push_back(
      {"Reservation",
       {R"({"reservationSelectorIndex":{"enabled":true,"keyPrefixes":["app-"," "],"keys":["pool"]}})"},
       {}});
  return c;
}

TEST_CASE("the index of labels leaves the fewest nodes, and says where it knows nothing") {
  SelectorIndex index(true, {"app-", "ap", " team ", "", "app-"}, {"pool", "app-x", "\t"});
  index.put("1", "n", labels({{"app-a", "1"}, {"app-b", "2"}, {"pool", "x"}}));
  index.put("2", "m", labels({{"app-a", "1"}, {"pool", "y"}}));
  index.put("3", "m", labels({{"app-x", "v"}, {"team", "t"}, {"zone", "z"}}));
  index.put("4", "l", labels({{"zone", "z"}}));
  struct Row {
    Labels selector;
    const char* nodes;  // nullptr: it does not know
  };
  const Row rows[] = {
      {{}, nullptr},
      {{{"zone", "z"}}, nullptr},
      {{{"app-a", "1"}}, "m n"},
      {{{"app-a", "another value"}}, "m n"},
      {{{"app-c", "1"}}, "m n"},  // by the prefix
      {{{"apart", "1"}}, ""},     // by the second prefix
      {{{"app-x", "v"}}, "m"},    // a whole key comes before prefixes
      {{{"app-x", "w"}}, ""},     // with its value
      {{{"pool", "x"}}, "n"},
      {{{"pool", "x"}, {"app-a", "1"}}, "n"},  // the fewest, not what both have
      {{{"pool", "x"}, {"pool-y", ""}, {"zone", "z"}}, "n"},
      {{{"team", "t"}, {"app-a", "1"}}, "m"},
      {{{"pool", "z"}, {"app-a", "1"}}, ""},
  };
  for (const Row& row : rows) {
    INFO(fmt::format("{}", row.selector));
    const SelectorIndex::Nodes* const found = index.candidates(labels(row.selector));
    REQUIRE((found == nullptr) == (row.nodes == nullptr));
    if (found == nullptr) continue;
    std::vector<std::string_view> names;
    for (const auto& [node, uids] : *found) names.push_back(node.view());
    CHECK(fmt::format("{}", fmt::join(names, " ")) == row.nodes);
  }
  CHECK(index.describe(false) ==
        R"({"enabled":true,"prefixes":["app-","ap","team"],"keys":["app-x","pool"],"indexedReservations":3,)"
        R"("byPrefix":{"app-":{"nodes":2,"reservations":3},"team":{"nodes":1,"reservations":1}},)"
        R"("byKey":{"app-x":{"nodes":1,"reservations":1},"pool":{"nodes":2,"reservations":2}}})");
  // With other labels, on another node, gone.
  index.put("1", "l", labels({{"pool", "y"}}));
  index.remove("3");
  index.remove("never there");
  CHECK(index.describe(true) ==
        R"({"enabled":true,"prefixes":["app-","ap","team"],"keys":["app-x","pool"],"indexedReservations":2,)"
        R"("byPrefix":{"app-":{"nodes":1,"reservations":1,"byNode":{"m":["2"]}}},)"
        R"("byKey":{"pool":{"nodes":2,"reservations":2,"byNode":{"l":["1"],"m":["2"]}}},)"
        R"("byKeyValue":{"pool":{"y":{"nodes":2,"reservations":2,"byNode":{"l":["1"],"m":["2"]}}}}})");
  index.remove("1");
  index.remove("2");
  CHECK(
      index.describe(true) ==
      R"({"enabled":true,"prefixes":["app-","ap","team"],"keys":["app-x","pool"],"indexedReservations":0})");
}

TEST_CASE("without keys the index is off") {
  for (const SelectorIndex& index :
       {SelectorIndex(false, {"a"}, {"b"}), SelectorIndex(true, {" "}, {}), SelectorIndex(true, {}, {})}) {
    CHECK_FALSE(index.enabled());
    CHECK(index.candidates(labels({{"a", "1"}})) == nullptr);
    CHECK(index.describe(true) == R"({"enabled":false,"prefixes":null,"indexedReservations":0})");
  }
}

TEST_CASE("pods that select by indexed labels are told of the index's nodes alone, and are counted") {
  RW w(indexed());
  metrics::Registry registry;
  part<MeasuredPlugin>(w).measure(registry);
  for (const char* node : {"n", "m"})
    w.engine.put_node(make_node(node, "4", "8Gi", [](api::Node& n) { n.metadata.labels["app-node"] = "1"; }));
  const auto with = [](std::string key, std::string value) {
    return [=](api::Reservation& r) { r.metadata.labels[key] = value; };
  };
  w.put_on(make_reservation("r", "2"), "n", with("pool", "x"));
  const auto other =
      w.put_on(make_reservation("s", "2", [](api::Reservation& r) { *r.spec.owners[0].label_selector = {}; }),
               "m", with("app-s", "x"));
  const auto tried = [&](const std::string& affinity) {
    w.engine.put_pod(make_pod("p", "1", "128Mi", RW::owner_of("r", RW::wanting(affinity))));
    const Decision d = w.one();
    w.engine.remove_pod(*d.pod);
    return d.kind() == Decision::Kind::bind ? d.node().str() : d.message();
  };
  const std::string none = "0/2 nodes are available: node(s) no reservations match reservation affinity. ";
  CHECK(tried(R"({"reservationSelector":{"pool":"x"}})") == "n");
  CHECK(tried(R"({"reservationSelector":{"pool":"y"}})") == none + "0 Reservation(s) matched owner total");
  CHECK(tried(R"({"reservationSelector":{"app-t":"x"}})") ==
        none + "1 Reservation(s) didn't match affinity rules, 1 Reservation(s) matched owner total");
  CHECK(tried(R"({"reservationSelector":{"zone":"x"}})") ==
        none + "2 Reservation(s) didn't match affinity rules, 2 Reservation(s) matched owner total");
  // Labels of nodes are not in it.
  CHECK(tried(R"({"reservationSelector":{"app-node":"1"}})") == "m");
  w.engine.remove_object(other);
  CHECK(tried(R"({"reservationSelector":{"app-node":"1"}})") ==
        none + "0 Reservation(s) matched owner total");
  // Nobody asks the index there.
  CHECK(tried(R"({"name":"r"})") == "n");
  w.engine.put_pod(make_pod("q"));
  w.run();
  const std::string told = registry.exposition();
  const auto shows = [&](std::string_view line) { return told.find(line) != std::string::npos; };
  CHECK(shows("scheduler_reservation_selector_index_query_total{result=\"hit\"} 5\n"));
  CHECK(shows("scheduler_reservation_selector_index_query_total{result=\"miss\"} 1\n"));
  CHECK(shows("scheduler_reservation_selector_index_candidates_count_count 3\n"));
  CHECK(shows("scheduler_reservation_selector_index_candidates_count_sum 3\n"));
  CHECK(shows("scheduler_reservation_selector_index_candidates_count_bucket{le=\"32768\"} 3\n"));
  CHECK(page(w, "/reservationSelectorIndex", {{"detail", "true"}}) ==
        R"(200 {"enabled":true,"prefixes":["app-"],"keys":["pool"],"indexedReservations":1,)"
        R"("byKey":{"pool":{"nodes":1,"reservations":1,"byNode":{"n":["uid-of-r"]}}},)"
        R"("byKeyValue":{"pool":{"x":{"nodes":1,"reservations":1,"byNode":{"n":["uid-of-r"]}}}}})");
}

TEST_CASE("who names a reservation is told of those on its node alone") {
  RW w;
  for (const char* node : {"n", "m", "l"}) w.engine.put_node(make_node(node));
  const auto for_all = [](api::Reservation& r) { *r.spec.owners[0].label_selector = {}; };
  for (const char* name : {"r", "s"}) w.put_on(make_reservation(name, "1", for_all), "m");
  w.put_on(make_reservation("t", "1", for_all), "l");
  const auto tried = [&](const std::string& affinity) {
    w.engine.put_pod(make_pod("p", "8", "128Mi", RW::owner_of("x", RW::wanting(affinity))));
    const Decision d = w.one();
    w.engine.remove_pod(*d.pod);
    return d.message();
  };
  CHECK_THAT(
      tried(R"({"name":"r"})"),
      Catch::EndsWith(". 1 Reservation(s) exactly matches the requested reservation name, 1 Reservation(s) "
                      "didn't match the requested reservation name, 1 Reservation(s) for node reason that "
                      "Insufficient cpu, 2 Reservation(s) matched owner total"));
  // Of one that is not there nobody knows where it would be.
  CHECK_THAT(
      tried(R"({"name":"gone"})"),
      Catch::EndsWith(". 3 Reservation(s) didn't match the requested reservation name, 3 Reservation(s) "
                      "matched owner total"));
}

TEST_CASE("the reservations on a node as JSON") {
  RW w;
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  CHECK(page(w, "/nodeReservations/n") == "200 {}");
  CHECK(page(w, "/nodeReservations/nowhere") == "200 {}");
  CHECK(page(w, "/nodeReservations/").empty());
  CHECK(page(w, "/elsewhere").empty());
  w.put_on(
      make_reservation("r", "3",
                       [](api::Reservation& r) {
                         r.spec.allocate_policy = "Restricted";
                         r.metadata.annotations["node.koordinator.sh/reservation"] =
                             R"({"resources":{"cpu":"500m"}})";
                         r.spec.template_.text =
                             R"({"spec":{"containers":[{"name":"c","ports":[{"hostPort":80}],"resources":)"
                             R"({"requests":{"cpu":"3","memory":"1Gi","example.com/gpu":"2"}}}]}})";
                       }),
      "n");
  w.put_on(make_reservation("idle", "1", [](api::Reservation& r) { r.spec.allocate_once.reset(); }), "n");
  w.put_owner("p", "1", "n", "uid-of-r", [](api::Pod& p) {
    p.spec.containers[0].ports.push_back({.host_port = 80, .protocol = "TCP"});
  });
  w.put_owner("q", "1", "n", "");
  CHECK(page(w, "/nodeReservations/m") == "200 {}");
  CHECK(
      page(w, "/nodeReservations/n") ==
      R"(200 {"items":[{"name":"idle","uid":"uid-of-idle","kind":"Reservation","available":true,)"
      R"("allocateOnce":true,"allocatable":{"cpu":"1","memory":"1Gi"},"availableResource":{"MilliCPU":1000,)"
      R"("Memory":1073741824,"EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":null},)"
      R"("allocatedResource":{"MilliCPU":0,"Memory":0,"EphemeralStorage":0,"AllowedPodNumber":0,)"
      R"("ScalarResources":null},"owners":[{"labelSelector":{"matchLabels":{"app":"idle"}}}]},)"
      R"({"name":"r","uid":"uid-of-r","kind":"Reservation","available":true,)"
      R"("allocatable":{"cpu":"3","example.com/gpu":"2","memory":"1Gi"},"reserved":{"cpu":"500m"},)"
      R"("allocated":{"cpu":"1","memory":"128Mi"},)"
      R"("allocatablePorts":{"0.0.0.0":[{"Protocol":"TCP","Port":80}]},)"
      R"("allocatedPorts":{"0.0.0.0":[{"Protocol":"TCP","Port":80}]},)"
      R"("availableResource":{"MilliCPU":1500,"Memory":939524096,"EphemeralStorage":0,"AllowedPodNumber":0,)"
      R"("ScalarResources":{"example.com/gpu":2}},"allocatedResource":{"MilliCPU":1000,"Memory":134217728,)"
      R"("EphemeralStorage":0,"AllowedPodNumber":0,"ScalarResources":null},)"
      R"("owners":[{"labelSelector":{"matchLabels":{"app":"r"}}}],"allocatePolicy":"Restricted",)"
      R"("assignedPods":[{"Namespace":"default","Name":"p","UID":"uid-p",)"
      R"("Requests":{"cpu":"1","memory":"128Mi"},"Ports":{"0.0.0.0":[{"Protocol":"TCP","Port":80}]}}]}]})");
}

TEST_CASE("who wants a reservation is told of reservations, too") {
  RW w;
  const auto& tells = part<FailureEventPlugin>(w);
  const auto wanting = make_pod("p", "1", "128Mi", RW::owner_of("r", RW::wanting("")));
  const std::string message =
      "0/3 nodes are available: 3 Insufficient cpu. 1 Reservation(s) is unschedulable, 2 Reservation(s) "
      "matched "
      "owner total";
  const auto event = tells.event_of_failure(*wanting, message);
  REQUIRE(event);
  CHECK(event->reason == "FailedScheduling-Reservation");
  CHECK(event->note == "0/2 reservations are available: 1 Reservation(s) is unschedulable.");
  CHECK_FALSE(tells.event_of_failure(*wanting, "0/3 nodes are available: 3 Insufficient cpu."));
  CHECK_FALSE(tells.event_of_failure(*wanting, "context deadline exceeded"));
  CHECK_FALSE(tells.event_of_failure(*make_pod("p"), message));
}

}  // namespace
}  // namespace koord::scheduling::reservation
