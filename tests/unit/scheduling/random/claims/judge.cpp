// What claims are given beside what the oracle gives, and who waits: see claims_world.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "random/claims/claims_world.hpp"
#include "support/reference/claims/claims.hpp"
#include "support/reference/claims/pools.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

std::string id_of(const api::DeviceRequestAllocationResult& result) {
  return fmt::format("{}/{}/{}", result.driver.view(), result.pool.view(), result.device.view());
}

/// What others have, or have a part of: by who only looks at it nothing is had.
bool has(const api::AllocationResult& given, const std::string& device) {
  return std::ranges::any_of(given.devices.results, [&](const auto& result) {
    return !result.admin_access.value_or(false) && id_of(result) == device;
  });
}

/// Without what the oracle leaves out.
api::AllocationResult comparable(api::AllocationResult given) {
  given.devices.config = {};
  given.allocation_timestamp.reset();
  for (auto& result : given.devices.results)
    if (result.share_id) result.share_id = "";
  return given;
}

std::string text(const api::AllocationResult& given) {
  return api::encode(&given, api::schema<api::AllocationResult>());
}

}  // namespace

void RandomClaimsWorld::begin_binding(const Decision& decision) {
  flights_[reference::key_of(*decision.pod)] = {decision, {}};
}

void RandomClaimsWorld::judge_gift(const api::Pod& asked, const api::Pod& bound) {
  const std::string node = bound.spec.node_name.str();
  auto gift = reference::claims_gift(cluster_, oracle_, asked, *cluster_.nodes.at(node));
  for (const auto& [key, given] : gift) {
    check_gift(bound, key, *given);
    cluster_.assumed_devices[key] = given;
  }
  check_counters(bound, gift);
  flights_.at(reference::key_of(asked)).gift = std::move(gift);
}

/// By the objects alone: nobody else has these devices, and no claim has one twice.
void RandomClaimsWorld::check_gift(const api::Pod& bound, const std::string& key,
                                   const api::AllocationResult& given) {
  std::set<std::string> own;
  for (const auto& result : given.devices.results) {
    const std::string device = id_of(result);
    if (result.admin_access.value_or(false)) {
      ++met_["devices looked at"];
      continue;
    }
    ++met_[result.share_id ? "shares given" : "devices given"];
    if (result.request.view().find('/') != std::string_view::npos) ++met_["given by subrequests"];
    if (result.share_id) continue;
    const auto twice = [&](const std::string& who) {
      tell(api::encode(bound), fmt::format("{} gets {}, which {} has", key, device, who));
    };
    if (!own.insert(device).second) twice("it");
    for (const auto& [other, claim] : cluster_.resource_claims)
      if (claim->status.allocation && has(*claim->status.allocation, device)) twice(other);
    for (const auto& [other, assumed] : cluster_.assumed_devices)
      if (has(*assumed, device)) twice(other);
  }
}

/// The same of counters: where one is given what takes of them, all together take no more than there is. Who
/// gets a part of what others have a part of takes none.
void RandomClaimsWorld::check_counters(const api::Pod& bound,
                                       const reference::ByKey<api::AllocationResult>& gift) {
  if (!oracle_.claim_gates.partitions) return;
  const auto is_given = [&](const std::string& device) {
    return std::ranges::any_of(gift, [&](const auto& each) { return has(*each.second, device); });
  };
  const auto others_have = [&](const std::string& device) {
    return std::ranges::any_of(cluster_.resource_claims,
                               [&](const auto& each) {
                                 const auto& given = each.second->status.allocation;
                                 return given && has(*given, device);
                               }) ||
           std::ranges::any_of(cluster_.assumed_devices, [&](const auto& each) {
             return !gift.contains(each.first) && has(*each.second, device);
           });
  };
  const api::Node& node = *cluster_.nodes.at(bound.spec.node_name.str());
  for (reference::DevicePool& pool : reference::pools_of(cluster_, oracle_.claim_gates, node)) {
    bool given = false;
    for (const auto* devices : {&pool.devices, &pool.elsewhere})
      for (const reference::PoolDevice& each : *devices) {
        if (each.device->consumes_counters.empty()) continue;
        const bool had = others_have(each.id);
        if (!had && !is_given(each.id)) continue;
        given = given || !had;
        for (const auto& consumed : each.device->consumes_counters)
          for (const auto& [name, counter] : consumed.counters)
            pool.counters.at(consumed.counter_set.str()).at(name.str()) -= counter.value;
      }
    if (!given) continue;
    ++met_["given with counters"];
    for (const auto& [set, counters] : pool.counters)
      for (const auto& [name, left] : counters)
        if (left.sign() < 0)
          tell(api::encode(bound),
               fmt::format("on {} counter {}/{} is given twice", node.metadata.name, set, name));
  }
}

bool RandomClaimsWorld::ends_well() {
  at_once_ = true;
  return true;
}

bool RandomClaimsWorld::prepare_binding(const api::Pod& pod, bool well) {
  const std::string key = reference::key_of(pod);
  const bool calm = std::exchange(at_once_, false);
  if (!well && random_.chance(50)) {
    forget_flight(pod);
    return false;
  }
  // Now and then the API server says no, once or always.
  int left = calm || !random_.chance(30) ? 0 : random_.chance(50) ? 1 : 1000;
  const bool conflict = random_.chance(60);
  const int after = random_.below(3);
  int writes_seen = 0;
  refuse = [&](const std::string& write) -> std::optional<Result<net::Response>> {
    if (write.starts_with("GET") || writes_seen++ < after || left == 0) return std::nullopt;
    --left;
    return conflict ? koord::test::status_response(409, "Conflict")
                    : koord::test::status_response(500, "InternalError");
  };
  tells_at_once = random_.chance(70);
  const std::string failed = prepare(flights_.at(key).decision);
  refuse = nullptr;
  tells_at_once = true;
  if (!failed.empty()) {
    ++met_["claims not written"];
    done_ += " " + failed;
  }
  check_written(pod, failed.empty());
  forget_flight(pod);
  well = well && failed.empty();
  if (!well) backing_off_.insert(key);
  return well;
}

/// What is written is what was decided: all of it, where the work ended well.
void RandomClaimsWorld::check_written(const api::Pod& pod, bool all) {
  for (const auto& [key, given] : flights_.at(reference::key_of(pod)).gift) {
    const auto known = claims.find(key.substr(key.find('/') + 1));
    const bool written = known != claims.end() && known->second.status.allocation;
    if (!written && !all) continue;
    if (!written || comparable(*known->second.status.allocation) != comparable(*given))
      return tell(
          api::encode(pod),
          fmt::format("on {} {} is given\n  {}, the oracle gives it\n  {}", pod.spec.node_name.view(), key,
                      written ? text(*known->second.status.allocation) : "nothing", text(*given)));
    ++met_["claims written"];
  }
  if (!all) return;
  for (const auto& [name, claim] : claims) {
    if (!names(pod, name)) continue;
    if (!claim.status.allocation || std::ranges::none_of(claim.status.reserved_for, [&](const auto& user) {
          return user.uid == pod.metadata.uid;
        }))
      return tell(api::encode(pod), fmt::format("it is to be bound, and {} is not kept for it", name));
  }
}

void RandomClaimsWorld::forget_flight(const api::Pod& pod) {
  const auto flight = flights_.extract(reference::key_of(pod));
  if (flight.empty()) return;
  for (const auto& [key, given] : flight.mapped().gift) cluster_.assumed_devices.erase(key);
  note();
}

/// After an error it is tried again in any case, when it has waited a while.
void RandomClaimsWorld::note_refusal(const Decision& decision) {
  if (decision.kind() == Decision::Kind::error) backing_off_.insert(reference::key_of(*decision.pod));
}

/// Who asks for all devices that have so much left may fit when somebody takes of one of them: nobody hears
/// of that, with kube-scheduler neither.
bool RandomClaimsWorld::may_fit_by_less(const api::Pod& pod) const {
  if (!oracle_.claim_gates.shares) return false;
  const auto is_all = [](const auto& request) { return request.allocation_mode == "All"; };
  return std::ranges::any_of(claims, [&](const auto& each) {
    return names(pod, each.first) &&
           std::ranges::any_of(each.second.spec.devices.requests, [&](const api::DeviceRequest& request) {
             return (request.exactly && is_all(*request.exactly)) ||
                    std::ranges::any_of(request.first_available, is_all);
           });
  });
}

/// Who fits somewhere does not wait.
void RandomClaimsWorld::check_waiting() {
  if (has_news()) return;
  for (const auto& [key, pod] : waiting_) {
    if (backing_off_.contains(key) || may_fit_by_less(*pod)) continue;
    const reference::Answer now = reference::evaluate(cluster_, oracle_, *pod);
    if (!now.error.empty() || !now.prefilter_message.empty()) continue;
    for (const auto& [name, node] : now.nodes)
      if (!node.rejected) return tell(api::encode(*pod), fmt::format("it waits, and {} would take it", name));
  }
}

std::string RandomClaimsWorld::refusal(const reference::Rejection& by) const {
  return "refused: " + by.reasons[0].substr(0, 24);
}

}  // namespace koord::scheduling::test
