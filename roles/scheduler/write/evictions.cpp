// Evictions: see evictions.hpp.
#include "write/evictions.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/kube/client.hpp"
#include "write/pod_status.hpp"

namespace koord::scheduler {

namespace {

kube::ObjectKey key_of(const api::Pod& pod) { return {pod.metadata.namespace_.str(), pod.metadata.name}; }

// What is not there any more has gone; and so has what was made again under its name.
Result<> unless_gone(Result<> result) {
  if (!result && (result.error().code() == Code::not_found || result.error().code() == Code::conflict))
    return {};
  return result;
}

}  // namespace

/// One decision's, until the last of its victims was asked.
struct Evictions::UnderWay {
  std::shared_ptr<const scheduling::Decision> decision;
  std::function<void()> done;
  MonoTime began;
  std::size_t left = 0;
  bool failed = false;
};

void Evictions::begin(std::shared_ptr<const scheduling::Decision> decision, std::function<void()> done) {
  const scheduling::Preemption& p = decision->preemption();
  parts_.telemetry.victims(p.chosen);
  auto under_way = std::make_shared<UnderWay>(
      UnderWay{decision, std::move(done), parts_.clock.mono(), p.victims.size() + p.yielding.size()});
  for (std::size_t i = 0; i < p.yielding.size(); ++i) tasks_.spawn("nominate", take_nomination(under_way, i));
  for (std::size_t i = 0; i < p.victims.size(); ++i) tasks_.spawn("evict", evict(under_way, i));
}

Task<> Evictions::evict(std::shared_ptr<UnderWay> under_way, std::size_t victim) {
  const scheduling::Decision& d = *under_way->decision;
  const scheduling::Preemption::Victim& who = d.preemption().victims[victim];
  Result<> asked;
  // One that waited for a permit has been refused it: it is nowhere, and stays.
  if (!who.waited) asked = co_await ask(d, *who.pod);
  if (asked) record(d, *who.pod);
  finish(*under_way, asked);
}

Task<Result<>> Evictions::ask(const scheduling::Decision& d, const api::Pod& victim) {
  if (!parts_.role.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
  const std::shared_ptr<const api::Pod> now = parts_.role.latest(victim);
  if (!now || now->metadata.deletion_timestamp) co_return Result<>();
  if (auto patch = victim_patch(*now, d.profile, parts_.clock.now()))
    KOORD_CO_CHECK(unless_gone(co_await patch_status(*now, *std::move(patch))));
  if (!parts_.role.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
  co_return unless_gone(co_await parts_.client.remove<api::Pod>(
      key_of(victim), {.uid = victim.metadata.uid, .may_go = parts_.may_go()}));
}

/// Room that was left to pods of a lower priority goes to this one: they look for another.
Task<> Evictions::take_nomination(std::shared_ptr<UnderWay> under_way, std::size_t pod) {
  const std::shared_ptr<const api::Pod> now =
      parts_.role.latest(*under_way->decision->preemption().yielding[pod]);
  Result<> taken;
  if (now && parts_.role.may_write())
    if (auto patch = nomination_patch(*now, {}))
      taken = unless_gone(co_await patch_status(*now, *std::move(patch)));
  finish(*under_way, taken);
}

Task<Result<>> Evictions::patch_status(const api::Pod& pod, api::Patch patch) {
  kube::PatchOptions options;
  options.type = patch.type;
  options.subresource = "status";
  options.may_go = parts_.may_go();
  Result<std::string> done =
      co_await parts_.client.patch_raw(api::kind<api::Pod>(), key_of(pod), std::move(patch.body), options);
  if (!done) co_return std::move(done).error();
  co_return Result<>();
}

void Evictions::record(const scheduling::Decision& d, const api::Pod& victim) {
  if (!parts_.role.may_write()) return;
  const std::string note =
      fmt::format("Preempted by pod {} on node {}", d.pod->metadata.uid, d.nominate()->view());
  parts_.role.events(d.profile).record({.regarding = kube::event_object(victim),
                                        .type = kube::EventType::normal,
                                        .reason = "Preempted",
                                        .action = "Preempting",
                                        .note = note,
                                        .related = kube::event_object(*d.pod),
                                        .repeats = false});
}

void Evictions::finish(UnderWay& under_way, const Result<>& result) {
  const scheduling::Decision& d = *under_way.decision;
  if (!result) {
    under_way.failed = true;
    if (result.error().code() != Code::cancelled)
      parts_.log.warn("a preemption failed", kv("namespace", d.pod->metadata.namespace_.view()),
                      kv("pod", d.pod->metadata.name), kv("node", d.nominate()->view()),
                      kv("error", result.error()));
  }
  if (--under_way.left > 0) return;
  parts_.telemetry.preempted(!under_way.failed, parts_.clock.mono() - under_way.began);
  parts_.role.preempted(d.pod, !under_way.failed);
  under_way.done();
}

}  // namespace koord::scheduler
