// Evictions: see evictions.hpp.
#include "write/evictions.hpp"

#include <fmt/format.h>

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/plugin/patch_placed.hpp"
#include "write/placed.hpp"

namespace koord::scheduler {

namespace {

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
  if (p.chosen != 0) parts_.telemetry.victims(p.chosen);
  auto under_way = std::make_shared<UnderWay>(
      UnderWay{decision, std::move(done), parts_.clock.mono(), p.victims.size() + p.nominations.size()});
  for (std::size_t i = 0; i < p.nominations.size(); ++i) tasks_.spawn("nominate", nominate(under_way, i));
  for (std::size_t i = 0; i < p.victims.size(); ++i) tasks_.spawn("evict", evict(under_way, i));
}

Task<> Evictions::evict(std::shared_ptr<UnderWay> under_way, std::size_t victim) {
  const scheduling::Decision& d = *under_way->decision;
  const scheduling::Preemption::Victim& who = d.preemption().victims[victim];
  Result<> asked;
  // One that waited for a permit has been refused it: it is nowhere, and stays.
  if (!who.waited) asked = co_await ask(d, who.pod);
  if (asked) record(d, *who.pod);
  finish(*under_way, asked);
}

Task<Result<>> Evictions::ask(const scheduling::Decision& d, std::shared_ptr<const api::Pod> victim) {
  if (!parts_.role.may_write()) co_return Error(Code::unavailable, scheduling::kMayNotWrite);
  const Placed placed(parts_.role, *victim);
  if (!placed.now() || placed.is_going()) co_return Result<>();
  const scheduling::PlacedName by = scheduling::placed_name(*d.pod);
  bool removed = true;
  const auto told = [&](const scheduling::PlacedKind& kind, const void* now) {
    scheduling::Eviction how =
        kind.evicted(now, {d.profile, by.word, parts_.clock.now(), d.preemption().job, scheduling::text(by)});
    removed = how.removed;
    return std::move(how.told);
  };
  Task<Result<>> telling = tell(parts_, victim, told);
  KOORD_CO_CHECK(unless_gone(co_await std::move(telling)));
  if (!removed) co_return Result<>();
  if (!parts_.role.may_write()) co_return Error(Code::unavailable, scheduling::kMayNotWrite);
  co_return unless_gone(
      co_await parts_.client.remove(api::kind_of(placed.kind().type().schema()), placed.key(),
                                    {.uid = victim->metadata.uid, .may_go = parts_.may_go()}));
}

/// Room that was left to pods of a lower priority goes to this one: they look for another; members of its job
/// are nominated with it.
Task<> Evictions::nominate(std::shared_ptr<UnderWay> under_way, std::size_t pod) {
  const auto& [who, node] = under_way->decision->preemption().nominations[pod];
  Result<> told;
  // It may have been bound since.
  const std::shared_ptr<const api::Pod> now = Placed(parts_.role, *who).pod();
  if (now && now->spec.node_name.empty() && parts_.role.may_write()) {
    Task<Result<>> telling =
        tell(parts_, who, [to = node](const scheduling::PlacedKind& kind, const void* object) {
          return kind.nominated(object, to);
        });
    told = unless_gone(co_await std::move(telling));
  }
  finish(*under_way, told);
}

void Evictions::record(const scheduling::Decision& d, const api::Pod& victim) {
  if (!parts_.role.may_write()) return;
  const scheduling::PlacedName by = scheduling::placed_name(*d.pod);
  // Of victims on several nodes each has its own.
  const Symbol node = victim.spec.node_name.empty() ? d.nominate().value_or(Symbol()) : victim.spec.node_name;
  const std::string note =
      fmt::format("Preempted by {} {} on node {}", by.word, d.pod->metadata.uid, node.view());
  parts_.role.events(d.profile).record({.regarding = event_object(parts_.role, victim),
                                        .type = kube::EventType::normal,
                                        .reason = "Preempted",
                                        .action = "Preempting",
                                        .note = note,
                                        .related = event_object(parts_.role, *d.pod),
                                        .repeats = false});
}

void Evictions::finish(UnderWay& under_way, const Result<>& result) {
  const scheduling::Decision& d = *under_way.decision;
  if (!result) {
    under_way.failed = true;
    const scheduling::PlacedName by = scheduling::placed_name(*d.pod);
    if (result.error().code() != Code::cancelled)
      parts_.log.warn("a preemption failed", kv("namespace", by.ns), kv(by.word, by.name),
                      kv("node", d.nominate().value_or(Symbol()).view()), kv("error", result.error()));
  }
  if (--under_way.left > 0) return;
  parts_.telemetry.preempted(!under_way.failed, parts_.clock.mono() - under_way.began);
  parts_.role.preempted(d.pod, !under_way.failed);
  under_way.done();
}

}  // namespace koord::scheduler
