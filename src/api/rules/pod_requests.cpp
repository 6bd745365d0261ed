// Requests and limits of a pod, by the formulas of k8s.io/component-helpers/resource (1.35).
#include "koord/api/rules/pod_requests.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace koord::api {

namespace {

constexpr std::int64_t kDefaultMilliCpu = 100;
constexpr std::int64_t kDefaultMemory = 200LL << 20;

/// `combine(mine, theirs)` for what both name. Linear in both: names that are added one by one would each
/// move what comes after them, and whoever writes the pod chooses them.
template <class Combine>
void merge(ResourceList& list, const ResourceList& more, Combine&& combine) {
  bool all_there = true;
  for (const auto& [name, quantity] : more) {
    Quantity* const found = list.find(name.view());
    if (found != nullptr)
      combine(*found, quantity);
    else
      all_there = false;
  }
  if (all_there) return;
  ResourceList both;
  const auto* mine = list.begin();
  const auto take_mine = [&] {
    both[mine->key] = mine->value;
    ++mine;
  };
  for (const auto& [name, quantity] : more) {
    while (mine != list.end() && mine->key.view() < name.view()) take_mine();
    if (mine == list.end() || mine->key != name) both[name] = quantity;
  }
  while (mine != list.end()) take_mine();
  list = std::move(both);
}

void add(ResourceList& list, const ResourceList& more) {
  merge(list, more, [](Quantity& mine, const Quantity& theirs) { mine += theirs; });
}

void raise(ResourceList& list, const ResourceList& other) {
  merge(list, other, [](Quantity& mine, const Quantity& theirs) {
    if (theirs > mine) mine = theirs;
  });
}

bool resize_infeasible(const PodStatus& status) {
  for (const PodCondition& condition : status.conditions)
    if (condition.type == "PodResizePending") return condition.reason == "Infeasible";
  return false;
}

const ContainerStatus* status_of(const PodStatus& status, const Symbol& name) {
  // Init containers win where a name occurs twice, as they do in Kubernetes' map.
  for (const auto* list : {&status.init_container_statuses, &status.container_statuses})
    for (const ContainerStatus& container : *list)
      if (container.name == name) return &container;
  return nullptr;
}

bool is_sidecar(const Container& container) { return container.restart_policy == "Always"; }

enum class Side { requests, limits };
const ResourceList& side_of(const ResourceRequirements& resources, Side side) {
  return side == Side::requests ? resources.requests : resources.limits;
}

/// What is in force between what is asked (spec), allocated and actuated. Limits have no allocated amount.
ResourceList effective(const Pod& pod, const ResourceRequirements& spec, const ResourceRequirements& actuated,
                       const ResourceList& allocated, Side side) {
  ResourceList out = side_of(actuated, side);
  if (side == Side::requests) raise(out, allocated);
  if (!resize_infeasible(pod.status)) raise(out, side_of(spec, side));
  return out;
}

ResourceList container_resources(const Pod& pod, const Container& container, bool may_resize, Side side,
                                 const PodRequestsOptions& options) {
  ResourceList out = side_of(container.resources, side);
  if (options.use_status && may_resize) {
    const ContainerStatus* status = status_of(pod.status, container.name);
    if (status != nullptr && status->resources)
      out = effective(pod, container.resources, *status->resources, status->allocated_resources, side);
  }
  if (side == Side::requests && options.non_missing != nullptr) {
    merge(out, *options.non_missing, [](Quantity&, const Quantity&) {});
  }
  return out;
}

/// One amount of one container, in the order of the pod's containers and then its init containers.
struct Share {
  enum Of : std::uint8_t { container, sidecar, init };
  Symbol name;
  Quantity amount;
  std::uint32_t order;
  Of of;
};

void raise(std::optional<Quantity>& amount, const Quantity& other) {
  if (!amount || other > *amount) amount = other;
}

/// Of one resource: what runs at once, at most. A sidecar goes on while what starts after it runs.
Quantity most_at_once(std::span<const Share> shares) {
  std::optional<Quantity> total, largest;
  Quantity sidecars;
  for (const Share& share : shares) {
    Quantity own = share.amount;
    if (share.of == Share::init) {
      own += sidecars;
      raise(largest, own);
      continue;
    }
    total = total ? * total += own : own;
    if (share.of == Share::container) continue;
    sidecars += share.amount;
    raise(largest, sidecars);
  }
  if (largest) raise(total, *largest);
  return std::move(*total);
}

// Sorted once for all containers: a stranger's pod may have as many names as fit into a request.
ResourceList aggregate(const Pod& pod, Side side, const PodRequestsOptions& options) {
  std::vector<Share> shares;
  const auto collect = [&](const Container& container, bool may_resize, Share::Of of) {
    for (const auto& [name, amount] : container_resources(pod, container, may_resize, side, options))
      shares.push_back({name, amount, static_cast<std::uint32_t>(shares.size()), of});
  };
  for (const Container& container : pod.spec.containers) collect(container, true, Share::container);
  for (const Container& container : pod.spec.init_containers)
    collect(container, is_sidecar(container), is_sidecar(container) ? Share::sidecar : Share::init);
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.name == b.name ? a.order < b.order : a.name.view() < b.name.view();
  });
  ResourceList sums;
  for (std::size_t i = 0, end = 0; i < shares.size(); i = end) {
    while (end < shares.size() && shares[end].name == shares[i].name) ++end;
    sums[shares[i].name] = most_at_once(std::span(shares).subspan(i, end - i));
  }
  return sums;
}

bool has_pod_level(const ResourceList& list) {
  for (const auto& [name, quantity] : list)
    if (is_pod_level_resource(name.view())) return true;
  return false;
}

/// Pod-level amounts replace the sums.
void apply_pod_level(const Pod& pod, Side side, const PodRequestsOptions& options, ResourceList& total) {
  const ResourceRequirements& spec = *pod.spec.resources;
  ResourceList amounts = side_of(spec, side);
  if (options.use_status && options.use_pod_level_status && pod.status.resources)
    amounts = effective(pod, spec, *pod.status.resources, pod.status.allocated_resources, side);
  ResourceList replaced;
  for (const auto& [name, quantity] : side_of(spec, side)) {
    if (!is_pod_level_resource(name.view())) continue;
    const Quantity* amount = amounts.find(name.view());
    replaced[name] = amount != nullptr ? *amount : Quantity();
  }
  merge(total, replaced, [](Quantity& mine, const Quantity& theirs) { mine = theirs; });
}

struct QosSums {
  ResourceList requests;
  ResourceList limits;
  bool all_limited = true;

  void count(const ResourceRequirements& resources, bool need_limits) {
    add_positive(requests, resources.requests);
    const std::size_t limited = add_positive(limits, resources.limits);
    if (need_limits && limited < 2) all_limited = false;
  }
  static std::size_t add_positive(ResourceList& list, const ResourceList& more) {
    std::size_t n = 0;
    for (const std::string_view name : {"cpu", "memory"}) {
      const Quantity* quantity = more.find(name);
      if (quantity == nullptr || quantity->sign() <= 0) continue;
      list[name] += *quantity;
      ++n;
    }
    return n;
  }
};

}  // namespace

bool is_pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

ResourceList pod_requests(const Pod& pod, const PodRequestsOptions& options) {
  ResourceList out = aggregate(pod, Side::requests, options);
  if (!options.skip_pod_level && pod.spec.resources && has_pod_level(pod.spec.resources->requests))
    apply_pod_level(pod, Side::requests, options, out);
  if (!options.exclude_overhead) add(out, pod.spec.overhead);
  return out;
}

ResourceList pod_limits(const Pod& pod, const PodRequestsOptions& options) {
  ResourceList out = aggregate(pod, Side::limits, options);
  if (!options.skip_pod_level && pod.spec.resources &&
      (has_pod_level(pod.spec.resources->requests) || has_pod_level(pod.spec.resources->limits)))
    apply_pod_level(pod, Side::limits, options, out);
  if (!options.exclude_overhead) {
    for (const auto& [name, quantity] : pod.spec.overhead) {
      Quantity* limit = out.find(name.view());
      if (limit != nullptr && !limit->is_zero()) *limit += quantity;
    }
  }
  return out;
}

NonZeroRequests non_zero_requests(const Pod& pod, const PodRequestsOptions& options) {
  PodRequestsOptions with_defaults = options;
  ResourceList missing;
  const bool pod_level =
      !options.skip_pod_level && pod.spec.resources && has_pod_level(pod.spec.resources->requests);
  // With pod-level requests only what is named neither there nor in a container gets a default.
  const ResourceList plain = pod_level ? pod_requests(pod, options) : ResourceList();
  if (!plain.contains("cpu")) missing["cpu"] = Quantity::from_milli(kDefaultMilliCpu);
  if (!plain.contains("memory")) missing["memory"] = Quantity::from_int(kDefaultMemory);
  with_defaults.non_missing = &missing;
  const ResourceList requests = pod_requests(pod, with_defaults);
  const Quantity* cpu = requests.find("cpu");
  const Quantity* memory = requests.find("memory");
  return {cpu != nullptr ? cpu->milli_value() : 0, memory != nullptr ? memory->value() : 0};
}

KubeQos compute_kube_qos(const PodSpec& spec) {
  QosSums sums;
  if (spec.resources) {
    sums.count(*spec.resources, !spec.resources->limits.empty());
  } else {
    for (const auto* list : {&spec.containers, &spec.init_containers})
      for (const Container& container : *list) sums.count(container.resources, true);
  }
  if (sums.requests.empty() && sums.limits.empty()) return KubeQos::besteffort;
  bool guaranteed = sums.all_limited && sums.requests.size() == sums.limits.size();
  for (const auto& [name, request] : sums.requests) {
    const Quantity* limit = sums.limits.find(name.view());
    guaranteed = guaranteed && limit != nullptr && *limit == request;
  }
  return guaranteed ? KubeQos::guaranteed : KubeQos::burstable;
}

}  // namespace koord::api
