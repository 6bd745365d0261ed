// ExtenderInterest: which configured extenders want to be asked about which pods.
#pragma once

#include <memory>
#include <vector>

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct Extender;

/// The pods that a configured extender is asked about: those with one of its resources, or all.
bool is_interested(const Extender& extender, const api::Pod& pod);

/// The engine's share of the configured extenders: predicates. Immutable.
class ExtenderInterest {
 public:
  ExtenderInterest() = default;
  explicit ExtenderInterest(const std::vector<Extender>& extenders);
  ~ExtenderInterest();

  bool empty() const { return extenders_ == nullptr; }
  /// Somebody filters or scores the pod's nodes.
  bool in_nodes(const api::Pod& pod) const;
  /// Somebody has a say about the pods that go for it.
  bool in_victims(const api::Pod& pod) const;

 private:
  std::shared_ptr<const std::vector<Extender>> extenders_;
};

}  // namespace koord::scheduling
