// Whole CPUs and memory nodes that reservations keep: who gets them, in which way, and what becomes of them.
#include <catch2/catch.hpp>

#include "koord/host/cpuset.hpp"
#include "reservation_cpus_rig.hpp"

namespace koord::scheduling::test {
namespace {

using RC = ReservedCpus;
using Kind = Decision::Kind;

const NumaMachine kSmall{.cpus = {2, 1, 4, 2}, .memory = "8Gi"};  // CPUs 0 to 7 and 8 to 15

std::string one_node(std::string_view reason) {
  return fmt::format("0/1 nodes are available: 1 {}.", reason);
}

// Koordinator's table of Reserve, the rows about reservations, with the same reservations and pods.
TEST_CASE("what a pod gets of a reservation's CPUs and memory nodes") {
  struct Row {
    const char* name;
    std::string_view policy, status, cpu;  // the reservation's; the pod's
    bool wants = false;
    Marks marks = {};
    std::string given;  // its CPUs, or why not
    std::string_view zones = {};
    const char* qos = "LSR";
    NumaMachine machine = kSmall;
  };
  const Marks restricted{numa_spec("Restricted")};
  const std::string insufficient = one_node("Reservation(s) not enough cpus available to satisfy request");
  const std::string on_0 = R"({"cpuset":"4-5","numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})";
  const NumaMachine large{.cpus = {2, 1, 8, 2}, .memory = "8Gi"};
  const Row rows[] = {
      {"the default policy", "", R"({"cpuset":"4-10"})", "4", false, {}, "r 4-7"},
      {"Aligned", "Aligned", R"({"cpuset":"4-10"})", "4", false, {}, "r 4-7"},
      {"Restricted", "Restricted", R"({"cpuset":"4-10"})", "4", false, {}, "r 4-7"},
      {"Restricted, too few", "Restricted", R"({"cpuset":"4-5"})", "4", true, {}, insufficient},
      {"Aligned, the others are the node's", "Aligned", R"({"cpuset":"4-5"})", "4", true, {}, "r 4-5,8-9"},
      {"Restricted, on a memory node", "Restricted",
       R"({"cpuset":"4-10","numaNodeResources":[{"node":0,"resources":{"cpu":"7"}}]})", "4", true, restricted,
       "r 4-7", R"([{"node":0,"resources":{"cpu":"4"}}])", "LSR", large},
      {"Restricted, too few on a memory node", "Restricted", on_0, "4", true, restricted,
       one_node("Unsatisfied NUMA cpu")},
      {"Restricted, shares of a memory node", "Restricted",
       R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"7"}}]})", "4", true, restricted, "r ",
       R"([{"node":1,"resources":{"cpu":"4"}}])", "LS"},
      {"Restricted, too small a share", "Restricted",
       R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})", "4", true, restricted,
       one_node("Unsatisfied NUMA cpu"), "", "LS"},
      {"Restricted, beside it", "Restricted", R"({"cpuset":"4-5"})", "4", false, {}, "node 8-11"},
      {"it keeps no parts", "Restricted", "", "4", true, {}, "r 0-3"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    RC w;
    w.machine("n", row.machine);
    w.put_on(RC::reservation("r", "8", row.policy), "n", row.status);
    auto pod = RC::owner("p", row.cpu, "r", row.marks, row.wants);
    pod = changed(pod, [&](api::Pod& p) {
      p.metadata.labels[api::kQosLabel] = Symbol(row.qos);
      // The original's rows ask for no memory.
      p.spec.containers[0].resources.requests.erase("memory");
    });
    const Decision d = w.put(pod);
    CHECK_THAT(RC::what(d), Catch::StartsWith(row.given));
    if (!row.zones.empty()) CHECK(RC::given(d).find(row.zones) != std::string::npos);
  }
}

TEST_CASE("a pod that matches two reservations gets CPUs of one of them alone") {
  RC w;
  w.machine("n", kSmall);
  const auto mine = [](api::Reservation& r) { r.spec.owners[0].label_selector->match_labels["app"] = "x"; };
  w.put_on(RC::reservation("a", "8", "Aligned", {}, mine), "n", R"({"cpuset":"0-7"})");
  w.put_on(RC::reservation("b", "2", "Aligned", {}, mine), "n", R"({"cpuset":"8-15"})");
  CHECK(w.put(RC::owner("p", "12", "x")).kind() == Kind::unschedulable);
  CHECK(RC::what(w.put(RC::owner("q", "8", "x"))) == "a 0-7");
}

TEST_CASE("a pod that ignores reservations takes CPUs of them, and nobody gets these again") {
  RC w;
  w.machine("n", kSmall);
  w.put_on(RC::reservation("r", "8"), "n", R"({"cpuset":"4-10"})");
  const auto ignoring = changed(
      lsr_pod("i", "4"), [](api::Pod& p) { p.metadata.labels[api::kReservationIgnoredLabel] = "true"; });
  CHECK(RC::what(w.put(ignoring)) == "node 4-7");
  CHECK(RC::what(w.put(RC::owner("p", "2", "r"))) == "r 8-9");
}

// As in the original, where only pods that it places in batches in its own process may skip it.
TEST_CASE("a hint's skipRestoreNodeInfo keeps nobody from his reservation") {
  RC w;
  w.machine("n", kSmall);
  w.put_on(RC::reservation("r", "16"), "n", R"({"cpuset":"0-15"})");
  const Marks hint{{"internal.scheduling.koordinator.sh/scheduling-hint",
                    R"({"extensions":{"Reservation":{"skipRestoreNodeInfo":true}}})"}};
  CHECK(RC::what(w.put(RC::owner("p", "4", "r", hint))) == "r 0-3");
}

TEST_CASE("a reservation of the class LSR is given CPUs, which are its owners' one after the other") {
  RC w;
  w.machine("n", kSmall);
  const Reserved r = RC::reservation("r", "8");
  w.engine.put_object(r);
  const Decision d = w.one();
  CHECK(RC::given(d) == R"({"cpuset":"0-7"})");
  CHECK(RC::given(d, api::ResourceSpec::kAnnotation) == R"({"preferredCPUBindPolicy":"FullPCPUs"})");
  // Nobody else gets them, whether it is Available by now or not.
  CHECK(RC::what(w.put(lsr_pod("s", "4"))) == "node 8-11");
  const Reserved there = w.available(r, d);
  w.engine.put_object(there);
  CHECK(w.engine.assumed() == 1);
  const auto first = RC::owner("a", "4", "r", {}, true);
  const Decision given = w.put(first);
  CHECK(RC::what(given) == "r 0-3");
  const auto a = RC::bound(given);
  w.engine.put_pod(a);
  CHECK(RC::what(w.put(lsr_pod("t", "4"))) == "node 12-15");
  const auto b = w.place(RC::owner("b", "4", "r", {}, true));
  CHECK(RC::cpus_of(b->metadata.annotations) == "4-7");
  CHECK(w.put(RC::owner("c", "2", "r", {}, true)).kind() == Kind::unschedulable);
  // They go back to it with the pod, and to nobody else.
  SECTION("a pod of it goes") {
    w.engine.remove_pod(*a);
    w.engine.remove_pod(*RC::owner("c", "2", "r"));
    CHECK(w.put(lsr_pod("u", "2")).kind() == Kind::unschedulable);
    CHECK(RC::what(w.put(RC::owner("d", "2", "r"))) == "r 0-1");
  }
  // What its pods have stays theirs.
  SECTION("it goes while they live") {
    w.engine.remove_pod(*a);
    w.engine.remove_pod(*RC::owner("c", "2", "r"));
    w.engine.put_object(
        changed(there, [&](api::Reservation& o) { reservation::set_expired(o, w.clock.now()); }));
    CHECK(RC::what(w.put(lsr_pod("u", "4"))) == "node 0-3");
    CHECK(w.put(lsr_pod("v", "2")).kind() == Kind::unschedulable);
    w.engine.remove_pod(*b);
    CHECK(w.run().size() == 1);
  }
}

TEST_CASE("who has which CPUs of a reservation is known again after a start, in whichever order it comes") {
  RC w;
  const Reserved r = RC::reservation("r", "8");
  const auto pod = [&] {
    w.engine.put_pod(
        changed(RC::owner("a", "4", "r", {resource_status(R"({"cpuset":"0-3"})")}), [](api::Pod& p) {
          p.spec.node_name = "n";
          p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"name":"r","uid":"uid-of-r"})";
        }));
  };
  const auto object = [&] { w.put_on(r, "n", R"({"cpuset":"0-7"})"); };
  const auto node = [&] { w.engine.put_node(kSmall.node("n")); };
  const auto topology = [&] { w.engine.put_object<api::NodeResourceTopology>(kSmall.topology("n")); };
  SECTION("the node first") { node(), topology(), object(), pod(); }
  SECTION("the pod first") { pod(), object(), topology(), node(); }
  SECTION("the reservation first") { object(), node(), pod(), topology(); }
  SECTION("the topology first") { topology(), pod(), node(), object(); }
  CHECK(RC::what(w.put(RC::owner("b", "4", "r"))) == "r 4-7");
  CHECK(RC::what(w.put(lsr_pod("s", "8"))) == "node 8-15");
  CHECK(w.put(lsr_pod("t", "2")).kind() == Kind::unschedulable);
}

TEST_CASE("what pods have of a reservation's memory nodes counts once, and no more of it than is kept") {
  const auto shares = [](int cpu) {
    return fmt::format(R"({{"numaNodeResources":[{{"node":0,"resources":{{"cpu":"{}"}}}}]}})", cpu);
  };
  const Marks single{numa_spec("SingleNUMANode", "Preferred")};
  const auto ls = [&](std::string name, std::string_view cpu, std::string_view app = {}) {
    return make_pod(std::move(name), cpu, "", [=](api::Pod& p) {
      mark(p.metadata.annotations, single);
      if (!app.empty()) p.metadata.labels["app"] = Symbol(app);
    });
  };
  struct Row {
    const char* name;
    int kept, had;       // of the 8 CPUs of memory node 0; the other one is full
    int beside, inside;  // how much a stranger, and the next owner can have
  };
  const Row rows[] = {
      {"nothing of it", 6, 0, 2, 8}, {"some of it", 6, 4, 2, 4}, {"all", 6, 6, 2, 2}, {"more", 4, 6, 2, 2}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    RC w;
    w.machine("n", kSmall);
    w.engine.put_pod(make_pod("full", "1", "", [](api::Pod& p) {
      mark(p.metadata.annotations,
           {resource_status(R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"8"}}]})")});
      p.spec.node_name = "n";
    }));
    w.put_on(RC::reservation("r", std::to_string(row.kept), "Aligned"), "n", shares(row.kept));
    if (row.had > 0)
      w.engine.put_pod(changed(ls("had", std::to_string(row.had), "r"), [&](api::Pod& p) {
        mark(p.metadata.annotations, {resource_status(shares(row.had))});
        p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"name":"r","uid":"uid-of-r"})";
        p.spec.node_name = "n";
      }));
    const auto most = [&](std::string_view app) {
      for (int cpu = 8; cpu > 0; --cpu)
        if (w.refused(ls("q", std::to_string(cpu), app)).empty()) return cpu;
      return 0;
    };
    CHECK(most({}) == row.beside);
    CHECK(most("r") == row.inside);
  }
}

TEST_CASE("CPUs that a reservation's template or its pod claims are not its own") {
  RC w;
  w.machine("n", kSmall);
  const Reserved r = make_reservation("r", "2", [](api::Reservation& o) {
    o.spec.template_.text =
        R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LSR"},"annotations":{)"
        R"("scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"8-15\"}",)"
        R"("scheduling.koordinator.sh/resource-spec":"{\"requiredCPUBindPolicy\":\"SpreadByPCPUs\"}"}},)"
        R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})";
  });
  w.engine.put_object(r);
  const Decision d = w.one();
  CHECK(RC::given(d) == R"({"cpuset":"0,2"})");
  // What counted is its own from now on.
  CHECK(RC::given(d, api::ResourceSpec::kAnnotation) == R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})");
  w.engine.put_object(w.available(r, d));
  CHECK(RC::what(w.put(lsr_pod("s", "8"))) == "node 8-15");
}

TEST_CASE("a reservation at other memory nodes than are best for the pod is not chosen") {
  RC w;
  w.machine("n", kSmall);
  const std::string status = R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"8"}}]})";
  w.put_on(RC::reservation("r", "8", "Restricted"), "n", status);
  const auto ls = [](std::string name, bool wants) {
    return changed(RC::owner(std::move(name), "4", "r", {numa_spec("Restricted")}, wants), [](api::Pod& p) {
      p.metadata.labels[api::kQosLabel] = "LS";
      p.spec.containers[0].resources.requests.erase("memory");
    });
  };
  Decision d = w.put(ls("beside", false));
  CHECK(RC::what(d) == "node ");
  CHECK(RC::given(d) == R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"4"}}]})");
  d = w.put(ls("inside", true));
  CHECK(RC::what(d) == "r ");
  CHECK(RC::given(d) == R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"4"}}]})");
}

TEST_CASE("a pod that found too few CPUs is tried again when a reservation is for it") {
  RC w;
  w.machine("n", kSmall);
  const Reserved others = RC::reservation("others", "8");
  w.put_on(others, "n", R"({"cpuset":"0-15"})");
  CHECK_THAT(RC::what(w.put(RC::owner("p", "4", "r"))), Catch::Contains("not enough cpus available"));
  w.put_on(changed(others,
                   [](api::Reservation& r) { r.spec.owners[0].label_selector->match_labels["app"] = "r"; }),
           "n", R"({"cpuset":"0-15"})");
  w.clock.advance(std::chrono::seconds(20));
  const auto again = w.run();
  REQUIRE(again.size() == 1);
  CHECK(RC::what(again[0]) == "others 0-3");
}

// Koordinator's tables of AddPod and RemovePod are of the sums that it keeps for this.
TEST_CASE("CPUs of victims are room for who may have them") {
  RC w(true);
  w.machine("n", kSmall);
  w.put_on(RC::reservation("r", "8", "Restricted"), "n", R"({"cpuset":"0-7"})");
  const auto important = [](const std::shared_ptr<const api::Pod>& pod, std::int32_t priority) {
    return changed(pod, [=](api::Pod& p) { p.spec.priority = priority; });
  };
  w.place(important(RC::owner("in", "8", "r", {}, true), 9000));
  const auto victims = [&](const std::shared_ptr<const api::Pod>& pod) {
    const Decision d = w.put(pod);
    const auto* const refused = d.as<Decision::Unschedulable>();
    std::string all;
    if (refused == nullptr) return RC::what(d);
    for (const auto& victim : refused->preemption.victims) all += victim.pod->metadata.name + " ";
    return all;
  };
  SECTION("the node's") {
    w.place(important(lsr_pod("on", "8"), 9000));
    CHECK(victims(important(lsr_pod("p", "8"), 9900)) == "on ");
  }
  SECTION("a reservation's, for the next one of it") {
    CHECK(victims(important(RC::owner("p", "8", "r", {}, true), 9900)) == "in ");
  }
  SECTION("a reservation's, for somebody else") {
    CHECK(victims(important(lsr_pod("p", "16"), 9900)).empty());
  }
  SECTION("nobody is more important") {
    CHECK(victims(important(RC::owner("p", "8", "r", {}, true), 9000)).empty());
  }
}

}  // namespace
}  // namespace koord::scheduling::test
