// Placed: see placed.hpp.
#include "write/placed.hpp"

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/plugin/patch_placed.hpp"
#include "write/pod_status.hpp"

namespace koord::scheduler {

namespace {

const scheduling::PlacedKind& kind_of(const WriterServices& role, const api::Pod& pod) {
  const scheduling::PlacedKind* kind = role.placed().of(pod);
  return kind != nullptr ? *kind : pod_kind();
}

}  // namespace

Placed::Placed(const WriterServices& role, const api::Pod& pod)
    : kind_(&kind_of(role, pod)), name_(scheduling::placed_name(pod)) {
  now_ = role.find(kind_->type(), name_.ns, name_.name);
  if (now_ && kind_->type().meta(now_.get()).uid != pod.metadata.uid) now_ = nullptr;
}

bool Placed::is_pod() const { return kind_ == &pod_kind(); }

bool Placed::is_going() const {
  return now_ && kind_->type().meta(now_.get()).deletion_timestamp.has_value();
}

kube::EventObject event_object(const WriterServices& role, const api::Pod& pod) {
  const api::Kind& kind = api::kind_of(kind_of(role, pod).type().schema());
  const scheduling::PlacedName name = scheduling::placed_name(pod);
  const api::ObjectMeta& meta = pod.metadata;
  return {kind.group, kind.version, kind.kind, name.ns, name.name, meta.uid, meta.resource_version};
}

scheduling::PreBindWork::Context work_context(const WriterParts& parts, std::shared_ptr<const api::Pod> pod,
                                              Symbol node) {
  return {parts.client,
          parts.clock,
          parts.may_go(),
          std::move(pod),
          std::move(node),
          [&role = parts.role](const kube::ObjectType& type, std::string_view ns, std::string_view name) {
            return role.find(type, ns, name);
          }};
}

Task<Result<>> tell(
    const WriterParts& parts, std::shared_ptr<const api::Pod> pod,
    std::function<std::optional<scheduling::ObjectPatch>(const scheduling::PlacedKind&, const void* now)>
        told) {
  const Placed placed(parts.role, *pod);
  const scheduling::PlacedKind& kind = placed.kind();
  const bool is_pod = placed.is_pod();
  const auto change = [&](const kube::Object& now) -> Result<std::optional<scheduling::ObjectPatch>> {
    std::optional<scheduling::ObjectPatch> patch = told(kind, now.get());
    if (!patch || is_pod) return patch;
    const api::ObjectMeta& meta = kind.type().meta(now.get());
    patch->patch = std::move(patch->patch)
                       .with_precondition({.uid = meta.uid, .resource_version = meta.resource_version});
    return patch;
  };
  scheduling::PatchEffort effort{.reads = true};
  if (is_pod) effort.tries = 1;
  Task<Result<std::string>> patch = scheduling::patch_placed(work_context(parts, pod), kind, change, effort);
  const Result<std::string> done = co_await std::move(patch);
  if (!done) co_return done.error();
  co_return Result<>();
}

}  // namespace koord::scheduler
