// What pods say of reservations: Koordinator's cases.
#include "koord/api/koordinator/reservation.hpp"

#include <catch2/catch.hpp>

namespace koord::api {
namespace {

TEST_CASE("Reservation affinity") {
  const auto read = [](std::string_view text) {
    ObjectMeta pod;
    pod.annotations[ReservationAffinity::kAnnotation] = Symbol(text);
    return reservation_affinity(pod);
  };
  CHECK(reservation_affinity({})->has_value() == false);
  CHECK(read("")->value() == ReservationAffinity());  // there, and any will do
  CHECK(read("{}")->value() == ReservationAffinity());
  CHECK(read("x").error().message().starts_with("scheduling.koordinator.sh/reservation-affinity: JSON: "));
  const std::string text =
      R"({"name":"r","requiredDuringSchedulingIgnoredDuringExecution":{"reservationSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}]},"reservationSelector":{"c":"d"},"tolerations":[{"key":"e","operator":"Exists"}]})";
  const auto whole = read(text);
  REQUIRE(whole.has_value());
  CHECK((*whole)->name == "r");
  CHECK((*whole)->required->reservation_selector_terms[0].match_expressions[0].values[0] == "b");
  CHECK((*whole)->tolerations[0].operator_ == "Exists");
  CHECK(encode_annotation(**whole) == text);
}

TEST_CASE("Reservations that match exactly") {
  const auto list = [](std::initializer_list<std::pair<std::string_view, std::string_view>> amounts) {
    ResourceList all;
    for (const auto& [name, amount] : amounts) all[name] = Quantity::must(amount);
    return all;
  };
  struct Row {
    std::vector<Symbol> names;
    ResourceList requests, allocatable;
    bool expected;
  };
  const Row rows[] = {
      {{"cpu"}, list({{"cpu", "1"}}), list({{"cpu", "1"}}), true},
      {{"cpu"}, list({{"cpu", "1"}, {"memory", "1Gi"}}), list({{"cpu", "1000m"}, {"memory", "2Gi"}}), true},
      {{"cpu", "memory"},
       list({{"cpu", "1"}, {"memory", "1Gi"}}),
       list({{"cpu", "1"}, {"memory", "2Gi"}}),
       false},
      {{"cpu", "memory"}, list({{"cpu", "1"}}), list({{"cpu", "1"}}), true},
      {{"cpu"}, list({}), list({{"cpu", "1"}}), false},
      {{"cpu"}, list({{"cpu", "1"}}), list({}), false},
      // The first that neither has ends it.
      {{"memory", "cpu"}, list({{"cpu", "1"}}), list({{"cpu", "2"}}), true},
      {{}, list({{"cpu", "1"}}), list({{"cpu", "2"}}), true},
  };
  for (const Row& row : rows) {
    CAPTURE(encode(ExactMatchReservation{row.names}));
    CHECK(matches_exactly({row.names}, row.requests, row.allocatable) == row.expected);
  }
}

TEST_CASE("Reservations' other labels and annotations") {
  ObjectMeta meta;
  CHECK_FALSE(ignores_reservations(meta));
  meta.labels[kReservationIgnoredLabel] = "true";
  CHECK(ignores_reservations(meta));
  for (const auto& [text, order] : {std::pair<const char*, int>{"3", 3},
                                    {"0", 0},
                                    {"-1", -1},
                                    {"+5", 5},
                                    {"+-5", 0},
                                    {"x", 0},
                                    {"1x", 0},
                                    {"99999999999999999999", 0}}) {
    meta.labels[kReservationOrderLabel] = text;
    CHECK(reservation_order(meta) == order);
  }
  CHECK_FALSE(is_reserve_pod(meta));
  meta.annotations[kReservePod] = "true";
  CHECK(is_reserve_pod(meta));

  set_annotation(meta.annotations, ReservationAllocated{"test-reservation", "u"});
  CHECK(value_or(meta.annotations, ReservationAllocated::kAnnotation) ==
        R"({"name":"test-reservation","uid":"u"})");
  CHECK(read_annotation<ReservationAllocated>(meta.annotations)->value() ==
        ReservationAllocated{"test-reservation", "u"});

  meta.annotations[ReservationOwners::kAnnotation] = R"([{"labelSelector":{"matchLabels":{"a":"b"}}}])";
  const auto owners = read_annotation<ReservationOwners>(meta.annotations);
  REQUIRE(owners.has_value());
  CHECK((*owners)->owners.size() == 1);
  meta.annotations[ReservationRestrictedOptions::kAnnotation] = R"({"resources":["cpu"]})";
  CHECK(read_annotation<ReservationRestrictedOptions>(meta.annotations)->value().resources.size() == 1);
}

}  // namespace
}  // namespace koord::api
