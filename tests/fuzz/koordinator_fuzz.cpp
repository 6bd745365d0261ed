// Koordinator's annotations: the first byte chooses one, the rest is its text. What is read is bounded, is
// written, and is then read again as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "is_json.hpp"
#include "koord/api/koordinator/colocation.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/gang.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/koordinator/reservation.hpp"

namespace {

using namespace koord;
using namespace koord::api;

void check(bool holds) {
  if (!holds) std::abort();
}

template <class T>
T check_annotation(std::string_view text, std::string_view name) {
  SymbolMap annotations;
  annotations[name] = Symbol(text);
  const auto value = read_annotation<T>(annotations, name);
  if (!value) {
    check(value.error().message().starts_with(name));
    return {};
  }
  check(value->has_value() == !text.empty());
  if (!*value) return {};
  check(text.size() <= kMaxAnnotation && is_json(text));
  set_annotation(annotations, **value, name);
  const std::string_view written = value_or(annotations, name);
  check(is_json(written));
  // What is written may be longer than what was read: 1e9 has more digits then.
  if (written.size() <= kMaxAnnotation) check(read_annotation<T>(annotations, name).value() == *value);
  return **value;
}
template <class T>
T check_annotation(std::string_view text) {
  return check_annotation<T>(text, T::kAnnotation);
}

void check_gang(std::string_view text) {
  ObjectMeta pod;
  for (const std::string_view name :
       {kGangName, kGangMin, kGangTotal, kGangWaitingTime, kGangMode, kGangGroups, kGangMatchPolicy}) {
    const std::size_t end = std::min(text.find('|'), text.size());
    pod.annotations[name] = Symbol(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const GangTerms terms = gang_terms(pod);
  check(!terms.min || terms.total >= *terms.min);
  check(!terms.waiting_time || terms.waiting_time->count() > 0);
  check(gang_warnings(pod).size() <= 16);
  (void)gang_group_id(terms.groups);
}

void check_quota(std::string_view text) {
  ElasticQuota quota;
  quota.metadata.annotations[kQuotaSharedWeight] = Symbol(text);
  quota.metadata.annotations[kQuotaNamespaces] = Symbol(text);
  const QuotaTerms terms = quota_terms(quota);
  check(terms.parent == kRootQuota && terms.lends);
  for (const auto& [name, amount] : terms.shared_weight) (void)amount.to_string();
}

void check_evicted(std::string_view text) {
  ObjectMeta pod;
  for (const std::string_view name : {kEvictionPolicy, kEvictionPriority, kOomScoreAdj})
    pod.annotations[name] = Symbol(text);
  if (const auto policies = eviction_policies(pod)) check(*policies && (*policies)->names.size() <= 64);
  (void)eviction_priority(pod);
  if (const auto score = oom_score(pod); score && *score) check(**score >= -1000 && **score <= 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'n': check_annotation<NodeReservation>(text); break;
    case 'y': check_annotation<SystemQosResource>(text); break;
    case 'a': check_annotation<AnnotatedResources>(text, kRawAllocatable); break;
    case 's': check_annotation<ResourceStatus>(text); break;
    case 'c': check_annotation<ResourceSpec>(text); break;
    case 't': check_annotation<CpuTopology>(text); break;
    case 'p': check_annotation<PodCpuAllocs>(text); break;
    case 'd':
      for (const auto& [type, devices] : check_annotation<DeviceAllocations>(text).devices)
        for (const AllocatedDevice& device : devices) check(device.minor >= 0);
      break;
    case 'h': check_annotation<DeviceHints>(text); break;
    case 'g': check_annotation<GpuPartitions>(text); break;
    case 'r': check_annotation<ReservationAffinity>(text); break;
    case 'o': check_annotation<ReservationOwners>(text); break;
    case 'w': check_annotation<NetworkTopologySpec>(text); break;
    case 'b': check_annotation<PodCpuBurst>(text); break;
    case 'i': check_annotation<PodCpuQos>(text); break;
    case 'm': check_annotation<PodMemoryQos>(text); break;
    case 'O': check_annotation<OomScores>(text); break;
    case 'e': check_annotation<ExtendedResourceSpec>(text); break;
    case 'T': check_annotation<ThirdPartyAllocations>(text); break;
    case 'B': check_annotation<CpuBasicInfo>(text); break;
    case 'C': check_annotation<ColocationStrategy>(text); break;
    case 'v': check_evicted(text); break;
    case 'G': check_gang(text); break;
    default: check_quota(text); break;
  }
  return 0;
}
