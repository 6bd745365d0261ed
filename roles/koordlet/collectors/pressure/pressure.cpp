// What is read of pressure, and the gauges container_psi and pod_psi with the original's labels.
#include "collectors/pressure/pressure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "framework/model/shown_id.hpp"
#include "framework/sampler/sampler.hpp"

namespace koord::koordlet {

namespace {

constexpr std::array<std::string_view, 3> kResources = {"cpu", "mem", "io"};
constexpr std::array<std::string_view, 3> kNodeFiles = {"cpu", "memory", "io"};
constexpr std::array<std::string_view, 3> kPrecisions = {"avg10", "avg60", "avg300"};
constexpr std::array<std::string_view, 2> kDegrees = {"some", "full"};

/// Most kernels have these files in all groups or in none. Where no group has had one for so many rounds,
/// one group in six is asked in each, and whoever is new.
constexpr std::uint64_t kRoundsWithout = 2, kRareRounds = 6;

constexpr metrics::Metric kPodPressure{.name = "koordlet_pod_psi",
                                       .type = metrics::Type::gauge,
                                       .help = "Pressure stall information of a pod, in percent",
                                       .labels = {"pod_uid", "pod_name", "pod_namespace", "psi_resource_type",
                                                  "psi_precision", "psi_degree", "cpu_full_supported"}};
constexpr metrics::Metric kContainerPressure{
    .name = "koordlet_container_psi",
    .type = metrics::Type::gauge,
    .help = "Pressure stall information of a container, in percent",
    .labels = {"container_id", "container_name", "pod_uid", "pod_name", "pod_namespace", "psi_resource_type",
               "psi_precision", "psi_degree", "cpu_full_supported"}};

std::array<double, 3> averages(const host::PressureLine& line) {
  return {line.avg10, line.avg60, line.avg300};
}

Stall& stall_of(Pressure& pressure, std::size_t resource) {
  return resource == 0 ? pressure.cpu : resource == 1 ? pressure.memory : pressure.io;
}

Stall shown(const host::Pressure& pressure) {
  Stall stall;
  stall.some_avg10 = pressure.some.avg10;
  stall.some_total_us = static_cast<double>(pressure.some.total_us);
  if (!pressure.has_full) return stall;
  stall.full_avg10 = pressure.full.avg10;
  stall.full_total_us = static_cast<double>(pressure.full.total_us);
  return stall;
}

void remove_series(const metrics::Family<metrics::Gauge>& family, std::span<const std::string_view> v) {
  if (v.size() == 7)
    family.remove({v[0], v[1], v[2], v[3], v[4], v[5], v[6]});
  else
    family.remove({v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]});
}

}  // namespace

template <class Fn>
void PressureGauges::each(std::span<const std::string> labels, std::size_t resource, bool cpu_full, Fn&& fn) {
  std::vector<std::string_view> values(labels.begin(), labels.end());
  values.resize(labels.size() + 4);
  const std::span<std::string_view> psi = std::span(values).last(4);
  psi[0] = kResources.at(resource);
  psi[3] = cpu_full ? "true" : "false";
  for (std::size_t degree = 0; degree < kDegrees.size(); ++degree)
    for (std::size_t precision = 0; precision < kPrecisions.size(); ++precision) {
      psi[1] = kPrecisions.at(precision);
      psi[2] = kDegrees.at(degree);
      fn(degree * kPrecisions.size() + precision, std::span<const std::string_view>(values));
    }
}

void PressureGauges::set(const metrics::Family<metrics::Gauge>& family, std::span<const std::string> labels,
                         std::size_t resource, const host::Pressure& pressure) {
  Row& row = rows_.at(resource);
  const bool cpu_full = resource != 0 || pressure.has_full;
  if (!row.made || row.cpu_full != cpu_full) {
    if (row.made)
      each(labels, resource, row.cpu_full, [&](std::size_t, auto values) { remove_series(family, values); });
    each(labels, resource, cpu_full,
         [&](std::size_t i, auto values) { row.gauges.at(i) = family.with(values); });
    row.made = true;
    row.cpu_full = cpu_full;
  }
  const std::array<std::array<double, 3>, 2> values = {averages(pressure.some), averages(pressure.full)};
  for (std::size_t i = 0; i < row.gauges.size(); ++i)
    row.gauges.at(i).set(values.at(i / kPrecisions.size()).at(i % kPrecisions.size()));
}

void PressureGauges::remove(const metrics::Family<metrics::Gauge>& family,
                            std::span<const std::string> labels) {
  for (std::size_t resource = 0; resource < rows_.size(); ++resource)
    if (rows_.at(resource).made)
      each(labels, resource, rows_.at(resource).cpu_full,
           [&](std::size_t, auto values) { remove_series(family, values); });
}

PressureCollector::PressureCollector(const CollectorContext& context)
    : every_(ticks_of(context.config.psi_interval, context.config.interval)),
      reader_(context.reader),
      faults_(context.faults),
      pods_(context.metrics.gauges(kPodPressure)),
      containers_(context.metrics.gauges(kContainerPressure)) {
  for (std::size_t resource = 0; resource < node_files_.size(); ++resource)
    node_files_.at(resource).path = fmt::format("{}pressure/{}", context.root.proc, kNodeFiles.at(resource));
}

PressureCollector::~PressureCollector() {
  for (const NodeFile& file : node_files_) reader_.released(file.fd);
}

void PressureCollector::follow(const Inventory& inventory) {
  std::map<std::string_view, std::unique_ptr<Target>> known;
  for (auto& target : targets_) {
    const std::string_view group = target->group;
    known.emplace(group, std::move(target));
  }
  targets_.clear();
  std::vector<Pressure> pods, containers;
  const auto keep = [&](const std::string& group, bool container, std::vector<std::string> labels) {
    std::vector<Pressure>& all = container ? containers : pods;
    const std::size_t place = all.size();
    all.emplace_back();
    const auto it = known.find(group);
    if (it != known.end() && it->second->container == container && it->second->labels == labels) {
      all.back() = pressure(*it->second);
      targets_.push_back(std::move(it->second));
      targets_.back()->place = place;
      known.erase(it);
      return;
    }
    targets_.push_back(std::make_unique<Target>(Target{
        .group = group, .labels = std::move(labels), .container = container, .place = place, .gauges = {}}));
  };
  for (const auto& pod : inventory.pods) {
    keep(pod->group, false, {pod->uid, pod->name, pod->ns});
    for (const ContainerInfo& container : pod->containers)
      keep(container.group, true, {shown_id(container), container.name, pod->uid, pod->name, pod->ns});
  }
  for (auto& [group, gone] : known) gone->gauges.remove(family(*gone), gone->labels);
  pressure_.pods = std::move(pods);
  pressure_.containers = std::move(containers);
}

void PressureCollector::sample(const TickView& view) {
  if (view.tick % every_ == 0) read_node();
  const bool rare = ticks_without_ >= kRoundsWithout * every_;
  ticks_without_ = targets_.empty() ? 0 : ticks_without_ + 1;
  std::uint64_t turn = view.tick / every_;
  for (std::size_t i = (every_ - view.tick % every_) % every_; i < targets_.size(); i += every_, ++turn)
    if (Target& target = *targets_[i]; !rare || !target.asked || turn % kRareRounds == 0) read(target);
}

void PressureCollector::show(TickView& view) const { view.slots.show(&pressure_, view.at); }

void PressureCollector::read_node() {
  for (std::size_t resource = 0; resource < node_files_.size(); ++resource) {
    NodeFile& file = node_files_.at(resource);
    const std::string_view name = host::row(PressureGauges::kKnobs.at(resource)).name;
    Stall& stall = stall_of(pressure_.node, resource);
    stall = {};
    std::string_view text;
    const Outcome outcome = reader_.read(file.fd, file.path, text);
    if (outcome == Outcome::failed) faults_.failed(name, "", reader_.last_errno());
    if (outcome != Outcome::good) continue;
    if (const auto pressure = host::parse_pressure(text))
      stall = shown(*pressure);
    else
      faults_.garbled(name, "", pressure.error());
  }
}

void PressureCollector::read(Target& target) {
  target.asked = true;
  for (std::size_t resource = 0; resource < PressureGauges::kKnobs.size(); ++resource) {
    const host::Knob knob = PressureGauges::kKnobs.at(resource);
    Stall& stall = stall_of(pressure(target), resource);
    stall = {};
    std::string_view text;
    const Outcome outcome = reader_.read_once(knob, target.group, text);
    if (outcome == Outcome::failed) faults_.failed(host::row(knob).name, target.group, reader_.last_errno());
    if (outcome != Outcome::good) continue;
    ticks_without_ = 0;
    const auto parsed = host::parse_pressure(text);
    if (!parsed) {
      faults_.garbled(host::row(knob).name, target.group, parsed.error());
      continue;
    }
    stall = shown(*parsed);
    target.gauges.set(family(target), target.labels, resource, *parsed);
  }
}

namespace {
constexpr metrics::Table kShown = {&kPodPressure, &kContainerPressure};
}  // namespace

extern const CollectorEntry kPressure;
const CollectorEntry kPressure{.name = "pressure",
                               .gate = "PSICollector",
                               .interval = "psi-collector-interval",
                               .metrics = kShown,
                               .make = &make_collector<PressureCollector>};

}  // namespace koord::koordlet
