// allocate: see allocate.hpp.
#include "scheduling/plugins/device_share/allocate/allocate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "scheduling/plugins/device_share/allocate/view.hpp"

namespace koord::scheduling::device_share {

namespace {

/// What cannot be had whatever is free.
Refusal prepare(const View& view) {
  for (const DeviceType type : kAllDeviceTypes)
    if (view.looks_for(type) && (view.node().count(type) == 0 || view.count(type) == 0))
      return {Why::no_devices_of_type, type};
  for (const DeviceType type : kAllDeviceTypes)
    if (view.looks_for(type) && view.demand().of(type).vf_selector && !view.shape().of(type).has_functions)
      return {Why::no_virtual_functions_of_type, type};
  return {};
}

PcieSet switches_of(const DeviceShape& shape, DeviceType type, Places places) {
  PcieSet switches;
  for (; places != 0; places &= places - 1) {
    const auto& device = shape.of(type).devices[static_cast<std::size_t>(std::countr_zero(places))];
    if (device.has_topology) switches.set(static_cast<std::size_t>(device.pcie));
  }
  return switches;
}

/// Devices in the order in which they are tried: preferred ones, or by turns one of each preferred switch; of
/// these the best score first, then the lowest minor.
class ByScore {
 public:
  ByScore(const View& view, DeviceType type, const DeviceScorer* scorer, const PcieSet& switches)
      : view_(view), type_(type) {
    const Places preferred = view.preferred(type);
    const bool by_switch = preferred == 0 && switches.any();
    const Amounts& part = view.demand().of(type).per_device;
    for (Places left = view.allowed(type); left != 0; left &= left - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(left));
      Tried& tried = tried_[size_++];
      tried.place = static_cast<std::uint8_t>(place);
      tried.score =
          scorer == nullptr ? 0 : scorer->score(type, part, view.total(type, place), view.free(type, place));
      tried.turn = preferred != 0 && (preferred >> place & 1U) == 0 ? kLast : 0;
    }
    sort();
    if (by_switch) by_turns(switches);
  }

  /// Up to `most` of them.
  void take(int most, Choice::OfType& to) const {
    const Places only = view_.seen().only_preferred ? view_.preferred(type_) : 0;
    const TypeDemand& demand = view_.demand().of(type_);
    for (std::size_t i = 0; i < size_ && to.count < most; ++i) {
      const Tried& tried = tried_[i];
      if (only != 0 && (only >> tried.place & 1U) == 0) continue;
      const Amounts free = view_.free(type_, tried.place);
      if (free.zero() || !demand.per_device.fits(free)) continue;
      std::int32_t function = Choice::kNoFunction;
      if (demand.vf_selector) {
        function = view_.free_function(type_, tried.place);
        if (function == Choice::kNoFunction) continue;
      }
      to.picks[to.count++] = {tried.place, function};
      to.mask |= Places{1} << tried.place;
    }
  }

 private:
  static constexpr std::uint8_t kLast = 255;
  struct Tried {
    std::int64_t score;
    std::uint8_t place, turn;
  };

  void sort() {
    std::sort(tried_.begin(), tried_.begin() + static_cast<std::ptrdiff_t>(size_),
              [](const Tried& a, const Tried& b) {
                if (a.turn != b.turn) return a.turn < b.turn;
                return a.score != b.score ? a.score > b.score : a.place < b.place;
              });
  }

  void by_turns(const PcieSet& switches) {
    std::array<std::uint8_t, kDeviceTypes * kMostPlaces> turns{};
    for (std::size_t i = 0; i < size_; ++i) {
      const DeviceShape::Device& device = view_.shape().of(type_).devices[tried_[i].place];
      const auto pcie = static_cast<std::size_t>(device.pcie);
      tried_[i].turn = device.has_topology && switches.test(pcie) ? turns[pcie]++ : kLast;
    }
    sort();
  }

  const View& view_;
  DeviceType type_;
  std::size_t size_ = 0;
  std::array<Tried, kMostPlaces> tried_;
};

class Allocation {
 public:
  Allocation(const View& view, const DeviceScorer* scorer, Choice& choice)
      : view_(view), scorer_(scorer), choice_(choice) {}

  Refusal run() {
    if (const Refusal refusal = prepare(view_); refusal.refused()) return refusal;
    const auto wanted =
        std::ranges::count_if(kAllDeviceTypes, [&](DeviceType type) { return view_.looks_for(type); });
    if (wanted > 1 && !view_.demand().joint.empty())
      if (const Refusal refusal = jointly(); refusal.refused()) return refusal;
    for (const DeviceType type : kAllDeviceTypes)
      if (view_.looks_for(type) && choice_.of(type).count == 0)
        if (const Refusal refusal = of_type(type, view_.count(type), {}); refusal.refused()) return refusal;
    return {};
  }

 private:
  Refusal jointly() {
    const std::vector<DeviceType>& joint = view_.demand().joint;
    const DeviceType primary = joint.front();
    if (const Refusal refusal = of_type(primary, view_.count(primary), {}); refusal.refused()) return refusal;
    const PcieSet switches = switches_of(view_.shape(), primary, choice_.of(primary).mask);
    const bool same = view_.demand().same_pcie;
    for (std::size_t i = 1; i < joint.size(); ++i) {
      if (!view_.looks_for(joint[i])) continue;
      const int least = same ? static_cast<int>(switches.count()) : 0;
      const Refusal refusal = of_type(joint[i], std::max(view_.count(joint[i]), least), switches);
      if (refusal.refused()) return refusal;
    }
    for (std::size_t i = 1; same && i < joint.size(); ++i)
      if (view_.looks_for(joint[i]) &&
          switches_of(view_.shape(), joint[i], choice_.of(joint[i]).mask) != switches)
        return {Why::not_joint};
    return {};
  }

  /// One of each preferred switch where there are more of these.
  Refusal of_type(DeviceType type, int count, const PcieSet& switches) {
    Choice::OfType& to = choice_.types[index(type)];
    if (type == DeviceType::gpu) {
      bool by_score = false;
      const Refusal refusal = allocate_gpus(view_, scorer_, choice_, by_score);
      if (refusal.refused() || !by_score) return refusal;
      count = view_.count(type);
      ByScore(view_, type, scorer_, {}).take(count, to);
    } else {
      const int most = std::max(count, static_cast<int>(switches.count()));
      ByScore(view_, type, scorer_, switches).take(most, to);
    }
    if (to.count < count) return {Why::too_few_of_type, type};
    return {};
  }

  const View& view_;
  const DeviceScorer* scorer_;
  Choice& choice_;
};

void clear(Choice& choice) {
  choice.by_template = false;
  for (Choice::OfType& of : choice.types) {
    of.count = 0;
    of.mask = 0;
  }
}

/// From its ratio, or the ratio from it.
void fill(Amounts& amounts, const Amounts& total) {
  if (amounts.has(Unit::memory) && amounts.has(Unit::memory_ratio)) return;
  const std::int64_t memory = total[Unit::memory];
  if (!amounts.has(Unit::memory)) {
    amounts.set(Unit::memory, std::min<std::int64_t>(amounts[Unit::memory_ratio], 10'000) * memory / 100);
  } else {
    const double part =
        memory == 0 ? 0 : static_cast<double>(amounts[Unit::memory]) / static_cast<double>(memory);
    amounts.set(Unit::memory_ratio, static_cast<std::int64_t>(part * 100));
  }
}

}  // namespace

Refusal allocate(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
                 const DeviceScorer* scorer, Choice& choice) {
  clear(choice);
  const View view(node, demand, seen);
  return Allocation(view, scorer, choice).run();
}

Refusal fits(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
             const DeviceScorer* scorer) {
  Choice choice;
  return allocate(node, demand, seen, scorer, choice);
}

Refusal lacks_on_numa_nodes(const NodeDevices& node, const BoundDemand& demand, const Seen& seen) {
  const View view(node, demand, seen);
  if (const Refusal refusal = prepare(view); refusal.refused()) return refusal;
  for (const DeviceType type : kAllDeviceTypes) {
    if (!view.looks_for(type)) continue;
    const auto on =
        std::ranges::count_if(view.shape().of(type).devices, [&](const DeviceShape::Device& device) {
          return device.numa_node != DeviceShape::kNowhere && (seen.numa_nodes >> device.numa_node & 1U) != 0;
        });
    if (on != 0 && on < view.count(type)) return {Why::too_few_on_numa_nodes};
  }
  return {};
}

std::int64_t score_node(const NodeDevices& node, const BoundDemand& demand, const Seen& seen,
                        const DeviceScorer& scorer) {
  const View view(node, demand, seen);
  if (prepare(view).refused()) return 0;
  std::int64_t score = 0;
  for (const DeviceType type : kAllDeviceTypes) {
    if (!view.looks_for(type)) continue;
    Amounts total, free;
    for (Places left = view.allowed(type); left != 0; left &= left - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(left));
      total.add(view.total(type, place));
      free.add(view.free(type, place));
    }
    score += scorer.score(type, demand.demand->of(type).per_device, total, free);
  }
  return score;
}

Given make_given(const NodeDevices& node, const BoundDemand& demand, const Choice& choice) {
  Given given;
  for (const DeviceType type : kAllDeviceTypes)
    for (const Choice::Pick& pick : choice.picks(type)) {
      const DeviceShape::Device& device = node.shape->of(type).devices[pick.place];
      Given::Device& made = given.devices.emplace_back();
      made.type = type;
      made.minor = device.minor;
      made.amounts = demand.demand->of(type).per_device;
      if (pick.function != Choice::kNoFunction) {
        const DeviceShape::Function& function = device.functions[static_cast<std::size_t>(pick.function)];
        made.vfs.push_back({function.minor, function.bus_id});
      }
      if (type != DeviceType::gpu) continue;
      if (choice.by_template) made.share_template = demand.share_template;
      fill(made.amounts, node.total_of(type, pick.place));
    }
  return given;
}

Result<Given> fill_memory(const NodeDevices& node, Given given) {
  for (Given::Device& device : given.devices) {
    if (device.type != DeviceType::gpu) continue;
    const std::size_t place = node.shape->place(device.type, device.minor);
    if (place == kMostPlaces || node.total_of(device.type, place).zero())
      return Error(Code::invalid,
                   fmt::format("no healthy gpu device with minor {} of allocation", device.minor));
    fill(device.amounts, node.total_of(device.type, place));
  }
  return given;
}

}  // namespace koord::scheduling::device_share
