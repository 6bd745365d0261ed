// What becomes of reservations that have been placed: owners and amounts, expiry, Succeeded, collection.
#include "scheduling/plugins/reservation/control/upkeep.hpp"

#include <catch2/catch.hpp>

#include "koord/api/koordinator/reservation.hpp"
#include "plugins/reservations.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"
#include "world.hpp"

namespace koord::scheduling::reservation {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;

const WallTime kNow = WallTime(std::chrono::hours(24 * 365 * 50));

std::shared_ptr<const api::Reservation> placed(std::string name, const ReservationEdit& edit = {}) {
  return make_reservation(std::move(name), "4", [&](api::Reservation& r) {
    r.status.phase = "Available";
    r.status.node_name = "n";
    r.status.allocatable["cpu"] = *api::Quantity::parse("4");
    r.metadata.creation_timestamp = api::Time(kNow - 1h);
    if (edit) edit(r);
  });
}

api::Pod user(std::string name, std::string_view reservation, std::string_view node = "n",
              std::string_view cpu = "1") {
  api::Pod pod = *make_pod(name, cpu);
  pod.metadata.uid = "uid-of-" + name;
  pod.spec.node_name = Symbol(node);
  if (!reservation.empty())
    pod.metadata.annotations[api::ReservationAllocated::kAnnotation] =
        R"({"name":")" + std::string(reservation) + R"(","uid":"uid-of-)" + std::string(reservation) +
        R"("})";
  return pod;
}

std::string owners_of(const api::Reservation& r) {
  std::string names;
  for (const api::ObjectReference& each : r.status.current_owners) names += each.name + " ";
  return names;
}

TEST_CASE("owners are the pods on its node that say so, allocated is what they ask for of what it keeps") {
  const auto r = placed("r");
  Holders holders;
  CHECK_FALSE(settled(*r, holders, true, kNow));
  CHECK(holders.put(user("b", "r")) == std::vector<ReservationKey>{{"r", "uid-of-r"}});
  CHECK(holders.put(user("a", "r", "n", "2")).size() == 1);
  CHECK(holders.put(user("c", "")).empty());
  CHECK(holders.put(user("d", "other")).size() == 1);
  CHECK(holders.put(user("e", "r", "another")).size() == 1);
  CHECK(holders.put(user("f", "r", "")).empty());  // not on a node
  auto after = settled(*r, holders, true, kNow);
  REQUIRE(after);
  CHECK(owners_of(*after) == "a b ");
  CHECK(after->status.allocated.size() == 1);  // memory is none of what it keeps
  CHECK(*after->status.allocated.find("cpu") == *api::Quantity::parse("3"));
  CHECK(after->status.phase == "Available");
  CHECK_FALSE(settled(*after, holders, true, kNow));
  // The order in which somebody wrote them is no difference.
  std::swap(after->status.current_owners[0], after->status.current_owners[1]);
  CHECK_FALSE(settled(*after, holders, true, kNow));

  // A pod that goes, one that has another's room now, and one that nobody can read.
  CHECK(holders.remove(user("b", "r")).size() == 1);
  CHECK(holders.remove(user("b", "r")).empty());
  CHECK(holders.put(user("a", "other")) ==
        std::vector<ReservationKey>{{"r", "uid-of-r"}, {"other", "uid-of-other"}});
  api::Pod garbled = user("g", "r");
  garbled.metadata.annotations[api::ReservationAllocated::kAnnotation] = "{";
  CHECK(holders.put(garbled).empty());
  after = settled(*after, holders, true, kNow);
  REQUIRE(after);
  CHECK(after->status.current_owners.empty());
  CHECK(after->status.allocated.empty());
}

TEST_CASE("what becomes of a reservation") {
  struct Row {
    const char* what;
    ReservationEdit edit;
    bool used, has_node;
    const char* phase;  // nullptr: it stays as it is
  };
  const auto once = [](api::Reservation& r) { r.spec.allocate_once = true; };
  const auto ttl = [](nanoseconds time) {
    return [time](api::Reservation& r) { r.spec.ttl = api::Duration(time); };
  };
  const auto expires = [](nanoseconds from_now) {
    return [from_now](api::Reservation& r) {
      r.spec.ttl.reset();
      r.spec.expires = api::Time(kNow + from_now);
    };
  };
  const Row rows[] = {
      {"nobody uses it", {}, false, true, nullptr},
      {"somebody uses it", {}, true, true, "Available"},
      {"it is used once and was", once, true, true, "Succeeded"},
      {"it is used once and was not", once, false, true, nullptr},
      {"its node is gone", {}, false, false, "Failed"},
      {"it was used and its node is gone", once, true, false, "Failed"},
      {"its time is up", ttl(30min), true, true, "Failed"},
      {"its time is not up", ttl(2h), false, true, nullptr},
      {"it expires later", expires(1s), false, true, nullptr},
      {"it has expired", expires(-1s), false, true, "Failed"},
      {"a ttl of 0 is for ever",
       [&](api::Reservation& r) {
         expires(-1h)(r);
         ttl(0s)(r);
       },
       false, true, nullptr},
      {"it has no place yet",
       [&](api::Reservation& r) {
         ttl(30min)(r);
         r.status.node_name = Symbol();
         r.status.phase = "Pending";
       },
       false, true, nullptr},
      {"it has failed", [](api::Reservation& r) { r.status.phase = "Failed"; }, true, false, nullptr},
      {"it has succeeded", [](api::Reservation& r) { r.status.phase = "Succeeded"; }, true, false, nullptr},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto r = placed("r", row.edit);
    Holders holders;
    if (row.used) holders.put(user("a", "r"));
    const auto after = settled(*r, holders, row.has_node, kNow);
    REQUIRE(after.has_value() == (row.phase != nullptr));
    if (after) CHECK(after->status.phase == row.phase);
    if (after) CHECK_FALSE(settled(*after, holders, row.has_node, kNow));  // once is enough
  }
}

TEST_CASE("what is over is collected after its time, or with its node") {
  const auto over = [](const char* phase, const char* reason, nanoseconds ago) {
    return placed("r", [=](api::Reservation& r) {
      r.status.phase = Symbol(phase);
      api::ReservationCondition& ready = r.status.conditions.emplace_back();
      ready.type = "Ready";
      ready.status = "False";
      ready.reason = Symbol(reason);
      ready.last_probe_time = ready.last_transition_time = api::Time(kNow - ago);
    });
  };
  CHECK_FALSE(may_be_collected(*placed("r"), false, 24h, kNow));
  CHECK_FALSE(may_be_collected(*over("Failed", "Expired", 23h), true, 24h, kNow));
  CHECK(may_be_collected(*over("Failed", "Expired", 25h), true, 24h, kNow));
  CHECK(may_be_collected(*over("Failed", "Expired", 1h), false, 24h, kNow));
  CHECK_FALSE(may_be_collected(*over("Failed", "Broken", 25h), true, 24h, kNow));  // not by us
  CHECK_FALSE(may_be_collected(*over("Succeeded", "Succeeded", 23h), true, 24h, kNow));
  CHECK(may_be_collected(*over("Succeeded", "Succeeded", 25h), true, 24h, kNow));
}

}  // namespace
}  // namespace koord::scheduling::reservation
