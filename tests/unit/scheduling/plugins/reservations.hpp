// Reservations and pods for tests, made in a line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::scheduling::test {

using ReservationEdit = std::function<void(api::Reservation&)>;

/// For the pods with the label app=NAME, of so many CPUs and 1Gi, for ever, and not used up by one pod.
inline std::shared_ptr<const api::Reservation> make_reservation(std::string name, std::string_view cpu = "2",
                                                                const ReservationEdit& edit = {}) {
  auto made = std::make_shared<api::Reservation>();
  made->metadata.name = name;
  made->metadata.uid = "uid-of-" + name;
  made->metadata.resource_version = "1";
  made->spec.template_.text =
      R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"1Gi","cpu":")" +
      std::string(cpu) + R"("}}}]}})";
  api::ReservationOwner& owner = made->spec.owners.emplace_back();
  owner.label_selector.ensure().match_labels["app"] = Symbol(name);
  made->spec.ttl = api::Duration(std::chrono::nanoseconds(0));
  made->spec.allocate_once = false;
  if (edit) edit(*made);
  return made;
}

inline std::shared_ptr<const api::Reservation> changed(const std::shared_ptr<const api::Reservation>& before,
                                                       const ReservationEdit& edit) {
  auto copy = std::make_shared<api::Reservation>(*before);
  edit(*copy);
  return copy;
}

}  // namespace koord::scheduling::test
