// What Reservation keeps of a class of pods while it is judged and scored, and of a pod that is placed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/koordinator/reservation.hpp"
#include "scheduling/plugins/reservation/kept_scores.hpp"
#include "scheduling/plugins/reservation/reservation.hpp"

namespace koord::scheduling::reservation {

/// Without any reservation that the pod asks for.
inline constexpr const char* kNoMatch = "node(s) no reservations match reservation affinity";

inline std::string_view annotation(const PodInfo& pod, std::string_view key) {
  return api::value_or(pod.pod->metadata.annotations, key);
}

/// Whether it says that it wants one, even if only with an empty text.
inline bool has_affinity(const PodInfo& pod) {
  return pod.pod->metadata.annotations.contains(api::ReservationAffinity::kAnnotation);
}

/// What the pod is given, from the choice of its node on; nullptr: no reservation.
struct Choice final : PodState {
  explicit Choice(std::string of) : uid(std::move(of)) {}
  explicit Choice(PreAllocation::Pods chosen) : taken_over(std::move(chosen)) {}
  std::string uid;
  bool assumed = false;
  PreAllocation::Pods taken_over = {};  // by a reservation
};

struct Reservations::FilterState final : PodState {
  PreAllocation::Asked asked() const { return {wanted, takes}; }
  explicit FilterState(VerdictTable& t) : table(t) {}
  ~FilterState() override {
    for (const auto& [reasons, id] : verdicts) table.release(id);
  }
  FilterState(const FilterState&) = delete;
  FilterState& operator=(const FilterState&) = delete;

  VerdictTable& table;
  std::vector<Amount> wanted = {};  // none zero or ignored
  Requests takes = {};
  api::ResourceList requests = {};
  bool reserves = false;  // it is a reservation, or a pod that is one
  Symbol node = {};       // the one that its template names
  Policy policy = Policy::none;
  bool affinity = false, ignores = false;
  std::string name = {};                       // of the reservation that it wants
  std::map<Reasons, VerdictId> verdicts = {};  // held
  // Who has a say about the parts of a node that reservations keep, and what they read of the pod.
  std::vector<std::pair<const RoomJudge*, std::unique_ptr<PodState>>> judges = {};
};

struct Reservations::ScoreState final : PodState {
  std::unique_ptr<FilterState> filter;
  KeptScores kept;
  FewScores few = {};          // raw ones, of this cycle
  std::int64_t otherwise = 0;  // of all other rows
  bool as_it_is = false;       // they are 0 to 100 already
  std::size_t bytes() const override { return sizeof *this + kept.bytes(); }
};

}  // namespace koord::scheduling::reservation
