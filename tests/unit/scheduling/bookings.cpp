// Bookings: see bookings.hpp.
#include "bookings.hpp"

#include "koord/api/schema/table.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::test {

using api::Kind;

KOORD_SCHEMA(BookingSpec, ROW(cpu), ROW(priority));
KOORD_SCHEMA(BookingStatus, ROW(node), ROW(nominated), ROW(phase), ROW(reason), ROW(message));
KOORD_OBJECT(Booking, Kind("test.koord/v1", "Booking", "bookings").custom_resource("Room on a node."),
             ROW(metadata), ROW(spec), ROW(status));

std::optional<api::Pod> Bookings::placeholder(const Booking& booking) const {
  if (booking.status.phase == "Ended") return std::nullopt;
  api::Pod pod;
  pod.metadata.labels = booking.metadata.labels;
  pod.spec.scheduler_name = "default-scheduler";
  pod.spec.priority = booking.spec.priority;
  pod.spec.node_name = booking.status.node;
  pod.spec.containers.emplace_back().resources.requests["cpu"] = api::Quantity::must(booking.spec.cpu);
  pod.status.nominated_node_name = booking.status.nominated;
  return pod;
}

std::optional<ObjectPatch> Bookings::failure(const Booking& now, const AttemptFailure& failure) const {
  return edited(now, "status", [&](Booking& b) {
    b.status.reason = failure.reason;
    b.status.message = failure.message;
    if (failure.nominate) b.status.nominated = *failure.nominate;
  });
}

std::optional<ObjectPatch> Bookings::nomination(const Booking& now, const Symbol& node) const {
  return edited(now, "status", [&](Booking& b) { b.status.nominated = node; });
}

Eviction Bookings::eviction(const Booking& now, const Preemptor& by) const {
  if (now.spec.priority < 0) return {};
  return {edited(now, "status",
                 [&](Booking& b) {
                   b.status.phase = "Ended";
                   b.status.message = "its room went to a " + std::string(by.word);
                 }),
          false};
}

bool Booker::binds(const PodInfo& pod) const { return placed_name(*pod.pod).word == kind_->word(); }

std::shared_ptr<BindWork> Booker::bind(PodAttempt&) {
  return bind_by_patch<Booking>(kind_, "status", [](Booking& b, const Symbol& node, WallTime) {
    b.status.node = node;
    b.status.nominated = {};
    b.status.phase = "Placed";
  });
}

}  // namespace koord::scheduling::test
