// Writing into pods that are taken over: see taking_over.hpp.
#include "scheduling/plugins/reservation/preallocation/taking_over.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/patch_placed.hpp"

namespace koord::scheduling::reservation {

namespace {

using Change = Result<std::optional<ObjectPatch>>;

/// Of pods that are placed already only the annotations are changed.
class PlacedPods final : public PlacedKind {
 public:
  const kube::ObjectType& type() const override { return kube::kObjectType<api::Pod>; }
  std::string_view word() const override { return "pod"; }
  std::shared_ptr<const api::Pod> as_pod(const kube::Object&) const override { return nullptr; }
  std::optional<ObjectPatch> failed(const void*, const AttemptFailure&) const override { return {}; }
  std::optional<ObjectPatch> nominated(const void*, const Symbol&) const override { return {}; }
  std::optional<ObjectPatch> changed(const void*, const PodPatch&) const override { return {}; }
  Eviction evicted(const void*, const Preemptor&) const override { return {}; }
};

constexpr std::string_view kKey = api::ReservationAllocated::kAnnotation;

/// Nothing changes of it in between: whoever writes first is not written over.
template <class Edit>
std::optional<ObjectPatch> edited(const api::Pod& now, const Edit& edit) {
  api::Pod after = now;
  edit(after.metadata.annotations);
  std::optional<api::Patch> patch = api::diff(now, after);
  if (!patch) return std::nullopt;
  return ObjectPatch{std::move(*patch).with_precondition(
      {.uid = now.metadata.uid, .resource_version = now.metadata.resource_version})};
}

class TakingOver final : public PreBindWork {
 public:
  explicit TakingOver(TakenOver what) : what_(std::move(what)) {}

  Task<Status> run(const Context& context) override {
    for (const auto& pod : what_.pods) {
      Task<Result<std::string>> patch =
          write(context, pod, [this, &context](const api::Pod& now) { return given(now, context.node); });
      const Result<std::string> done = co_await std::move(patch);
      if (!done) co_return Status{StatusCode::error, done.error().message()};
    }
    for (const auto& pod : what_.not_any_more) {
      Task<Result<std::string>> patch =
          write(context, pod, [this](const api::Pod& now) { return not_given(now); });
      // Who is gone says nothing any more.
      if (const Result<std::string> done = co_await std::move(patch);
          !done && done.error().code() != Code::not_found)
        co_return Status{StatusCode::error, done.error().message()};
    }
    co_return Status{};
  }

 private:
  Task<Result<std::string>> write(Context context, std::shared_ptr<const api::Pod> pod,
                                  std::function<Change(const api::Pod& now)> change) {
    constexpr PatchEffort kEffort{.reads = true};
    context.pod = std::move(pod);
    Task<Result<std::string>> patch = patch_placed(
        std::move(context), kind_,
        [&change](const kube::Object& now) { return change(*static_cast<const api::Pod*>(now.get())); },
        kEffort);
    co_return co_await std::move(patch);
  }

  Change given(const api::Pod& now, const Symbol& node) const {
    const auto refused = [&](std::string_view why) {
      return Error(Code::conflict, fmt::format("cannot pre-allocate room of {}: it {}", described(now), why));
    };
    if (now.metadata.deletion_timestamp) return refused("is being deleted");
    if (now.spec.node_name != node) return refused("is on another node");
    if (!api::value_or(now.metadata.annotations, kKey).empty()) {
      const auto said = api::read_annotation<api::ReservationAllocated>(now.metadata.annotations);
      if (!said) return refused("says in a way that nobody can read which reservation it has room of");
      if (!*said || (*said)->uid != what_.reservation.uid)
        return refused("has room of another reservation by now");
      return std::optional<ObjectPatch>();
    }
    return edited(now, [&](api::SymbolMap& annotations) {
      annotations[kKey] = Symbol(api::encode_annotation(what_.reservation));
    });
  }

  Change not_given(const api::Pod& now) const {
    const auto said = api::read_annotation<api::ReservationAllocated>(now.metadata.annotations);
    if (!said || !*said || (*said)->uid != what_.reservation.uid) return std::optional<ObjectPatch>();
    return edited(now, [](api::SymbolMap& annotations) { annotations.erase(kKey); });
  }

  const TakenOver what_;
  const PlacedPods kind_;
};

}  // namespace

std::shared_ptr<PreBindWork> take_over(TakenOver what) {
  return std::make_shared<TakingOver>(std::move(what));
}

}  // namespace koord::scheduling::reservation
