// ProdPredictor: see prod.hpp.
#include "framework/predict/prod.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

namespace {

Amounts& operator+=(Amounts& a, const Amounts& b) {
  a.cpu += b.cpu;
  a.memory += b.memory;
  return a;
}
Amounts operator+(Amounts a, const Amounts& b) { return a += b; }

Amounts least(const Amounts& a, const Amounts& b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}
Amounts greatest(const Amounts& a, const Amounts& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}
/// What is left of `all`, at least nothing.
Amounts left(const Amounts& all, const Amounts& taken) {
  return greatest({all.cpu - taken.cpu, all.memory - taken.memory}, {});
}

bool is_prod(PriorityClass priority_class) {
  return priority_class == PriorityClass::prod || priority_class == PriorityClass::none;
}

bool is_young(const PodInfo& pod, WallTime now, nanoseconds cold_start) {
  if (!pod.object) return false;
  const auto created = pod.object->metadata.creation_timestamp.wall();
  return now - cold_start <= created;
}

}  // namespace

/// Cut to whole units, as everything here.
Amounts ProdPredictor::with_margin(const Amounts& peak) const {
  const double ratio = static_cast<double>(100 + terms_.margin_percent) / 100;
  return {static_cast<std::int64_t>(static_cast<double>(peak.cpu) * ratio),
          static_cast<std::int64_t>(static_cast<double>(peak.memory) * ratio)};
}

void ProdPredictor::add(const PodInfo& pod) {
  if (!is_prod(pod.effective_class())) return;
  const Amounts requests{pod.requests.cpu, pod.requests.memory};
  const bool young = is_young(pod, now_, terms_.cold_start);
  if (young) unpredicted_ += requests;
  if (pod.deleted_by) return;  // it gives nothing back that would last
  if (!young) {
    const auto found = is_node_model(pod.uid) ? std::nullopt : peak_of_(pod.uid);
    if (!found) {
      unpredicted_ += requests;
      return;  // nor does its class get back what it requests
    }
    const Amounts peak = with_margin(*found);
    predicted_ += peak;
    reclaimable_ += left(requests, peak);
  }
  requested_ += requests;
}

ProdForecast ProdPredictor::forecast(const NodeInfo& node) const {
  ProdForecast out;
  const Amounts allocatable{node.allocatable_milli_cpu, node.allocatable_memory};
  const bool known = allocatable != Amounts{};
  out.by_pods.peak = predicted_ + unpredicted_;
  if (known) out.by_pods.reclaimable = least(left(allocatable, predicted_), reclaimable_);

  Amounts sum;
  for (const std::string_view uid :
       {kSystemModel, model_of(PriorityClass::prod), model_of(PriorityClass::none)}) {
    const auto peak = peak_of_(uid);
    if (!peak) return out;
    sum += *peak;
  }
  const Amounts peak = with_margin(sum);
  out.by_class.peak = peak;
  out.careful.peak = greatest(*out.by_pods.peak, peak);
  if (!known) return out;
  out.by_class.reclaimable = least(left(allocatable, peak), left(requested_, peak));
  out.careful.reclaimable = least(*out.by_pods.reclaimable, *out.by_class.reclaimable);
  return out;
}

}  // namespace koord::koordlet
