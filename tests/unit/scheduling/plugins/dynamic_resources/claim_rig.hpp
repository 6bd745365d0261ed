// ClaimRig: an engine with DynamicResources beside the API server that is played.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/api/types/resource_v1alpha3/device_taint_rule.hpp"
#include "plugins/dynamic_resources/claim_server.hpp"

namespace koord::scheduling::test {

/// What upstream's tests name: node "worker", driver "some-driver", class "my-resource-class", claim
/// "my-pod-my-resource" of pod "my-pod", all in "default".
inline constexpr const char *kNode = "worker", *kClaim = "my-pod-my-resource", *kClass = "my-resource-class",
                            *kPod = "my-pod", *kPodUid = "1234";

/// `more` are members of each device, with a comma before them; of a slice's, too.
std::string slice_json(const std::string& node, int devices = 1, const std::string& more = "",
                       const std::string& of_slice = "");
std::string class_json(const std::string& spec = "{}", const std::string& name = kClass);
/// A claim with these requests, of the pod; `status` as JSON.
std::string claim_json(const std::string& requests, const std::string& status = "{}",
                       const std::string& name = kClaim);
/// One request "req-1" for one device of the class; `more` are members of it.
std::string one_request(const std::string& more = "", const std::string& device_class = kClass);
/// Allocated: instance-1 of the node; `results` and `selector` in place of that.
std::string allocated(const std::string& selector = "", const std::string& more = "",
                      const std::string& of_status = "");
/// reservedFor, with the comma before it: this pod.
std::string kept_for(const std::string& uid = kPodUid, const std::string& name = kPod);

/// The pod names these claims; with templates by its status, too.
std::shared_ptr<const api::Pod> claim_pod(const std::vector<std::string>& claims = {kClaim},
                                          bool by_template = false, const std::string& name = kPod,
                                          const std::string& uid = kPodUid);

class ClaimRig : public ClaimServer {
 public:
  struct Options {
    std::string gates = "";                                            // "A=true,B=false"
    std::string args = "";                                             // DynamicResourcesArgs as JSON
    std::vector<PluginRef> post_filters = {{"DynamicResources", {}}};  // those that are asked
    bool shares = false;                                               // DeviceShare gives out devices, too
    const KubeSchedulerConfiguration* config = nullptr;                // otherwise with this
  };
  explicit ClaimRig(const Options& options);
  ClaimRig() : ClaimRig(Options()) {}

  void put_slice(const std::string& json) { put<api::ResourceSlice>(json); }
  void remove_slice(const std::string& json);
  void put_rule(const std::string& json) { put<api::DeviceTaintRule>(json); }
  void put_class(const std::string& json) { put<api::DeviceClass>(json); }
  /// At the API server, which tells of it.
  void put_claim(const std::string& json);
  void put_node(const std::string& name) { world.engine.put_node(make_node(name, "64", "64Gi")); }

  /// One attempt, to the end of its work before the binding: "bound to NODE", "failed: WHY", or the message.
  /// `binds`: the binding itself succeeds.
  std::string attempt(const std::shared_ptr<const api::Pod>& pod, bool binds = true);
  /// The same of the next pod that is due; "" if none is.
  std::string next(bool binds = true);
  /// The work before the binding, and what comes of it.
  std::string carry_out(const Decision& decision, bool binds = true);

  /// The claim's devices, "REQUEST=DEVICE@POOL ..." and who it is kept for "; NAME ...", at the API server.
  std::string has(const std::string& claim = kClaim) const;

  World world;

 private:
  template <class T>
  void put(const std::string& json);
  Engine& engine() override { return world.engine; }
};

}  // namespace koord::scheduling::test
