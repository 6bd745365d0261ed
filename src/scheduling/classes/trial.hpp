// Trial: what a class would get, from all of its filters, on a row with something more and something less.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/cluster/node_view.hpp"

namespace koord::scheduling {

/// Within the cycle that ClassState::update() began, and from the row on as the class sees it. While it lives
/// the plugins that reach over rows are told of its pods: no other trial of the class beside it, and nothing
/// else asked of the class.
class Trial {
 public:
  Trial(ClassState& state, Row row);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// See NodeView.
  void add(const PodInfo& other);
  void remove(const PodInfo& other);
  /// Of the first filter in the profile's order that rejects the row now; kPass: none does.
  VerdictId verdict() const;
  const NodeView& view() const { return view_; }
  /// How often add() was called.
  std::size_t added() const { return added_; }

 private:
  void tell(const PodInfo& other, bool added);

  ClassState& state_;
  NodeView view_;
  std::size_t added_ = 0;
  std::vector<std::pair<const PodInfo*, bool>> told_;  // true: added; in order
};

}  // namespace koord::scheduling
