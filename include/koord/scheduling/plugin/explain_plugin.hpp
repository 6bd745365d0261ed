// What `koord explain` asks plugins: of reservations, for a pod and of one of them
// (ReservationExplainPlugin), and what a pod waits for besides nodes (AdmitExplainPlugin).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/clock.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct PodInfo;

namespace explain {

/// A reservation that is for a pod, or that the pod names.
struct MatchedReservationView {
  std::string name;
  std::string node;  // empty: it is on none
  bool serves = false;
  std::vector<std::string> reasons;  // why it does not
  api::ResourceList left;            // what its pods have left of it
  KOORD_STRUCT(MatchedReservationView);
};

struct PodReservations {
  std::vector<std::string> summary;  // sentences
  std::vector<MatchedReservationView> matched;
};

/// A pod that has room of a reservation.
struct ReservationUserView {
  std::string pod;  // namespace/name
  api::ResourceList has;
  KOORD_STRUCT(ReservationUserView);
};

/// A pod that a reservation is for and that has none of its room.
struct ReservationOwnerView {
  std::string pod;   // namespace/name
  std::string node;  // empty: it waits
  bool serves = false;
  std::vector<std::string> reasons;  // why it does not
  KOORD_STRUCT(ReservationOwnerView);
};

struct ReservationView {
  std::string name, phase, node;
  std::string expires;  // empty: never
  api::ResourceList allocatable, allocated, left;
  std::vector<ReservationUserView> users;
  std::vector<ReservationOwnerView> owners;  // some of them
  std::int64_t more_owners = 0;
  KOORD_STRUCT(ReservationView);
};

/// "cpu 2, memory 4Gi"
std::string amounts_text(const api::ResourceList& amounts);

}  // namespace explain

/// Says in its own terms whether it admits a pod: a quota, a gang. Asked as the next one is.
class AdmitExplainPlugin {
 public:
  virtual ~AdmitExplainPlugin() = default;
  struct Admission {
    std::vector<std::string> summary = {};  // sentences
    bool waits = false;                     // for this, whatever nodes there are
  };
  /// The engine does not know the pod.
  virtual Admission explain_admission(const PodInfo& pod) = 0;
  /// Sentences about an attempt at the pod that has just been made; nothing: all is said.
  virtual std::vector<std::string> explain_attempt(const PodInfo& /*pod*/) { return {}; }
};

/// Asked of an engine that holds a cluster and has decided nothing, on its thread, with time enough: whoever
/// asks is a person.
class ReservationExplainPlugin {
 public:
  /// Why the row's node refuses the pod; nothing: it does not.
  using Refusals = std::function<std::vector<std::string>(Row)>;

  virtual ~ReservationExplainPlugin() = default;
  /// The engine does not know the pod.
  virtual explain::PodReservations reservations_for(const PodInfo& pod, const Refusals& refusals) const = 0;

  struct Described {
    explain::ReservationView view = {};
    /// Sentences; where it wants a place they come after whether there is one.
    std::vector<std::string> summary = {};
    bool waits = false;  // for a node
  };
  /// Absent: `object` is no reservation.
  virtual std::optional<Described> describe(const kube::ObjectType& type, const kube::Object& object,
                                            WallTime now) const = 0;
  /// Whether the reservation is for the pod, used or not.
  virtual bool is_for(const kube::Object& reservation, const api::Pod& pod) const = 0;
};

}  // namespace koord::scheduling
