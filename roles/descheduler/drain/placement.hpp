// Placement: where pods would go if their node were drained.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/symbol.hpp"

namespace koord::descheduler::drain {

/// A node that pods may go to.
struct Elsewhere {
  NodeView view;
  api::ResourceList reserved;   // kept there for other pods
  bool is_last_choice = false;  // it is to be drained itself, perhaps
};

class Placement {
 public:
  Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  virtual ~Placement() = default;

  /// For each of the pods, in their order, the name of the node that would have it if all of them had to
  /// go there together; empty: none. Nothing is changed anywhere.
  virtual std::vector<Symbol> place(std::span<const PodPtr> pods, std::span<const Elsewhere> nodes) = 0;
};

/// By what pods ask for and nodes have, taints, selectors and affinity of nodes, and `fit` if there is one,
/// which knows of a single pod at a time. The largest pod goes first, to the first node in the order of
/// their names that has room. What it refuses may have a place after all; what it places may find it taken.
class BasicPlacement final : public Placement {
 public:
  explicit BasicPlacement(NodeFit* fit = nullptr) : fit_(fit) {}
  std::vector<Symbol> place(std::span<const PodPtr> pods, std::span<const Elsewhere> nodes) override;

 private:
  NodeFit* fit_;
};

/// Their places in the order in which they are placed: by cpu, then by memory that they ask for.
std::vector<std::size_t> largest_first(std::span<const PodPtr> pods);
/// What the pods ask for together, those that have ended left out; "pods" is their number.
api::ResourceList requests_of(std::span<const PodPtr> pods);
void add(api::ResourceList& to, const api::ResourceList& more);

}  // namespace koord::descheduler::drain
