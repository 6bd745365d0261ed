// See device_asks.hpp.
#include "scheduling/plugins/dynamic_resources/extended/device_asks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace koord::scheduling::dynamic_resources {

namespace {

/// One resource of one pod.
class OfResource {
 public:
  OfResource(const api::Pod& pod, BackedResource resource) : resource_(std::move(resource)) {
    for (const api::Container& each : pod.spec.init_containers) containers_.push_back(&each);
    first_regular_ = containers_.size();
    for (const api::Container& each : pod.spec.containers) containers_.push_back(&each);
    own_.resize(containers_.size());
  }

  void append_to(DeviceAsks& asks) {
    for (std::size_t i = 0; i < containers_.size(); ++i)
      if (!is_brief(i)) keep_for(i, asks.mappings);
    for (std::size_t i = 0; i < containers_.size(); ++i)
      if (is_brief(i)) borrow_for(i);
    if (!briefs_.empty()) {
      for (RequestMapping& mapping : borrowed_)
        if (briefs_.contains(mapping.request)) mapping.request = most_.first;
      append(asks, most_.first, most_.second);
    }
    asks.mappings.insert(asks.mappings.end(), borrowed_.begin(), borrowed_.end());
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (own_[i] != 0) append(asks, name(i), own_[i]);
  }

 private:
  /// It has ended before the containers after it start.
  bool is_brief(std::size_t i) const {
    return i < first_regular_ && containers_[i]->restart_policy != "Always";
  }
  std::int64_t wanted(std::size_t i) const {
    const api::Quantity* const asked = containers_[i]->resources.requests.find(resource_.resource);
    return asked != nullptr ? asked->value() : 0;
  }
  Symbol name(std::size_t i) const {
    std::size_t before = 0;
    for (const auto& [asked, amount] : containers_[i]->resources.requests)
      if (asked.view() < resource_.resource.view()) ++before;
    return Symbol(fmt::format("container-{}-request-{}", i, before));
  }
  RequestMapping mapping(std::size_t i, Symbol request) const {
    return {containers_[i]->name, resource_.resource, std::move(request)};
  }

  void keep_for(std::size_t i, std::vector<RequestMapping>& mappings) {
    own_[i] = wanted(i);
    if (own_[i] != 0) mappings.push_back(mapping(i, name(i)));
  }
  /// Of those that containers after it keep, then of what the brief ones share.
  void borrow_for(std::size_t i) {
    std::int64_t rest = wanted(i);
    for (std::size_t later = i; later < own_.size() && rest > 0; ++later) {
      if (own_[later] == 0) continue;
      borrowed_.push_back(mapping(i, name(later)));
      rest -= own_[later];
    }
    if (rest <= 0) return;
    const Symbol request = name(i);
    borrowed_.push_back(mapping(i, request));
    briefs_.insert(request);
    if (rest > most_.second) most_ = {request, rest};
  }
  void append(DeviceAsks& asks, Symbol request_name, std::int64_t count) const {
    api::DeviceRequest& request = asks.requests.emplace_back();
    request.name = std::move(request_name);
    api::ExactDeviceRequest& exactly = request.exactly.ensure();
    exactly.device_class_name = resource_.device_class;
    exactly.allocation_mode = "ExactCount";
    exactly.count = count;
  }

  BackedResource resource_;
  std::vector<const api::Container*> containers_;
  std::size_t first_regular_ = 0;
  std::vector<std::int64_t> own_;  // by container; 0: it has no request
  std::vector<RequestMapping> borrowed_;
  std::set<Symbol> briefs_;
  std::pair<Symbol, std::int64_t> most_;
};

}  // namespace

DeviceAsks device_asks(const api::Pod& pod, std::vector<BackedResource> resources) {
  DeviceAsks asks;
  std::ranges::sort(resources, {}, [](const BackedResource& each) { return each.resource.view(); });
  for (BackedResource& each : resources) OfResource(pod, std::move(each)).append_to(asks);
  std::ranges::sort(asks.requests, {}, [](const api::DeviceRequest& each) { return each.name.view(); });
  return asks;
}

}  // namespace koord::scheduling::dynamic_resources
