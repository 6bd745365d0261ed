// Random nodes, pods and reservations that touch every rule of reservations; the same ones for the same seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "random/story_objects.hpp"

namespace koord::scheduling::test {

class ReservedObjects : public StoryObjects {
 public:
  explicit ReservedObjects(unsigned seed) : StoryObjects(seed, 3 + seed % 6) {}

  std::shared_ptr<const api::Node> node(const std::string& name);
  /// `names`: of reservations that are there.
  std::shared_ptr<const api::Pod> pod(const std::string& name, const std::vector<std::string>& names);
  /// Not placed yet.
  std::shared_ptr<const api::Reservation> reservation(const std::string& name);
  /// Something of it that may change while it is there.
  void change(api::Reservation& reservation);
  api::ResourceList amounts();

 private:
  std::string app() { return "a" + std::to_string(below(4)); }
  std::string affinity(const std::vector<std::string>& names);
  api::ReservationOwner owner();
  api::Taint taint();
  std::string order();

  int orders_ = 0;
};

}  // namespace koord::scheduling::test
