// Random objects of worlds with resource claims.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "random/story_objects.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::scheduling::test {

class ClaimObjects : public StoryObjects {
 public:
  static constexpr const char* kClasses[] = {"gpu", "fast", "slotted", "nic", "any"};
  static constexpr const char* kShared[] = {"s0", "s1", "s2"};  // claims that any pod may name
  using Slice = std::shared_ptr<const api::ResourceSlice>;

  /// `gates` say what is worth trying; what is off comes too, now and then.
  ClaimObjects(unsigned seed, const reference::ClaimGates& gates)
      : StoryObjects(seed, 3 + seed % 2), gates_(gates) {}

  std::shared_ptr<const api::Node> node(const std::string& name);
  /// What the driver of a pool of a node ("gpu.x", "nic.x"), or of several (pool "fabric"), writes now: often
  /// another generation. All slices that the pool is to have.
  std::vector<Slice> publish(const std::string& driver, const std::string& pool);
  std::shared_ptr<const api::DeviceClass> device_class(const std::string& name);
  api::ResourceClaimSpec claim_spec();
  /// It names templates by a number, and claims of kShared.
  std::shared_ptr<const api::Pod> pod(const std::string& name);
  /// Of a template that a pod names.
  const api::ResourceClaimSpec& of_template(const std::string& name) const { return templates_.at(name); }
  /// What another scheduler might have given on that node, out of these slices: what others have, and what is
  /// not there.
  api::AllocationResult given(const reference::ByKey<api::ResourceSlice>& slices, const std::string& node);

 private:
  api::SliceDevice device(const std::string& driver, int number, bool counted);
  api::DeviceCapacity capacity(bool shared);
  void select_nodes(api::ResourceSliceSpec& spec);
  template <class T>
  void ask(T& request);
  std::string selector();

  const reference::ClaimGates gates_;
  std::map<std::string, int> generations_, kinds_;  // by driver/pool
  std::map<std::string, api::ResourceClaimSpec> templates_;
  int made_ = 0;
};

}  // namespace koord::scheduling::test
