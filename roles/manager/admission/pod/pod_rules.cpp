// Rules of pods: see pod_rules.hpp.
#include "admission/pod/pod_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/pod/device_names.hpp"
#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/rules/field_errors.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/base/joined.hpp"
#include "koord/base/text.hpp"

namespace koord::manager {
namespace {

using api::FieldErrors;
using api::KoordPriority;
using api::KoordQos;
using json::Value;

constexpr std::array kReservedAnnotations = {api::kReservePod};
constexpr std::string_view kLabels = "labels.";
constexpr std::string_view kQosPath = kJoined<kLabels, api::kQosLabel>;
constexpr std::string_view kRequestsPath = "pod.spec.containers[*].resources.requests";
constexpr std::string_view kImmutable = "field is immutable";

std::string text_of(const FieldErrors& errors) { return errors.empty() ? std::string() : errors.text(); }

void forbid(FieldErrors& errors, std::string_view path, std::string_view why) {
  errors.add(fmt::format("{}: Forbidden: {}", path, why));
}

void check_unchanged(FieldErrors& errors, std::string_view path, std::string_view before,
                     std::string_view now) {
  if (before != now) errors.invalid(path, quote(now), kImmutable);
}

/// Classes of quality of service and priorities that do not go together.
struct Conflict {
  KoordQos qos;
  std::array<KoordPriority, 4> priorities;
  std::size_t count;
};
constexpr Conflict kConflicts[] = {
    {KoordQos::be, {KoordPriority::none, KoordPriority::prod}, 2},
    {KoordQos::lsr, {KoordPriority::none, KoordPriority::mid, KoordPriority::batch, KoordPriority::free}, 4},
};

api::Quantity requested(const api::ResourceList& requests, std::string_view name) {
  const api::Quantity* const found = requests.find(name);
  return found != nullptr ? *found : api::Quantity();
}

void check_cpus(FieldErrors& errors, const api::Quantity& cpus) {
  if (cpus.is_zero())
    errors.required(kRequestsPath, "LSR Pod must declare the requested CPUs");
  else if (cpus.milli_value() % 1000 != 0 && cpus != api::Quantity::from_int(cpus.value()))
    errors.invalid(kRequestsPath, quote(cpus.to_string()), "the requested CPUs of LSR Pod must be integer");
}

void check_gpu(FieldErrors& errors, const api::Quantity& gpus) {
  const std::int64_t value = gpus.value();
  if (value == 0)
    errors.invalid(kRequestsPath, quote(gpus.to_string()), "the requested GPU must be greater than zero");
  if (value > 100 && value % 100 != 0)
    errors.invalid(kRequestsPath, quote(gpus.to_string()), "the requested GPU must be percentage of 100");
}

void check_gpu_share(FieldErrors& errors, const Value& requests, const api::Quantity& shared) {
  const std::int64_t shares = shared.value();
  if (shares == 0)
    errors.invalid(kRequestsPath, quote(shared.to_string()), "the requested GPU must be greater than zero");
  const auto asked = [&](std::string_view name) { return amount(&requests, name).value_or(api::Quantity()); };
  if (asked(kNpuCore).value() != 0) return;
  const api::Quantity memory = asked(kGpuMemory), ratio = asked(kGpuMemoryRatio), core = asked(kGpuCore);
  if (memory.value() == 0 && ratio.value() == 0)
    forbid(errors, kRequestsPath, "GPU memory and GPU memory ratio all is zero");
  if (memory.value() != 0 && ratio.value() != 0)
    forbid(errors, kRequestsPath, "declare GPU memory and GPU memory ratio at same time");
  // Amounts below zero are the API server's to refuse; nothing is a multiple of zero, and all are of -1.
  if (shares == 0 || shares == -1) return;
  if (core.value() % shares != 0)
    errors.invalid(kRequestsPath, quote(core.to_string()), "the requested gpuCore must multiple of shared");
  if (ratio.value() % shares != 0)
    errors.invalid(kRequestsPath, quote(ratio.to_string()),
                   "the requested gpuMemoryRatio must multiple of shared");
}

/// Of any of its containers.
bool names_lent_resources(const Value& pod) {
  for (const std::string_view list : {"initContainers", "containers"})
    for (const Value& container : containers(pod, list))
      for (const std::string_view part : {"requests", "limits"}) {
        const Value* const amounts = json::find(container, "resources", part);
        if (amounts == nullptr) continue;
        for (const std::string_view name : {api::kBatchCpu, api::kBatchMemory, api::kMidCpu, api::kMidMemory})
          if (json::find(*amounts, name) != nullptr) return true;
      }
  return false;
}

}  // namespace

std::string check_reserved_annotations(const Value& pod, bool created) {
  FieldErrors errors;
  if (created && annotation(pod, api::DeviceAllocations::kAnnotation))
    forbid(errors, fmt::format("annotations.{}", api::DeviceAllocations::kAnnotation),
           "only the scheduler says which devices a pod is given");
  for (const std::string_view name : kReservedAnnotations)
    if (annotation(pod, name))
      forbid(errors, fmt::format("annotations.{}", name), "cannot set in annotations");
  return text_of(errors);
}

std::string check_classes(const Value& pod, const Value& before, const ClassRules& rules) {
  FieldErrors errors;
  const KoordQos qos = koord_qos(pod);
  const KoordPriority priority = koord_priority(pod);
  if (!before.is_null()) {
    check_unchanged(errors, kQosPath, api::to_string(koord_qos(before)), api::to_string(qos));
    check_unchanged(errors, "spec.priority", api::to_string(koord_priority(before)),
                    api::to_string(priority));
    if (!rules.priority_may_change)
      check_unchanged(errors, fmt::format("labels.{}", api::kSubPriorityLabel),
                      label(before, api::kSubPriorityLabel).value_or(""),
                      label(pod, api::kSubPriorityLabel).value_or(""));
  }
  api::ResourceList requests;  // of best-effort pods nothing is asked that depends on them
  if (qos != KoordQos::be) requests = api::pod_requests(outline(pod), {.use_status = false});
  if (!requested(requests, api::kBatchCpu).is_zero() || !requested(requests, api::kBatchMemory).is_zero())
    errors.required(kQosPath, "must specify koordinator QoS BE with koordinator colocation resources");
  for (const Conflict& conflict : kConflicts) {
    const auto* const end = conflict.priorities.begin() + conflict.count;
    if (conflict.qos == qos && std::find(conflict.priorities.begin(), end, priority) != end)
      forbid(errors, "Pod",
             fmt::format("{}={} and priorityClass={} cannot be used in combination", api::kQosLabel,
                         api::to_string(qos), api::to_string(priority)));
  }
  if (qos == KoordQos::lsr || qos == KoordQos::lse) check_cpus(errors, requested(requests, "cpu"));
  return text_of(errors);
}

std::string check_pod_level_resources(const Value& pod, bool lent) {
  FieldErrors errors;
  for (const std::string_view part : {"requests", "limits"}) {
    const Value* const amounts = json::find(pod, "spec", "resources", part);
    if (amounts == nullptr || !amounts->is_object() || amounts->empty()) continue;
    if (!lent && !names_lent_resources(pod)) break;
    forbid(
        errors, fmt::format("pod.spec.resources.{}", part),
        fmt::format("{} cannot be lent to a pod as a whole: a pod with batch or mid resources names them in "
                    "its containers",
                    utf8_prefix(amounts->members().begin()->key(), 300)));
  }
  return text_of(errors);
}

std::string check_device_resources(const Value& pod) {
  FieldErrors errors;
  for (const Value& container : containers(pod)) {
    const Value* const requests = json::find(container, "resources", "requests");
    const auto gpus = amount(requests, kGpu), shared = amount(requests, kGpuShared);
    if (gpus && shared)
      forbid(errors, kRequestsPath, "Forbidden declare GPU and GPU share at same time");
    else if (gpus)
      check_gpu(errors, *gpus);
    else if (shared)
      check_gpu_share(errors, *requests, *shared);
  }
  return text_of(errors);
}

}  // namespace koord::manager
