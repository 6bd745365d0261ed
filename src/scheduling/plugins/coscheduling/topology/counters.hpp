// Counters: for how many pods each domain has room, kept by domain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduling/plugins/coscheduling/topology/tree.hpp"

namespace koord::scheduling::coscheduling::topology {

/// A domain offers as many places as its children together, cut down to a multiple of what its layer asks
/// for. A change of one node costs the depth of the tree.
class Counters {
 public:
  /// Everything is nothing, for this tree as it is now. `multiples` by layer: the number of pods in a domain
  /// of the layer is a multiple of it; 0 and 1, and layers behind its end: any number.
  void begin(const Tree& tree, std::vector<std::int64_t> multiples);
  /// The last begin() was for the tree as it is, and these multiples.
  bool serve(const Tree& tree, const std::vector<std::int64_t>& multiples) const {
    return version_ == tree.version() && multiples_ == multiples;
  }
  /// The node has room for so many.
  void set(Tree::Id leaf, std::int64_t pods);
  std::int64_t room(Tree::Id leaf) const { return sums_[leaf]; }
  /// By id.
  std::span<const std::int64_t> offers() const { return offers_; }

 private:
  const Tree* tree_ = nullptr;
  std::uint64_t version_ = 0;
  std::vector<std::int64_t> multiples_, sums_, offers_;
};

/// The largest multiple of it that is not above `pods`; 0 and 1 are no limits.
constexpr std::int64_t cut_to_multiple(std::int64_t pods, std::int64_t multiple) {
  return multiple > 1 ? pods / multiple * multiple : pods;
}

}  // namespace koord::scheduling::coscheduling::topology
