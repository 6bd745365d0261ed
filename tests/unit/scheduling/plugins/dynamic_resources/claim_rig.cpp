// ClaimRig: see claim_rig.hpp.
#include "plugins/dynamic_resources/claim_rig.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::test {

namespace {

template <class T>
T decoded(const std::string& json) {
  auto object = api::decode<T>(json);
  if (!object) throw std::runtime_error(object.error().message() + ": " + json);
  return std::move(*object);
}

KubeSchedulerConfiguration configuration(const ClaimRig::Options& options) {
  KubeSchedulerConfiguration config;
  if (options.config != nullptr) config = *options.config;
  if (config.profiles.empty()) config.profiles.emplace_back();
  ProfileConfig& profile = config.profiles.front();
  Plugins& plugins = profile.plugins.ensure();
  plugins.post_filter.disabled.push_back({"*", {}});
  plugins.post_filter.enabled = options.post_filters;
  if (options.shares) {
    plugins.multi_point.enabled.push_back({"DeviceShare", {}});
    plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
  }
  if (!options.args.empty()) profile.plugin_config.push_back({"DynamicResources", {options.args}, {}});
  return config;
}

}  // namespace

std::string slice_json(const std::string& node, int devices, const std::string& more,
                       const std::string& of_slice) {
  std::string all;
  for (int i = 1; i <= devices; ++i)
    all += fmt::format(R"({}{{"name":"instance-{}"{}}})", i == 1 ? "" : ",", i, more);
  return fmt::format(
      R"({{"metadata":{{"name":"{0}-some-driver"}},"spec":{{"driver":"some-driver","pool":{{"name":"{0}","generation":1,"resourceSliceCount":1}},{1},"devices":[{2}]}}}})",
      node, of_slice.empty() ? fmt::format(R"("nodeName":"{}")", node) : of_slice, all);
}

std::string class_json(const std::string& spec, const std::string& name) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, spec);
}

std::string claim_json(const std::string& requests, const std::string& status, const std::string& name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}","ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"my-pod","uid":"1234","controller":true}}]}},"spec":{{"devices":{{"requests":[{1}]}}}},"status":{2}}})",
      name, requests, status);
}

std::string one_request(const std::string& more, const std::string& device_class) {
  return fmt::format(
      R"({{"name":"req-1","exactly":{{"deviceClassName":"{}","allocationMode":"ExactCount","count":1{}}}}})",
      device_class, more);
}

std::string allocated(const std::string& selector, const std::string& more, const std::string& of_status) {
  const std::string nodes =
      selector.empty() ? R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["worker"]}]})"
                       : selector;
  return fmt::format(
      R"({{"allocation":{{"devices":{{"results":[{{"request":"req-1","driver":"some-driver","pool":"worker","device":"instance-1"{}}}]}},"nodeSelector":{{"nodeSelectorTerms":[{}]}}}}{}}})",
      more, nodes, of_status);
}

std::string kept_for(const std::string& uid, const std::string& name) {
  return fmt::format(R"(,"reservedFor":[{{"resource":"pods","name":"{}","uid":"{}"}}])", name, uid);
}

std::shared_ptr<const api::Pod> claim_pod(const std::vector<std::string>& claims, bool by_template,
                                          const std::string& name, const std::string& uid) {
  return make_pod(name, "1", "1Gi", [&](api::Pod& pod) {
    pod.metadata.uid = uid;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      api::PodResourceClaim& entry = pod.spec.resource_claims.emplace_back();
      entry.name = fmt::format("entry-{}", i);
      if (!by_template) {
        entry.resource_claim_name = claims[i];
        continue;
      }
      entry.resource_claim_template_name = "a-template";
      if (claims[i].empty()) continue;
      api::PodResourceClaimStatus& made = pod.status.resource_claim_statuses.emplace_back();
      made.name = entry.name;
      made.resource_claim_name = claims[i];
    }
  });
}

ClaimRig::ClaimRig(const Options& options)
    : world(configuration(options), {}, plugin_table(), gates_of(options.gates)) {}

void ClaimRig::put_claim(const std::string& json) {
  ClaimServer::put_claim(decoded<api::ResourceClaim>(json));
}

void ClaimRig::remove_slice(const std::string& json) {
  world.engine.remove_object(std::make_shared<const api::ResourceSlice>(decoded<api::ResourceSlice>(json)));
}

template <class T>
void ClaimRig::put(const std::string& json) {
  world.engine.put_object(std::make_shared<const T>(decoded<T>(json)));
}
template void ClaimRig::put<api::ResourceSlice>(const std::string&);
template void ClaimRig::put<api::DeviceClass>(const std::string&);
template void ClaimRig::put<api::DeviceTaintRule>(const std::string&);

std::string ClaimRig::attempt(const std::shared_ptr<const api::Pod>& pod, bool binds) {
  world.engine.put_pod(pod);
  return next(binds);
}

std::string ClaimRig::next(bool binds) {
  const std::vector<Decision> made = world.run(1);
  if (made.empty()) return {};
  if (made[0].as<Decision::Bind>() == nullptr) return made[0].message();
  return carry_out(made[0], binds);
}

std::string ClaimRig::carry_out(const Decision& decision, bool binds) {
  const std::shared_ptr<const api::Pod> pod = decision.pod;
  std::string failed = prepare(decision);
  if (failed.empty() && !binds) failed = "the binding";
  if (!failed.empty()) {
    world.engine.binding_failed(*pod);
    return fmt::format("failed: {}", failed);
  }
  world.engine.binding_succeeded(*pod);
  const std::string node = decision.node().str();
  world.engine.put_pod(changed(pod, [&](api::Pod& p) { p.spec.node_name = node; }));
  return fmt::format("bound to {}", node);
}

std::string ClaimRig::has(const std::string& claim) const {
  const auto known = claims.find(claim);
  if (known == claims.end()) return "gone";
  std::string said;
  const auto& status = known->second.status;
  if (status.allocation)
    for (const auto& result : status.allocation->devices.results)
      said += fmt::format("{}{}={}@{}", said.empty() ? "" : " ", result.request.view(), result.device.view(),
                          result.pool.view());
  if (!status.reserved_for.empty()) said += ";";
  for (const auto& user : status.reserved_for) said += fmt::format(" {}", user.name);
  return said;
}

}  // namespace koord::scheduling::test
