// The NodeSLO over its defaults, and what becomes of nonsense in it.
#include "framework/objects/slo.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"

namespace koord::koordlet {
namespace {

api::NodeSloSpec spec(std::string_view json) {
  auto decoded = api::decode<api::NodeSloSpec>(json);
  REQUIRE(decoded.has_value());
  return *decoded;
}

TEST_CASE("Without a word of its own a NodeSLO is Koordinator's defaults, switched off") {
  const MergedSlo merged = merge_slo({});
  CHECK(merged.warnings.empty());
  const auto& threshold = *merged.spec.resource_used_threshold_with_be;
  CHECK(threshold.enable == false);
  CHECK(threshold.cpu_suppress_threshold_percent == 65);
  CHECK(threshold.cpu_suppress_policy.view() == "cpuset");
  CHECK(threshold.memory_evict_threshold_percent == 70);
  CHECK_FALSE(threshold.cpu_suppress_min_percent);
  const auto& burst = *merged.spec.cpu_burst_strategy;
  CHECK(burst.policy.view() == "none");
  CHECK(burst.cpu_burst_percent == 1000);
  CHECK(burst.cfs_quota_burst_percent == 300);
  CHECK(burst.cfs_quota_burst_period_seconds == -1);
  CHECK(burst.share_pool_threshold_percent == 50);
  CHECK(merged.spec.resource_qos_strategy->policies->cpu_policy.view() == "groupIdentity");
}

TEST_CASE("A field that is named replaces its default and no other") {
  const MergedSlo merged = merge_slo(spec(
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":40},
          "cpuBurstStrategy":{"policy":"auto"}})"));
  CHECK(merged.warnings.empty());
  CHECK(merged.spec.resource_used_threshold_with_be->enable == true);
  CHECK(merged.spec.resource_used_threshold_with_be->cpu_suppress_threshold_percent == 40);
  CHECK(merged.spec.resource_used_threshold_with_be->cpu_suppress_policy.view() == "cpuset");
  CHECK(merged.spec.cpu_burst_strategy->policy.view() == "auto");
  CHECK(merged.spec.cpu_burst_strategy->cpu_burst_percent == 1000);
}

TEST_CASE("A class that is off has the values that do nothing; one that is on has its defaults") {
  const MergedSlo merged = merge_slo(spec(R"({"resourceQOSStrategy":{
        "lsClass":{"cpuQOS":{"enable":true},"memoryQOS":{"enable":true,"wmarkRatio":80}},
        "beClass":{"resctrlQOS":{"enable":true}}}})"));
  const auto& qos = *merged.spec.resource_qos_strategy;
  CHECK(qos.ls_class->cpu_qos->qos.group_identity == 2);
  CHECK(qos.ls_class->memory_qos->qos.wmark_ratio == 80);
  CHECK(qos.ls_class->memory_qos->qos.wmark_min_adj == -25);
  CHECK(qos.ls_class->resctrl_qos->cat_range_end_percent == 100);
  // Off, so not -1, not 30 and not 95.
  CHECK(qos.be_class->cpu_qos->qos.group_identity == 0);
  CHECK(qos.be_class->memory_qos->qos.wmark_ratio == 0);
  CHECK(qos.be_class->memory_qos->qos.wmark_scale_permill == 50);
  CHECK(qos.be_class->resctrl_qos->cat_range_end_percent == 30);
  CHECK(qos.lsr_class->cpu_qos->qos.group_identity == 0);
  CHECK(qos.lsr_class->cpu_qos->qos.core_expeller == false);
}

TEST_CASE("NodeSLOs over the defaults, as the original's rows have it") {
  const MergedSlo threshold = merge_slo(spec(
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":80,"memoryEvictThresholdPercent":75},
          "cpuBurstStrategy":{},"systemStrategy":{"watermarkScaleFactor":200}})"));
  const auto& used = *threshold.spec.resource_used_threshold_with_be;
  CHECK(used.enable == true);
  CHECK(used.cpu_suppress_threshold_percent == 80);
  CHECK(used.memory_evict_threshold_percent == 75);
  CHECK(used.cpu_suppress_policy.view() == "cpuset");
  CHECK(used.cpu_evict_policy.view() == "evictByRealLimit");
  CHECK(threshold.spec.cpu_burst_strategy->share_pool_threshold_percent == 50);
  CHECK(threshold.spec.system_strategy->watermark_scale_factor == 200);
  CHECK_FALSE(threshold.spec.system_strategy->min_free_kbytes_factor);
  const MergedSlo part =
      merge_slo(spec(R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":80}})"));
  CHECK(part.spec.resource_used_threshold_with_be->memory_evict_threshold_percent == 70);

  const MergedSlo resctrl = merge_slo(spec(R"({"resourceQOSStrategy":{"beClass":{
      "resctrlQOS":{"enable":true,"catRangeStartPercent":0,"catRangeEndPercent":20}}}})"));
  const auto& be = *resctrl.spec.resource_qos_strategy->be_class;
  CHECK(be.resctrl_qos->cat_range_start_percent == 0);
  CHECK(be.resctrl_qos->cat_range_end_percent == 20);
  CHECK(be.cpu_qos->qos.group_identity == 0);
  CHECK(be.memory_qos->qos.wmark_ratio == 0);

  const MergedSlo memory = merge_slo(spec(R"({"resourceQOSStrategy":{
      "lsClass":{"memoryQOS":{"enable":true}},"beClass":{"memoryQOS":{"enable":true,"wmarkRatio":90}}}})"));
  const auto& qos = *memory.spec.resource_qos_strategy;
  CHECK(qos.ls_class->memory_qos->qos.wmark_ratio == 95);
  CHECK(qos.ls_class->memory_qos->qos.wmark_scale_permill == 20);
  CHECK(qos.ls_class->memory_qos->qos.wmark_min_adj == -25);
  CHECK(qos.ls_class->cpu_qos->qos.group_identity == 0);
  CHECK(qos.be_class->memory_qos->qos.wmark_ratio == 90);
  CHECK(qos.be_class->memory_qos->qos.wmark_scale_permill == 20);
  CHECK(qos.be_class->memory_qos->qos.wmark_min_adj == 50);
  CHECK(qos.lsr_class->memory_qos->qos.wmark_ratio == 0);
}

TEST_CASE("A value out of range keeps its default, and the rest counts") {
  const MergedSlo merged = merge_slo(spec(
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":900,
          "memoryEvictThresholdPercent":-4,"cpuSuppressPolicy":"cfsQuota"}})"));
  CHECK(merged.warnings.size() == 2);
  const auto& threshold = *merged.spec.resource_used_threshold_with_be;
  CHECK(threshold.enable == true);
  CHECK(threshold.cpu_suppress_threshold_percent == 65);
  CHECK(threshold.memory_evict_threshold_percent == 70);
  CHECK(threshold.cpu_suppress_policy.view() == "cfsQuota");
}

TEST_CASE("Complaints 2303, 716: host applications beside a kubelet with a cgroupRoot") {
  std::vector<std::string> warnings;
  const auto found = host_applications(
      spec(R"({"hostApplications":[{"name":"kubelet"},{"name":"kubelet/kubepods"},{"name":"kubelet/other"},
        {"name":"r","cgroupPath":{"base":"Kubepods","relativePath":"r"}}]})"),
      host::CgroupDriver::cgroupfs, warnings, "kubelet");
  CHECK(warnings.size() == 2);
  REQUIRE(found.size() == 2);
  CHECK(found[0].group == "kubelet/other");
  CHECK(found[1].group == "kubelet/kubepods/r");
}

TEST_CASE("Host applications have their groups by quality of service, or by a path") {
  struct Row {
    std::string_view app, want;
  };
  const Row rows[] = {
      {R"({"name":"nginx","qos":"LS"})", "host-latency-sensitive/nginx"},
      {R"({"name":"nginx","qos":"LSE"})", "host-latency-sensitive/nginx"},
      {R"({"name":"job","qos":"BE"})", "host-best-effort/job"},
      {R"({"name":"agent"})", "agent"},
      {R"({"name":"a","cgroupPath":{"base":"CgroupRoot","parentDir":"p/q/","relativePath":"/r"}})", "p/q/r"},
      {R"({"name":"a","cgroupPath":{"base":"Kubepods","relativePath":"r"}})", "kubepods/r"},
      {R"({"name":"a","cgroupPath":{"base":"KubepodsBurstable","relativePath":"r"}})",
       "kubepods/burstable/r"},
      {R"({"name":"a","cgroupPath":{"base":"KubepodsBesteffort","relativePath":"r"}})",
       "kubepods/besteffort/r"},
      // Refused: outside of the hierarchy, or the whole of it.
      {R"({"name":"a","cgroupPath":{"base":"CgroupRoot","parentDir":"../..","relativePath":"r"}})", ""},
      {R"({"name":"../../etc"})", ""},
      {R"({"name":"a","cgroupPath":{"base":"CgroupRoot"}})", ""},
      {R"({"name":""})", ""},
      // What runs in the pods would count twice.
      {R"({"name":"kubepods"})", ""},
      {R"({"name":"kubepods.slice"})", ""},
      {R"({"name":"kubepods/burstable"})", ""},
      {R"({"name":"a","cgroupPath":{"base":"Kubepods"}})", ""},
      {R"({"name":"a","cgroupPath":{"base":"KubepodsBesteffort","relativePath":"."}})", ""},
      {R"({"name":"kubepods2"})", "kubepods2"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.app);
    std::vector<std::string> warnings;
    const auto found = host_applications(spec(R"({"hostApplications":[)" + std::string(row.app) + "]}"),
                                         host::CgroupDriver::cgroupfs, warnings);
    CHECK(warnings.empty() == !row.want.empty());
    REQUIRE(found.size() == (row.want.empty() ? 0U : 1U));
    if (!found.empty()) CHECK(found[0].group == row.want);
  }
}

}  // namespace
}  // namespace koord::koordlet
