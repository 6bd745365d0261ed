// The schema tables of koord/api/types/scheduling_v1alpha1/reservation.hpp: Reservation.
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kModes[] = {"Default", "Cluster"};
constexpr std::string_view kPolicies[] = {"Aligned", "Restricted"};
constexpr PrinterColumn kColumns[] = {
    {"Phase", "string", ".status.phase", "The phase of reservation"},
    {"Age", "date", ".metadata.creationTimestamp"},
    {"Node", "string", ".status.nodeName"},
    {"TTL", "string", ".spec.ttl"},
    {"Expires", "string", ".spec.expires"},
};

}  // namespace

KOORD_SCHEMA(ReservationControllerReference, ROW(owner).inlined(), ROW(namespace_));
KOORD_SCHEMA(ReservationOwner, ROW(object).doc("One pod."),
             ROW(controller).atomic().doc("The pods of a controller."),
             ROW(label_selector).doc("Pods with such labels."));
KOORD_SCHEMA(ReservationPreAllocationPolicy,
             ROW(mode).one_of(kModes).default_json(R"("Default")").doc("Which pods' room is reserved."),
             ROW(enable_multiple).default_json("false").doc("Whether several pods may give theirs."));
KOORD_SCHEMA(ReservationSpec,
             ROW(template_).required().untyped().doc("Pod template: what is reserved, and where it may be."),
             ROW(owners).required().doc("Pods that may use what is reserved; any of these."),
             ROW(ttl).default_json(R"("24h")").doc("How long it is reserved; 0s is for ever."),
             ROW(expires).doc("Until when it is reserved, instead of ttl."),
             ROW(pre_allocation).doc("Whether room that pods still have may be reserved."),
             ROW(pre_allocation_policy),
             ROW(allocate_once).default_json("true").doc("Whether one pod uses it up."),
             ROW(allocate_policy).one_of(kPolicies).doc("Whether its pods may take more than it has."),
             ROW(unschedulable).doc("Whether it is closed to further pods."),
             ROW(taints).doc("What its pods must tolerate."));
KOORD_SCHEMA(ReservationCondition, ROW(type), ROW(status), ROW(reason), ROW(message), ROW(last_probe_time),
             ROW(last_transition_time));
KOORD_SCHEMA(ReservationStatus, ROW(phase).default_json(R"("Pending")"), ROW(conditions),
             ROW(current_owners).doc("Pods that use it."), ROW(node_name).doc("Where it is reserved."),
             ROW(allocatable).doc("What is reserved."), ROW(allocated).doc("What its pods have of it."));
KOORD_OBJECT(Reservation,
             Kind("scheduling.koordinator.sh/v1alpha1", "Reservation", "reservations")
                 .cluster_scoped()
                 .custom_resource("Room on a node that is kept for pods to come.")
                 .printed(kColumns),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
