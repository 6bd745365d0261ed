// DefaultEvictor: sigs' evictor, which asks pods to go directly, and its filters.
#include <fmt/format.h>

#include "evictions/pod_evictions.hpp"
#include "framework/plugin_table.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/informer.hpp"
#include "plugins/default_evictor/args.hpp"
#include "plugins/default_evictor/filters.hpp"

namespace koord::descheduler::default_evictor {

namespace {

Filters::Sources sources_of(const DefaultEvictorArgs& args, const PluginContext& context) {
  Filters::Sources sources{.snapshot = context.snapshot, .pass = context.pass, .claim = {}};
  if (!Filters::needs_claims(args) || context.informers == nullptr) return sources;
  sources.claim = [claims = context.informers->informer<api::PersistentVolumeClaim>(*context.client)](
                      std::string_view ns, std::string_view name) { return claims.get(ns, name); };
  return sources;
}

class DefaultEvictor final : public Evictor {
 public:
  DefaultEvictor(const DefaultEvictorArgs& args, const PluginContext& context)
      : filters_(args, sources_of(args, context)), evictions_(context.evictions), events_(context.events) {
    if (args.min_replicas == 1)
      context.log.v(4, "minReplicas of DefaultEvictor has no effect below 2", kv("profile", context.profile));
  }

  std::string why_not(const api::Pod& pod) override { return filters_.why_not(pod); }
  std::string why_not_now(const api::Pod& pod) override { return filters_.why_not_now(pod); }

  Task<Result<>> evict(PodPtr pod, const EvictOptions& options) override {
    if (evictions_ == nullptr) co_return Error(Code::unavailable, "pods cannot be asked to go");
    KOORD_CO_CHECK(co_await evictions_->ask(pod, EvictionPolicy::eviction, options));
    if (events_ == nullptr) co_return Result<>();
    const std::string note = fmt::format("pod evicted by {}", options.reason);
    events_->record({.regarding = kube::event_object(*pod),
                     .reason = "Descheduled",
                     .action = "Evicting",
                     .note = note,
                     .repeats = false});
    co_return Result<>();
  }

 private:
  Filters filters_;
  PodEvictions* evictions_;
  kube::EventRecorder* events_;
};

Result<std::unique_ptr<Evictor>> make(const Args& args, PluginContext& context) {
  return std::unique_ptr<Evictor>(
      std::make_unique<DefaultEvictor>(*static_cast<const DefaultEvictorArgs*>(args.get()), context));
}

}  // namespace
}  // namespace koord::descheduler::default_evictor

namespace koord::descheduler {

extern const PluginEntry kDefaultEvictor{.name = "DefaultEvictor",
                                         .args = &args_type<default_evictor::DefaultEvictorArgs>,
                                         .make_evictor = &default_evictor::make};

}  // namespace koord::descheduler
