// The loop around a patch of what is placed, and the binding by one: see patch_placed.hpp.
#include "koord/scheduling/plugin/patch_placed.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling {

namespace {

bool worth_another_try(Code code, const PatchEffort& effort) {
  switch (code) {
    case Code::conflict:
    case Code::too_many_requests:
    case Code::unavailable: return true;
    case Code::timeout:
    case Code::server_error: return effort.though_unknown;
    default: return false;
  }
}

/// The object as the API server has it now.
Task<Result<kube::Object>> read(kube::Client& client, const kube::ObjectType& type, kube::ObjectKey key) {
  KOORD_CO_TRY(text, co_await client.get_raw(api::kind_of(type.schema()), std::move(key)));
  std::shared_ptr<void> object = type.make();
  KOORD_CO_CHECK(api::decode(text, type.schema(), object.get()));
  co_return kube::Object(std::move(object));
}

class PatchBinding final : public BindWork {
 public:
  using Bound = std::function<std::optional<ObjectPatch>(const void* now, const Symbol& node, WallTime at)>;
  PatchBinding(std::shared_ptr<const PlacedKind> kind, Bound bound)
      : kind_(std::move(kind)), bound_(std::move(bound)) {}

  Task<Status> run(const Context& context) override {
    constexpr PatchEffort kEffort{5, std::chrono::milliseconds(100), 2, true, true};
    Task<Result<std::string>> patch = patch_placed(
        context, *kind_,
        [this, node = context.node, &clock = context.clock](const kube::Object& now) {
          return binding(now, node, clock.now());
        },
        kEffort);
    const Result<std::string> done = co_await std::move(patch);
    if (!done) co_return Status{StatusCode::error, done.error().message()};
    co_return Status{};
  }

 private:
  Result<std::optional<ObjectPatch>> binding(const kube::Object& now, const Symbol& node, WallTime at) const {
    const std::shared_ptr<const api::Pod> pod = kind_->as_pod(now);
    const api::ObjectMeta& meta = kind_->type().meta(now.get());
    const auto refused = [&](std::string_view why) {
      return Error(Code::invalid, fmt::format("{} {} {}", kind_->word(),
                                              text({kind_->word(), meta.namespace_.view(), meta.name}), why));
    };
    if (!pod) return refused("wants no place any more");
    if (pod->spec.node_name == node) return std::optional<ObjectPatch>();
    if (!pod->spec.node_name.empty())
      return refused(fmt::format("is on node {} already", pod->spec.node_name.view()));
    if (meta.deletion_timestamp) return refused("is being deleted");
    std::optional<ObjectPatch> patch = bound_(now.get(), node, at);
    if (!patch) return refused("does not change when it is bound");
    // Who bound it meanwhile is not overruled.
    patch->patch = std::move(patch->patch)
                       .with_precondition({.uid = meta.uid, .resource_version = meta.resource_version});
    return patch;
  }

  std::shared_ptr<const PlacedKind> kind_;
  Bound bound_;
};

}  // namespace

Task<Result<std::string>> patch_placed(
    PreBindWork::Context context, const PlacedKind& kind,
    std::function<Result<std::optional<ObjectPatch>>(const kube::Object& now)> change, PatchEffort effort) {
  const PlacedName name = placed_name(*context.pod);
  const kube::ObjectType& type = kind.type();
  const kube::ObjectKey key{std::string(name.ns), std::string(name.name)};
  kube::Object now;
  nanoseconds pause = effort.first_pause;
  for (int n = 1;; ++n, pause *= effort.factor) {
    if (!context.may_write()) co_return Error(Code::unavailable, kMayNotWrite);
    if (!now || !effort.reads) now = context.find(type, name.ns, name.name);
    if (!now || type.meta(now.get()).uid != context.pod->metadata.uid)
      co_return Error(Code::not_found, fmt::format("{} \"{}\" not found", kind.word(), name.name));
    KOORD_CO_TRY(wanted, change(now));
    if (!wanted) co_return std::string();
    kube::PatchOptions options;
    options.type = wanted->patch.type;
    options.subresource = wanted->subresource;
    options.may_go = context.may_write;
    Result<std::string> done = co_await context.client.patch_raw(api::kind_of(type.schema()), key,
                                                                 std::move(wanted->patch.body), options);
    if (done || !worth_another_try(done.error().code(), effort) || n == effort.tries) co_return done;
    // What is known here lags behind what was written a moment ago, mostly by ourselves.
    const bool stale = effort.reads && n == 1 && done.error().code() == Code::conflict;
    if (!stale) {
      KOORD_CO_CHECK(co_await sleep(context.clock, pause));
    }
    if (!effort.reads) continue;
    Task<Result<kube::Object>> reading = read(context.client, type, key);
    Result<kube::Object> there = co_await std::move(reading);
    if (there) {
      now = std::move(*there);
    } else if (there.error().code() == Code::not_found) {
      co_return Error(Code::not_found, fmt::format("{} \"{}\" not found", kind.word(), name.name));
    }
  }
}

std::shared_ptr<BindWork> bind_by_patch(
    std::shared_ptr<const PlacedKind> kind,
    std::function<std::optional<ObjectPatch>(const void* now, const Symbol& node, WallTime at)> bound) {
  return std::make_shared<PatchBinding>(std::move(kind), std::move(bound));
}

}  // namespace koord::scheduling
