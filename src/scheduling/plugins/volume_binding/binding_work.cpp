// BindingWork: see binding_work.hpp.
#include "scheduling/plugins/volume_binding/binding_work.hpp"

#include <fmt/format.h>

#include <charconv>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "scheduling/plugins/volume_binding/migration.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling::volume_binding {

namespace {

constexpr const char* kByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";

bool is_for(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& ref = volume.spec.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->namespace_ == claim.metadata.namespace_ &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

template <class... Args>
Error failed(fmt::format_string<Args...> text, Args&&... args) {
  return Error(Code::invalid, fmt::format(text, std::forward<Args>(args)...));
}

/// 0 for what is no version that API servers write.
std::uint64_t version(const api::ObjectMeta& meta) {
  std::uint64_t number = 0;
  const std::string& text = meta.resource_version;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

template <class T>
std::shared_ptr<const T> find(const PreBindWork::Context& context, std::string_view ns,
                              std::string_view name) {
  return std::static_pointer_cast<const T>(context.find(kube::kObjectType<T>, ns, name));
}

std::string volume_patch(const api::PersistentVolume& volume) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  if (const Symbol* by = volume.metadata.annotations.find(kByController))
    json.key("metadata")
        .begin_object()
        .key("annotations")
        .begin_object()
        .member(kByController, by->view())
        .end_object()
        .end_object();
  const api::ObjectReference& ref = *volume.spec.claim_ref;
  json.key("spec").begin_object().key("claimRef").begin_object();
  json.member("kind", ref.kind.view()).member("apiVersion", ref.api_version.view());
  json.member("namespace", ref.namespace_.view()).member("name", ref.name).member("uid", ref.uid);
  json.member_if("resourceVersion", ref.resource_version);
  json.end_object().end_object().end_object();
  return body;
}

std::string claim_patch(const api::PersistentVolumeClaim& claim) {
  std::string body;
  json::Writer json(body);
  json.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  json.member(kSelectedNode, claim.metadata.annotations.find(kSelectedNode)->view());
  json.end_object().end_object().end_object();
  return body;
}

/// Gives what the API server has now. Of an object that changed since it was looked at it is a conflict.
template <class T>
Task<Result<std::shared_ptr<const T>>> patch(const PreBindWork::Context& context, const T& object,
                                             std::string body) {
  if (!context.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
  kube::ObjectKey key{object.metadata.namespace_.str(), object.metadata.name};
  api::Patch guarded = api::Patch{.body = std::move(body)}.with_precondition(
      {.resource_version = object.metadata.resource_version});
  KOORD_CO_TRY(
      json, co_await context.client.patch_raw(api::kind<T>(), std::move(key), std::move(guarded.body), {}));
  KOORD_CO_TRY(now, api::decode<T>(json));
  co_return std::make_shared<const T>(std::move(now));
}

Result<> check_affinity(const api::PersistentVolume& volume, const api::Node& node, unsigned migrated) {
  const unsigned plugin = plugin_of(volume);
  const api::Box<api::NodeSelector> required = required_nodes(volume, plugin & migrated);
  if (!required || api::CompiledNodeSelector(*required).matches(node.metadata.labels, {})) return {};
  return failed("pv \"{}\" node affinity doesn't match node \"{}\": no matching NodeSelectorTerms",
                volume.metadata.name, node.metadata.name);
}

}  // namespace

std::shared_ptr<const api::PersistentVolume> bound_to(
    const std::shared_ptr<const api::PersistentVolume>& volume, const api::PersistentVolumeClaim& claim) {
  const auto& ref = volume->spec.claim_ref;
  const bool named = is_for(*volume, claim);
  const bool whole = named && ref->uid == claim.metadata.uid;
  const bool marked = named || volume->metadata.annotations.contains(kByController);
  if (whole && marked) return volume;
  auto changed = std::make_shared<api::PersistentVolume>(*volume);
  if (!whole) {
    api::ObjectReference& made = changed->spec.claim_ref.emplace();
    made.kind = "PersistentVolumeClaim";
    made.api_version = "v1";
    made.namespace_ = claim.metadata.namespace_;
    made.name = claim.metadata.name;
    made.uid = claim.metadata.uid;
    made.resource_version = claim.metadata.resource_version;
  }
  // Who named the claim in it (a user) keeps it when the claim goes.
  if (!marked) changed->metadata.annotations[kByController] = "yes";
  return changed;
}

std::shared_ptr<const api::PersistentVolumeClaim> selected_for(
    const std::shared_ptr<const api::PersistentVolumeClaim>& claim, const Symbol& node) {
  const Symbol* selected = claim->metadata.annotations.find(kSelectedNode);
  if (selected != nullptr && *selected == node) return claim;
  auto changed = std::make_shared<api::PersistentVolumeClaim>(*claim);
  changed->metadata.annotations[kSelectedNode] = node;
  return changed;
}

Task<Status> BindingWork::run(const Context& context) {
  const MonoTime end = context.clock.mono() + timeout_;
  const Result<> written = co_await write(context);
  if (!written) co_return Status{StatusCode::error, written.error().message()};
  for (;;) {
    const Result<bool> bound = look(context);
    if (!bound)
      co_return Status{StatusCode::error, fmt::format("binding volumes: {}", bound.error().message())};
    if (*bound) co_return Status{};
    if (context.clock.mono() >= end)
      co_return Status{StatusCode::error, "binding volumes: context deadline exceeded"};
    if (const Result<> slept = co_await sleep(context.clock, kLook); !slept)
      co_return Status{StatusCode::error, fmt::format("binding volumes: {}", slept.error().message())};
  }
}

Task<Result<>> BindingWork::write(const Context& context) {
  for (VolumeForClaim& v : volumes_)
    if (v.after != v.before) {
      KOORD_CO_TRY(now, co_await patch(context, *v.after, volume_patch(*v.after)));
      v.after = std::move(now);
    }
  for (ClaimForNode& c : claims_)
    if (c.after != c.before) {
      KOORD_CO_TRY(now, co_await patch(context, *c.after, claim_patch(*c.after)));
      c.after = std::move(now);
    }
  co_return Result<>();
}

Result<bool> BindingWork::look(const Context& context) const {
  const auto node = find<api::Node>(context, {}, context.node);
  if (!node)
    return failed("failed to get node \"{}\": node \"{}\" not found", context.node.view(),
                  context.node.view());
  const auto csi_node = find<api::CsiNode>(context, {}, context.node);
  const unsigned migrated = csi_node ? migrated_plugins(*csi_node) : 0;
  const api::ObjectMeta& meta = context.pod->metadata;
  const auto pod = find<api::Pod>(context, meta.namespace_, meta.name);
  if (!pod || pod->metadata.uid != meta.uid)
    return failed("pod does not exist any more: pod \"{}\" not found", meta.name);
  const auto claim_now = [&](const api::PersistentVolumeClaim& claim) {
    return find<api::PersistentVolumeClaim>(context, claim.metadata.namespace_, claim.metadata.name);
  };
  for (const VolumeForClaim& v : volumes_) {
    const std::string& name = v.after->metadata.name;
    const auto volume = find<api::PersistentVolume>(context, {}, name);
    if (!volume) return failed("failed to check binding: persistentvolumes \"{}\" not found", name);
    const auto claim = claim_now(*v.claim);
    if (!claim)
      return failed("failed to check binding: persistentvolumeclaims \"{}/{}\" not found",
                    v.claim->metadata.namespace_.view(), v.claim->metadata.name);
    if (version(v.after->metadata) > version(volume->metadata))
      return false;  // what was written is on its way
    KOORD_CHECK(check_affinity(*volume, *node, migrated));
    if (!volume->spec.claim_ref || volume->spec.claim_ref->uid.empty())
      return failed("ClaimRef got reset for pv \"{}\"", name);
    if (!volumes::is_bound(*claim)) return false;
  }
  for (const ClaimForNode& c : claims_) {
    const auto claim = claim_now(*c.after);
    if (!claim)
      return failed("failed to check provisioning pvc: persistentvolumeclaims \"{}/{}\" not found",
                    c.after->metadata.namespace_.view(), c.after->metadata.name);
    if (version(c.after->metadata) > version(claim->metadata)) return false;
    if (claim->metadata.annotations.empty())
      return failed("selectedNode annotation reset for PVC \"{}\"", claim->metadata.name);
    // Who fails to make the volume takes the annotation away.
    const Symbol* selected = claim->metadata.annotations.find(kSelectedNode);
    if (selected == nullptr || *selected != context.node)
      return failed("provisioning failed for PVC \"{}\"", claim->metadata.name);
    if (!claim->spec.volume_name.empty()) {
      const auto volume = find<api::PersistentVolume>(context, {}, claim->spec.volume_name);
      if (!volume) return false;
      KOORD_CHECK(check_affinity(*volume, *node, migrated));
    }
    if (!volumes::is_bound(*claim)) return false;
  }
  return true;
}

}  // namespace koord::scheduling::volume_binding
