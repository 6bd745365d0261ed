// Reservations under admission: see reservation_handler.hpp.
#include "admission/reservation/reservation_handler.hpp"

#include "admission/raw/raw_object.hpp"

namespace koord::manager {

Verdict ReservationMutating::handle(const AdmissionRequest& request, json::Document& object,
                                    const PluginTimes& times) {
  if (!is_about(request, "reservations") || request.operation != Operation::create) return Verdict::allow();
  if (const auto right = check_reservation(object); !right)
    return Verdict::error(400, right.error().message());
  return times.run(request.operation, "ClusterColocationProfile", [&] {
    profiles_.set(parts_.profiles(),
                  [this](const Profile& profile) { failures_.tell(parts_.log, profile, profile.defect()); });
    const auto applied =
        apply_profiles(profiles_.profiles(), object, object.arena(),
                       {.kind = ProfileTarget::Kind::reservation}, {}, parts_.classes, parts_.dice);
    if (!applied) return Verdict::not_yet(applied.error().message());  // a priority class
    for (const ProfileOutcome::Failure& failure : applied->failures)
      failures_.tell(parts_.log, *failure.profile, failure.why);
    return Verdict::allow();
  });
}

}  // namespace koord::manager
