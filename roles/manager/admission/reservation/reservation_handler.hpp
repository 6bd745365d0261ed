// Reservations under admission.
#pragma once

#include <functional>

#include "admission/profile/profile.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// /mutate-reservation: ClusterColocationProfiles by their selectors; a reservation has no namespace, and
/// what it reserves stays as it is.
class ReservationMutating final : public MutatingHandler {
 public:
  struct Parts {
    Logger log;
    std::function<ProfileSet::Sources()> profiles;
    PriorityClasses classes;
    Dice dice;
  };
  explicit ReservationMutating(Parts parts) : parts_(std::move(parts)) {}

  Verdict handle(const AdmissionRequest& request, json::Document& object, const PluginTimes& times) override;

 private:
  Parts parts_;
  ProfileSet profiles_;
  ProfileFailures failures_;
};

}  // namespace koord::manager
