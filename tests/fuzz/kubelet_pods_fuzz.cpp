// The kubelet's answer to /pods/: whatever it is, what is taken from it is in order, inside of the kubelet's
// part of the hierarchy, and bounded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "framework/objects/pod_info.hpp"
#include "plugins.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

constexpr std::int64_t kMaxMilli = 1'000'000'000, kMaxBytes = std::int64_t{1} << 50;

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_inside(std::string_view group) {
  return group.starts_with("kubepods") && group.find("..") == std::string_view::npos &&
         group.find('\n') == std::string_view::npos;
}

bool in_range(const std::optional<std::int64_t>& value, std::int64_t max) {
  return !value || (*value >= 0 && *value <= max);
}

void check_pod(const PodInfo& pod) {
  check(!pod.uid.empty() && is_inside(pod.group));
  const PodRequests& asked = pod.requests;
  for (const std::int64_t value :
       {asked.cpu, asked.memory, asked.batch_cpu, asked.batch_memory, asked.mid_cpu, asked.mid_memory})
    check(value >= 0);
  check(!pod.cpus || !pod.cpus->empty());
  for (const ContainerInfo& container : pod.containers) {
    check(is_inside(container.group) && container.group.starts_with(pod.group + "/"));
    check(in_range(container.cpu_limit_milli, kMaxMilli) && in_range(container.memory_limit, kMaxBytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<PodTermsReader> kReaders = terms_readers(strategy_table());
  for (const auto driver : {host::CgroupDriver::cgroupfs, host::CgroupDriver::systemd}) {
    const auto list = read_pod_list(text, "n1", driver, {}, kReaders);
    if (!list) continue;
    check(list->pods.size() <= list->listed && list->listed <= kMaxPods);
    check(list->warnings.size() <= kMaxWarnings);
    for (std::size_t i = 0; i < list->pods.size(); ++i) {
      check(i == 0 || list->pods[i - 1]->uid < list->pods[i]->uid);
      check(!list->pods[i]->containers.empty());
      check_pod(*list->pods[i]);
    }
    for (const auto& pod : list->all) check_pod(*pod);
    check(std::includes(list->all.begin(), list->all.end(), list->pods.begin(), list->pods.end(),
                        [](const auto& a, const auto& b) { return a->uid < b->uid; }));
    for (const PodWarning& warning : list->warnings)
      check(warning.pod && !warning.what.empty() && warning.what.size() <= kMaxWarning);
  }
  return 0;
}
