// DynamicResources' say about a pod: see claims.hpp. The messages are kube-scheduler's.
#include "support/reference/claims/claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/reference/matching.hpp"

namespace koord::reference {

namespace {

Rejection reject(const char* why) { return {"DynamicResources", true, {why}}; }

/// The first ways of requests with several are worth most.
std::int64_t score_of(const api::ResourceClaim& claim, const api::AllocationResult& given) {
  std::int64_t score = 0;
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    std::int64_t worth = 8;
    for (const api::DeviceSubRequest& sub : request.first_available) {
      for (const auto& result : given.devices.results)
        if (result.request.str() == request.name.str() + "/" + sub.name.str()) {
          score += worth;
          break;
        }
      --worth;
    }
  }
  return score;
}

}  // namespace

std::string key_of(const api::ResourceClaim& claim) {
  return fmt::format("{}/{}", claim.metadata.namespace_.view(), claim.metadata.name);
}

Claims::Claims(const Cluster& cluster, const Config& config, const api::Pod& pod) {
  if (std::ranges::find(config.filters, "DynamicResources") == config.filters.end()) return;
  read(cluster, pod);
  if (!rejected_.empty() || wanting_.empty()) return;
  for (const auto& [name, node] : cluster.nodes) {
    const auto& choice =
        choices_.try_emplace(name, cluster, config.claim_gates, *node, wanting_).first->second;
    if (!choice.error().empty()) error_ = choice.error();
  }
}

void Claims::read(const Cluster& cluster, const api::Pod& pod) {
  const std::string ns = pod.metadata.namespace_.str(), place = ns + "/" + pod.metadata.name;
  std::vector<const api::ResourceClaim*> all;
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    std::string name = entry.resource_claim_name;
    const bool own = name.empty();
    if (own) {
      const auto& made = pod.status.resource_claim_statuses;
      const auto it = std::ranges::find(made, entry.name, &api::PodResourceClaimStatus::name);
      if (it == made.end()) {
        rejected_ = fmt::format("pod \"{}\": ResourceClaim not created yet", place);
        return;
      }
      name = it->resource_claim_name;
      if (name.empty()) continue;  // none was needed
    }
    const auto known = cluster.resource_claims.find(ns + "/" + name);
    if (known == cluster.resource_claims.end()) {
      rejected_ = fmt::format("could not find ResourceClaim \"{}/{}\"", ns, name);
      return;
    }
    const api::ResourceClaim& claim = *known->second;
    if (claim.metadata.deletion_timestamp) {
      rejected_ = fmt::format("resourceclaim \"{}\" is being deleted", name);
      return;
    }
    if (own && std::ranges::none_of(claim.metadata.owner_references, [&](const auto& owner) {
          return owner.controller.value_or(false) && owner.uid == pod.metadata.uid;
        })) {
      rejected_ =
          fmt::format("ResourceClaim {} was not created for pod {} (pod is not owner)", key_of(claim), place);
      return;
    }
    all.push_back(&claim);
  }
  for (const api::ResourceClaim* claim : all) {
    (claim->status.allocation ? placed_ : wanting_).push_back(claim);
    if (claim->status.allocation) continue;
    rejected_ = why_not(cluster, *claim);
    if (!rejected_.empty()) return;
  }
}

std::string Claims::why_not(const Cluster& cluster, const api::ResourceClaim& claim) const {
  if (cluster.assumed_devices.contains(key_of(claim)))
    return fmt::format("resource claim {} is in the process of being allocated", key_of(claim));
  const auto missing = [&](const std::string& request, const Symbol& name) {
    return cluster.device_classes.contains(name.str())
               ? std::string()
               : fmt::format("request {}: device class {} does not exist", request, name.view());
  };
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    std::string why;
    if (request.exactly) why = missing(request.name.str(), request.exactly->device_class_name);
    for (const api::DeviceSubRequest& sub : request.first_available)
      if (why.empty()) why = missing(request.name.str() + "/" + sub.name.str(), sub.device_class_name);
    if (!why.empty()) return why;
  }
  return {};
}

Filtered Claims::filter(const api::Node& node) const {
  if (const auto choice = choices_.find(node.metadata.name); choice != choices_.end())
    if (!choice->second.refused().empty()) return reject(choice->second.refused().c_str());
  for (const api::ResourceClaim* claim : placed_) {
    const auto& on = claim->status.allocation->node_selector;
    if (on && !matches(*on, node)) return reject("resourceclaim not available on the node");
  }
  return std::nullopt;
}

RawScores Claims::scores(const Feasible& nodes) const {
  if (std::ranges::none_of(wanting_, [](const api::ResourceClaim* claim) {
        return std::ranges::any_of(claim->spec.devices.requests,
                                   [](const auto& request) { return !request.first_available.empty(); });
      }))
    return std::nullopt;
  std::vector<std::int64_t> scores;
  for (const NodeState* node : nodes) {
    const auto& given = choices_.at(node->node->metadata.name).given();
    std::int64_t score = 0;
    for (std::size_t i = 0; i < wanting_.size(); ++i) score += score_of(*wanting_[i], given[i]);
    scores.push_back(score);
  }
  return scores;
}

void Claims::normalize(std::vector<std::int64_t>& scores) {
  const std::int64_t best = scores.empty() ? 0 : *std::ranges::max_element(scores);
  for (std::int64_t& score : scores) score = best == 0 ? 0 : score * 100 / best;
}

ByKey<api::AllocationResult> Claims::gift(const api::Node& node) const {
  ByKey<api::AllocationResult> gift;
  const auto choice = choices_.find(node.metadata.name);
  if (choice == choices_.end() || !choice->second.refused().empty()) return gift;
  for (std::size_t i = 0; i < wanting_.size(); ++i)
    gift[key_of(*wanting_[i])] = std::make_shared<const api::AllocationResult>(choice->second.given()[i]);
  return gift;
}

}  // namespace koord::reference
