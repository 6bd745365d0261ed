// Random nodes, pods and reservations that touch every rule of reservations; the same ones for the same seed.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::scheduling::test {

class ReservedObjects {
 public:
  explicit ReservedObjects(unsigned seed) : random_(seed), nodes_(3 + static_cast<int>(seed % 6)) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, std::size_t n>
  const T& one_of(const T (&all)[n]) {
    return all[below(static_cast<int>(n))];
  }

  std::string node_name() { return "n" + std::to_string(below(nodes_)); }
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

  std::mt19937 random_;
  int nodes_;
  int orders_ = 0;
};

}  // namespace koord::scheduling::test
