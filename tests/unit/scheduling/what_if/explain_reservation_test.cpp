// koord explain: what it says of reservations, for a pod and of one of them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "plugins/reservation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using explain::ExplanationView;
using RW = ReservationWorld;
using Pods = std::vector<std::shared_ptr<const api::Pod>>;

ExplanationView of_pod(RW& w, std::shared_ptr<const api::Pod> pod) {
  w.engine.put_pod(pod);
  explain::Question question;
  question.pod = std::move(pod);
  question.now = w.clock.now();
  return explain::explain(w.engine, question);
}

ExplanationView of_reservation(RW& w, std::shared_ptr<const api::Reservation> r, Pods waiting = {}) {
  w.engine.put_object(r);
  for (const auto& pod : waiting) w.engine.put_pod(pod);
  explain::ReservationQuestion question;
  question.reservation = std::move(r);
  question.waiting = std::move(waiting);
  question.rest.now = w.clock.now();
  ExplanationView view = explain::explain(w.engine, question);
  // It is JSON, too.
  CHECK(api::decode<ExplanationView>(api::encode(view)).value() == view);
  return view;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("which reservations are for a pod, and why they do not serve it") {
  struct Row {
    const char* name;
    ReservationEdit edit;  // of the reservation r on n
    std::string affinity;  // of the pod, absent where it is "-"
    const char* cpu;       // that it asks for
    std::vector<std::string> reasons;
    bool there = true;
  };
  const std::vector<Row> rows = {
      {"serves", {}, "-", "1", {}},
      {"serves who wants one", {}, "", "1", {}},
      {"is not for it",
       [](auto& r) { r.spec.owners[0].label_selector.ensure().match_labels["app"] = "x"; },
       "-",
       "1",
       {},
       false},
      {"is not for the pod that names it",
       [](auto& r) { r.spec.owners[0].label_selector.ensure().match_labels["app"] = "x"; },
       R"({"name":"r"})",
       "1",
       {"its owners do not match the pod"}},
      {"another one is named", {}, R"({"name":"s"})", "1", {"the pod wants the reservation s"}},
      {"waits", [](auto& r) { r.status = {}; }, "-", "1", {"it is on no node yet"}},
      {"is over", [](auto& r) { r.status.phase = "Failed"; }, "-", "1", {"it is over (Failed)"}},
      {"lacks something",
       [](auto& r) { r.spec.ttl.reset(); },
       "-",
       "1",
       {"the reservation misses the expiration spec"}},
      {"is closed",
       [](auto& r) { r.spec.unschedulable = true; },
       "-",
       "1",
       {"it is closed to further pods (unschedulable, or being deleted)"}},
      {"has a taint",
       [](auto& r) { r.spec.taints.push_back({.key = "k", .value = "v", .effect = "NoSchedule"}); },
       "",
       "1",
       {"it has the taint k=v:NoSchedule, which the pod's reservation affinity does not tolerate"}},
      {"has other labels",
       {},
       R"({"reservationSelector":{"pool":"a"}})",
       "1",
       {"its labels and its node's do not match the pod's reservation affinity"}},
      {"is too small, as its node is", {}, "-", "4", {"Insufficient cpu by node"}},
      {"is Restricted, and too small",
       [](auto& r) { r.spec.allocate_policy = "Restricted"; },
       "-",
       "3",
       {"Reservation(s) Insufficient cpu"}},
      {"is nowhere", [](auto& r) { r.status.node_name = "gone"; }, "-", "1", {"its node is gone"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RW w;
    w.engine.put_node(make_node("n", "4"));
    w.put_owner("x", "500m", "n", "");
    w.put_on(make_reservation("r", "2"), "n", row.edit);
    const auto pod = make_pod("p", row.cpu, "128Mi",
                              RW::owner_of("r", row.affinity == "-" ? std::map<std::string, std::string>()
                                                                    : RW::wanting(row.affinity)));
    const ExplanationView view = of_pod(w, pod);
    REQUIRE(view.reservations.size() == (row.there ? 1 : 0));
    if (!row.there) continue;
    CHECK(view.reservations[0].reasons == row.reasons);
    CHECK(view.reservations[0].serves == row.reasons.empty());
    // Of one that is not there nothing is left.
    if (row.name == std::string_view("waits")) CHECK(view.reservations[0].left.empty());
  }
}

TEST_CASE("what a pod's node says counts for the reservation, too; what is left of it is told") {
  RW w;
  w.engine.put_node(make_node("n", "4", "8Gi", [](api::Node& n) { n.spec.unschedulable = true; }));
  w.put_on(make_reservation("r", "2"), "n");
  w.put_owner("x", "500m", "n", "uid-of-r");
  const std::string text =
      explain::render(of_pod(w, make_pod("p", "1", "128Mi", RW::owner_of("r", RW::wanting("")))));
  CHECK(has(text, "\nIt wants room of a reservation (one), and none serves it: it goes nowhere without.\n"));
  CHECK(has(text,
            "\nReservations that are for it, or that it names:\n  r on n: does not serve it: node(s) were "
            "unschedulable; left of it: cpu 1500m, memory 896Mi\n"));
}

TEST_CASE("of many reservations those that serve come first, and the rest is counted") {
  RW w;
  w.engine.put_node(make_node("n", "64", "512Gi"));
  for (int i = 0; i < 30; ++i)
    w.put_on(make_reservation(fmt::format("r{:02}", i), "1",
                              [&](api::Reservation& r) {
                                *r.spec.owners[0].label_selector = {};
                                r.spec.unschedulable = i < 25;
                              }),
             "n");
  const ExplanationView view = of_pod(w, make_pod("p", "1"));
  REQUIRE(view.reservations.size() == 20);
  CHECK(view.reservations[0].name == "r25");
  CHECK(view.reservations[5].name == "r00");
  CHECK(view.more_reservations == 10);
  CHECK(has(explain::render(view),
            "(unschedulable, or being deleted); left of it: cpu 1, memory 1Gi\n  and 10 "
            "more\n"));
}

TEST_CASE("who wants a reservation that there is not is told so") {
  RW w;
  w.engine.put_node(make_node("n"));
  const auto text = [&](const std::string& affinity) {
    return explain::render(of_pod(w, make_pod("p", "1", "", RW::owner_of("r", RW::wanting(affinity)))));
  };
  CHECK(has(text(R"({"name":"r"})"),
            "It wants room of a reservation (the one named r), and there is none of that name: it goes "
            "nowhere without.\n"));
  CHECK(has(text(""),
            "It wants room of a reservation (one), and none has owners that match it: it goes "
            "nowhere without.\n"));
  CHECK(has(text("7"), "What it says of reservations cannot be read: "));
}

TEST_CASE("a reservation on a node: who has what of it, what is left, and who could have it") {
  RW w;
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  const auto r = w.put_on(make_reservation("r", "3",
                                           [&](api::Reservation& x) {
                                             x.spec.ttl = api::Duration(std::chrono::hours(1));
                                             x.metadata.creation_timestamp = api::Time(w.clock.now());
                                             x.spec.allocate_policy = "Restricted";
                                           }),
                          "n");
  w.put_owner("a", "1", "n", "uid-of-r", RW::owner_of("r"));
  w.put_owner("b", "1", "m", "", RW::owner_of("r"));
  w.put_owner("c", "500m", "n", "");
  const ExplanationView view =
      of_reservation(w, r,
                     {make_pod("small", "1", "128Mi", RW::owner_of("r")),
                      make_pod("large", "2500m", "128Mi", RW::owner_of("r")), make_pod("other", "1")});
  CHECK(view.outcome == "placed");
  CHECK(view.pod == "reservation:r");
  REQUIRE(view.reservation.size() == 1);
  CHECK(view.reservation[0].expires == api::Time(w.clock.now() + std::chrono::hours(1)).to_string());
  CHECK(explain::render(view) ==
        fmt::format("Reservation r is on node n, and keeps cpu 3, memory 1Gi for its owners.\n"
                    "Its pods have cpu 1, memory 128Mi of it; cpu 2, memory 896Mi are left.\n"
                    "It expires in 60 minutes ({}).\n"
                    "\nPods that have room of it:\n"
                    "  default/a: cpu 1, memory 128Mi\n"
                    "\nPods that it is for and that have none of it:\n"
                    "  default/small waits: would serve it\n"
                    "  default/large waits: does not serve it: Reservation(s) Insufficient cpu\n"
                    "  default/b is on m\n",
                    view.reservation[0].expires));
}

TEST_CASE("a reservation that waits: what a pod would be told, and who waits for it") {
  RW w;
  w.engine.put_node(make_node("n", "2"));
  const auto r = make_reservation("r", "3", [&](api::Reservation& x) {
    reservation::set_unschedulable(x, "0/1 nodes are available: 1 Insufficient cpu.", w.clock.now());
  });
  const ExplanationView view = of_reservation(w, r, {make_pod("p", "1", "128Mi", RW::owner_of("r"))});
  CHECK(view.outcome == "unschedulable");
  const std::string text = explain::render(view);
  CHECK(
      text.starts_with("Reservation r fits on none of 1 node.\n"
                       "The scheduler's last word about it (its condition Scheduled, false for 0 seconds): "
                       "Unschedulable: 1 Insufficient cpu (0/1 nodes)\n"
                       "It does not expire.\n"
                       "\nPods that it is for and that have none of it:\n"
                       "  default/p waits: does not serve it: it is on no node yet\n"));
  CHECK(has(text,
            "\nIt would fit if (each line alone is enough, and nothing less of it):\n  - it asked for at "
            "most 2 of cpu (it asks for 3): n\n"));
  CHECK(has(text, "\nWhat the scheduler says of an attempt now:\n  1 Insufficient cpu (0/1 nodes)\n"));
}

TEST_CASE("the first sentence of a reservation") {
  struct Row {
    const char* name;
    ReservationEdit edit;
    std::string says;
    const char* outcome;
  };
  const std::vector<Row> rows = {
      {"fits", {}, "Reservation r fits on 1 of 1 node now.\nn is the best of them, with ", "fits"},
      {"has been used",
       [](auto& r) {
         reservation::set_available(r, "n", WallTime());
         reservation::set_succeeded(r, WallTime());
       },
       "Reservation r is over (Succeeded): it keeps no room.\n", "finished"},
      {"has expired",
       [](auto& r) {
         reservation::set_available(r, "n", WallTime());
         reservation::set_expired(r, WallTime());
       },
       "Reservation r is over (Failed, Expired): it keeps no room.\n", "finished"},
      {"lacks owners", [](auto& r) { r.spec.owners.clear(); },
       "Reservation r is passed over by every scheduler until that is written: the reservation misses the "
       "owner spec.\n",
       "invalid"},
      {"is on a node that is gone", [](auto& r) { reservation::set_available(r, "gone", WallTime()); },
       "Reservation r is on node gone, and keeps cpu 2, memory 1Gi for its owners.\nIts pods have nothing of "
       "it; cpu 2, memory 1Gi are left.\nThere is no node of this name (any more): the scheduler that leads "
       "makes it Failed.\nIt does not expire.\n",
       "placed"},
      {"is used up by the first",
       [](auto& r) {
         r.spec.allocate_once = true;
         reservation::set_available(r, "n", WallTime());
       },
       "Reservation r is on node n, and keeps cpu 2, memory 1Gi for its owners.\nIts pods have nothing of "
       "it; "
       "cpu 2, memory 1Gi are left.\nThe first pod that gets room of it uses it up (allocateOnce).\n",
       "placed"},
      {"is closed",
       [](auto& r) {
         r.spec.unschedulable = true;
         reservation::set_available(r, "n", WallTime());
       },
       "Reservation r is on node n, and keeps cpu 2, memory 1Gi for its owners.\nIts pods have nothing of "
       "it; "
       "cpu 2, memory 1Gi are left.\nNo further pod gets room of it unless its reservation affinity "
       "tolerates "
       "that: it is unschedulable.\n",
       "placed"},
      {"another scheduler's",
       [](auto& r) { r.spec.template_.text = R"({"spec":{"schedulerName":"mine","containers":[]}})"; },
       "Reservation r fits on 1 of 1 node now.\n", "fits"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RW w;
    w.engine.put_node(make_node("n"));
    const ExplanationView view = of_reservation(w, make_reservation("r", "2", row.edit));
    CHECK(explain::render(view).substr(0, row.says.size()) == row.says);
    CHECK(view.outcome == row.outcome);
  }
}

TEST_CASE("without the plugin nobody has reservations") {
  World w;
  explain::ReservationQuestion question;
  question.reservation = make_reservation("r");
  const ExplanationView view = explain::explain(w.engine, question);
  CHECK(view.outcome == "unserved");
  CHECK(has(explain::render(view),
            "Reservation r is nobody's: no profile of this configuration has the plugin"));
}

}  // namespace
}  // namespace koord::scheduling::test
