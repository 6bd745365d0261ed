// ResctrlRig: the strategies of resctrl on a QosRig, with pods that have a task each.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/koordinator/pod_resctrl.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/resctrl/terms.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet {

extern const StrategyEntry kRdtResctrl;
extern const StrategyEntry kResctrlPods;

namespace testing {

inline constexpr host::ResctrlBandwidth kIntel{.least = 10, .step = 10, .most = 100, .ids = {}};
inline constexpr host::ResctrlBandwidth kAmd{
    .scale = host::BandwidthScale::units, .least = 1, .step = 1, .most = 2048, .ids = {}};

struct Share {
  bool enable = true;
  std::optional<std::int64_t> start = 0, end = 100, mba = 100;
};

class ResctrlRig : public QosRig {
 public:
  explicit ResctrlRig(std::string journal = {}, std::string_view on = "RdtResctrl=true,Resctrl=true")
      : QosRig(host::CgroupVersion::v1, std::move(journal)) {
    static constexpr const StrategyEntry* kTable[] = {&kResctrlPods, &kRdtResctrl};
    strategies = kTable;
    resctrl.build({0, 1}, 0x7ff, kIntel);
    gate(on);
  }
  /// Another agent, with these gates.
  void gate(std::string_view on) {
    if (!gates.set(std::string(on))) throw std::runtime_error("no such gate");
    start();
  }
  void says(std::optional<Share> lsr, std::optional<Share> ls, std::optional<Share> be) {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->resource_qos_strategy.emplace();
    const auto fill = [](auto& to, const std::optional<Share>& share) {
      if (!share) return;
      auto& said = to.emplace().resctrl_qos.emplace();
      said.enable = share->enable;
      said.cat_range_start_percent = share->start;
      said.cat_range_end_percent = share->end;
      said.mba_percent = share->mba;
    };
    fill(strategy.lsr_class, lsr);
    fill(strategy.ls_class, ls);
    fill(strategy.be_class, be);
    inventory.slo = spec;
    ++inventory.generation;
  }
  /// Pods with a task each, from 100 on, in a container's cgroup.
  void runs(const std::vector<Used>& list) {
    pods(list);
    inventory.all_pods = inventory.pods;
    std::int32_t task = 100;
    for (const auto& pod : inventory.pods) {
      const std::int32_t number = task++;
      if (!resctrl.all.contains(number)) resctrl.all[number] = {pod->group + "/c", ""};
    }
  }
  std::vector<std::string> warnings;
  void annotate(std::size_t index, std::string_view text) {
    auto pod = std::make_shared<PodInfo>(*inventory.all_pods.at(index));
    api::Pod object;
    object.metadata.annotations[api::kResctrl] = Symbol(text);
    read_resctrl_terms(object, pod->terms, warnings);
    inventory.pods[index] = inventory.all_pods[index] = pod;
    ++inventory.generation;
  }
  void ticks(int count = 1) {
    while (count-- > 0) tick(1);
  }
};

/// What each knob of a group says: "L3/0=3c".
inline std::string fields(const ResctrlRig& rig, const std::string& group) {
  const auto lines = host::parse_schemata(rig.resctrl.said(group));
  std::string text;
  for (const auto& line : lines.value()) text += host::print_schemata(line);
  return text;
}

inline std::ptrdiff_t times(const ResctrlRig& rig, std::string_view text) {
  return std::ranges::count_if(rig.log.lines(),
                               [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace testing

}  // namespace koord::koordlet
