// The collector of cycles per instruction: of each container and of the node, for a window in each interval.
// Windows begin one after another, so many a tick, so that neither the tick nor the process' descriptors
// feel how many containers and CPUs there are.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/shown_id.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/cpi_view.hpp"
#include "koord/host/perf.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kContainerCpi{
    .name = "koordlet_container_cpi",
    .type = metrics::Type::gauge,
    .help = "Cycles and instructions of a container's tasks in its last window (gate CPICollector).",
    .labels = {"container_id", "container_name", "pod_uid", "pod_name", "pod_namespace", "cpi_field"}};
constexpr metrics::Metric kNodeCpi{
    .name = "koordlet_node_cpi",
    .type = metrics::Type::gauge,
    .help = "Cycles and instructions of all tasks of the node in its last window (gate CPICollector).",
    .labels = {"cpi_field"}};
constexpr metrics::Metric kUncounted{
    .name = "koordlet_cpi_windows_lost_total",
    .type = metrics::Type::counter,
    .help =
        "Windows of pods that could not be counted: descriptors, no descriptors were left; error, the kernel "
        "refused; share, the counters were others' for most of the time.",
    .labels = {"reason"}};
constexpr metrics::Table kShown = {&kContainerCpi, &kNodeCpi, &kUncounted};

constexpr std::array<std::string_view, 2> kFields = {"cycles", "instructions"};
/// Begun in one tick at most, if it is more than one pod: each costs some microseconds, on its CPU, too.
constexpr std::size_t kPerTick = 2048;
/// Below this share of the time in which it ran a container was not really counted.
constexpr double kLeastCovered = 0.5;

class CpiCollector final : public Collector {
 public:
  explicit CpiCollector(const CollectorContext& context);
  ~CpiCollector() override;

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void show(TickView& view) const override {
    view.slots.show(events_ != nullptr ? &view_ : nullptr, read_at_);
  }
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"cpi", events_ != nullptr, context_.counters.no_cpi});
  }

 private:
  struct Part {  // a container, or the node
    std::string group;
    std::vector<std::string> labels;
    std::unique_ptr<host::PerfCounter> counter;
    std::array<std::optional<metrics::Gauge>, kFields.size()> shown;
  };
  struct Target {  // a pod; without a uid: the node
    std::string uid;
    std::vector<Part> parts;
    std::optional<MonoTime> due;     // nothing: at once
    std::optional<MonoTime> opened;  // its window is open
    std::size_t descriptors = 0;     // that it holds
  };

  bool has_room(std::size_t descriptors) const;
  void open(Target& target, MonoTime at);
  void close(Target& target);
  void read(Target& target, MonoTime at);
  void put(Part& part, const host::PerfCounts& counts);
  void hide(Part& part);
  void drop(Target& target);
  void find_cpus(const TickView& view);

  const CollectorContext& context_;
  host::PerfEvents* events_;  // null: not available
  metrics::Family<metrics::Gauge> containers_, node_;
  metrics::Family<metrics::Counter> lost_;
  std::vector<std::unique_ptr<Target>> targets_;  // the node first
  std::vector<Target*> due_;                      // of this tick
  std::shared_ptr<const NodeFacts> facts_;
  std::vector<int> cpus_;
  std::size_t held_ = 0;  // descriptors
  bool told_ = false, told_refused_ = false;
  MonoTime read_at_{};
  CpiView view_;
  std::uint64_t reading_ = 0;
};

CpiCollector::CpiCollector(const CollectorContext& context)
    : context_(context),
      events_(context.counters.cpi.get()),
      containers_(context.metrics.gauges(kContainerCpi)),
      node_(context.metrics.gauges(kNodeCpi)),
      lost_(context.metrics.counters(kUncounted)) {
  targets_.push_back(std::make_unique<Target>());
  targets_.back()->parts.emplace_back();
}

CpiCollector::~CpiCollector() {
  for (const auto& target : targets_) drop(*target);
}

void CpiCollector::follow(const Inventory& inventory) {
  if (events_ == nullptr) return;
  std::map<std::string, std::unique_ptr<Target>> known;
  for (std::size_t i = 1; i < targets_.size(); ++i) {
    std::string uid = targets_[i]->uid;
    known.emplace(std::move(uid), std::move(targets_[i]));
  }
  targets_.resize(1);
  for (const auto& pod : inventory.pods) {
    auto fresh = std::make_unique<Target>();
    fresh->uid = pod->uid;
    for (const ContainerInfo& one : pod->containers) {
      Part& part = fresh->parts.emplace_back();
      part.group = one.group;
      part.labels = {shown_id(one), one.name, pod->uid, pod->name, pod->ns};
    }
    const auto old = known.find(pod->uid);
    if (old != known.end()) {
      const bool same = std::ranges::equal(
          old->second->parts, fresh->parts,
          [](const Part& a, const Part& b) { return a.group == b.group && a.labels == b.labels; });
      if (same) {
        targets_.push_back(std::move(old->second));
        known.erase(old);
        continue;
      }
      fresh->due = old->second->due;
    }
    targets_.push_back(std::move(fresh));
  }
  for (auto& [uid, gone] : known)
    if (gone) drop(*gone);
}

void CpiCollector::find_cpus(const TickView& view) {
  if (view.facts == facts_) return;
  facts_ = view.facts;
  cpus_ = facts_ ? facts_->topology.online.cpus() : std::vector<int>();
}

/// A quarter stays for the files of groups that come.
bool CpiCollector::has_room(std::size_t descriptors) const {
  const std::size_t most = context_.reader.max_held() - context_.reader.max_held() / 4;
  return context_.reader.held() + descriptors <= most;
}

void CpiCollector::sample(const TickView& view) {
  if (events_ == nullptr) return;
  find_cpus(view);
  for (const auto& target : targets_)
    if (target->opened && view.at - *target->opened >= context_.config.cpi_window) read(*target, view.at);
  // Who waits for longest is first.
  due_.clear();
  for (const auto& target : targets_)
    if (!target->opened && !target->parts.empty() && (!target->due || *target->due <= view.at))
      due_.push_back(target.get());
  std::ranges::stable_sort(due_, {}, [](const Target* one) { return one->due.value_or(MonoTime()); });
  std::size_t begun = 0;
  for (Target* const target : due_) {
    const std::size_t wanted = target->parts.size() * cpus_.size() * host::PerfEvents::kDescriptorsPerCpu;
    if (wanted == 0) return;  // the CPUs are not known
    if (begun > 0 && begun + wanted > kPerTick) return;
    if (!has_room(wanted)) {
      if (held_ > 0) return;  // until others' windows end
      target->due = view.at + context_.config.cpi_interval;
      lost_.with({"descriptors"}).inc();
      if (!told_)
        context_.log.warn(
            "cycles per instruction need more descriptors than are left; raise the limit "
            "(LimitNOFILE)",
            kv("wanted", wanted), kv("allowed", context_.reader.max_held()));
      told_ = true;
      continue;
    }
    begun += wanted;
    open(*target, view.at);
  }
}

void CpiCollector::open(Target& target, MonoTime at) {
  target.due = at + context_.config.cpi_interval;
  for (Part& part : target.parts) {
    const auto folder = context_.cgroups.folder(host::Knob::perf_event, part.group);
    auto counter =
        folder ? events_->count(*folder, cpus_) : Result<std::unique_ptr<host::PerfCounter>>(folder.error());
    if (counter) {
      part.counter = std::move(*counter);
      target.descriptors += cpus_.size() * host::PerfEvents::kDescriptorsPerCpu;
      continue;
    }
    hide(part);
    if (counter.error().code() == Code::not_found) continue;  // it has gone, or has not come
    const bool room = counter.error().code() != Code::unavailable;
    lost_.with({room ? "error" : "descriptors"}).inc();
    if (!told_refused_) context_.log.warn("cycles per instruction", kv("error", counter.error()));
    told_refused_ = true;
  }
  held_ += target.descriptors;
  context_.reader.hold(target.descriptors);
  target.opened = at;
}

void CpiCollector::close(Target& target) {
  for (Part& part : target.parts) part.counter.reset();
  target.opened.reset();
  held_ -= target.descriptors;
  context_.reader.give_back(target.descriptors);
  target.descriptors = 0;
}

void CpiCollector::read(Target& target, MonoTime at) {
  PodCpi sum;
  bool whole = true;
  for (Part& part : target.parts) {
    const auto counts =
        part.counter ? part.counter->read() : Result<host::PerfCounts>(Error(Code::not_found, ""));
    if (counts && counts->covered >= kLeastCovered) {
      put(part, *counts);
      sum.cycles += counts->first;
      sum.instructions += counts->second;
      continue;
    }
    whole = false;
    hide(part);
    if (part.counter) lost_.with({counts ? "share" : "error"}).inc();
  }
  close(target);
  if (target.uid.empty()) return;
  if (whole && sum.instructions > 0) {
    sum.reading = ++reading_;
    read_at_ = at;
    view_.pods[target.uid] = sum;
  } else {
    view_.pods.erase(target.uid);
  }
}

void CpiCollector::put(Part& part, const host::PerfCounts& counts) {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!part.shown[i]) {
      std::vector<std::string_view> labels(part.labels.begin(), part.labels.end());
      labels.push_back(kFields[i]);
      part.shown[i] = (part.labels.empty() ? node_ : containers_).with(labels);
    }
    part.shown[i]->set(i == 0 ? counts.first : counts.second);
  }
}

void CpiCollector::hide(Part& part) {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (!part.shown[i]) continue;
    part.shown[i].reset();
    const std::vector<std::string>& l = part.labels;
    if (l.empty())
      node_.remove({kFields[i]});
    else
      containers_.remove({l[0], l[1], l[2], l[3], l[4], kFields[i]});
  }
}

void CpiCollector::drop(Target& target) {
  if (target.opened) close(target);
  for (Part& part : target.parts) hide(part);
  view_.pods.erase(target.uid);
}

}  // namespace

extern const CollectorEntry kCpi;
const CollectorEntry kCpi{.name = "cpi",
                          .gate = "CPICollector",
                          .interval = "cpi-collector-interval",
                          .metrics = kShown,
                          .make = &make_collector<CpiCollector>};

}  // namespace koord::koordlet
