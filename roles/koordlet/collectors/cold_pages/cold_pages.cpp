// The collector of cold pages: what of the memory of the node, of pods, containers and host applications
// nobody has used for long, as a kernel with kidled finds it; and the memory without it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kNodeCold{
    .name = "koordlet_node_memory_cold_page_size",
    .type = metrics::Type::gauge,
    .help = "Bytes of the node's file pages that nobody has used for long (gate ColdPageCollector).",
    .labels = {"pages"}};
constexpr metrics::Metric kPodCold{
    .name = "koordlet_pod_memory_cold_page_size",
    .type = metrics::Type::gauge,
    .help = "Bytes of a pod's file pages that nobody has used for long (gate ColdPageCollector).",
    .labels = {"pod_uid", "pod_name", "pod_namespace"}};
constexpr metrics::Metric kContainerCold{
    .name = "koordlet_container_memory_cold_page_size",
    .type = metrics::Type::gauge,
    .help = "Bytes of a container's file pages that nobody has used for long (gate ColdPageCollector).",
    .labels = {"container_id", "container_name", "pod_uid", "pod_name", "pod_namespace"}};
constexpr metrics::Metric kApplicationCold{
    .name = "koordlet_host_application_memory_cold_page_size",
    .type = metrics::Type::gauge,
    .help =
        "Bytes of a host application's file pages that nobody has used for long (gate ColdPageCollector).",
    .labels = {"host_application_name"}};
constexpr metrics::Table kShown = {&kNodeCold, &kPodCold, &kContainerCold, &kApplicationCold};

constexpr std::string_view kNoKidled =
    "the kernel has no kidled (kernel/mm/kidled/scan_period_in_seconds and use_hierarchy below /sys)";

class ColdPagesCollector final : public Collector {
 public:
  explicit ColdPagesCollector(const CollectorContext& context);
  ~ColdPagesCollector() override;

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"cold_pages", available_, available_ ? std::string() : std::string(kNoKidled)});
  }

 private:
  /// Whose memory is in the tick's view at `place`.
  enum class Kind : std::uint8_t { node, pod, container, application };
  struct Target {
    Kind kind = Kind::node;
    std::string group;
    std::vector<std::string> labels;
    std::size_t place = 0;
    SeriesId hot;                             // none for containers
    std::optional<metrics::Gauge> cold = {};  // nothing: not shown
  };
  static const Usage& usage_of(const TickView& view, const Target& target);
  const metrics::Family<metrics::Gauge>& family(Kind kind) const {
    return families_[static_cast<std::size_t>(kind)];
  }
  void add(Target wanted, Metric metric, std::map<std::string, Target>& known);
  void read(Target& target, const TickView& view);
  void hide(Target& target) const;
  void drop(Target& target);

  const CollectorContext& context_;
  std::uint32_t every_;
  bool available_;
  std::vector<metrics::Family<metrics::Gauge>> families_;  // by kind
  std::vector<Target> targets_;                            // in the inventory's order, the node first
};

ColdPagesCollector::ColdPagesCollector(const CollectorContext& context)
    : context_(context), every_(ticks_of(context.config.cold_page_interval, context.config.interval)) {
  const std::string folder = fmt::format("{}kernel/mm/kidled/", context.root.sys);
  available_ = read_file(fmt::format("{}scan_period_in_seconds", folder)).has_value() &&
               read_file(fmt::format("{}use_hierarchy", folder)).has_value();
  for (const metrics::Metric* metric : {&kNodeCold, &kPodCold, &kContainerCold, &kApplicationCold})
    families_.push_back(context.metrics.gauges(*metric));
  if (available_)
    targets_.push_back({.labels = {"file"}, .hot = context.open(Metric::node_memory_with_hot_pages, "")});
}

ColdPagesCollector::~ColdPagesCollector() {
  for (Target& target : targets_) drop(target);
}

void ColdPagesCollector::follow(const Inventory& inventory) {
  if (!available_) return;
  std::map<std::string, Target> known;
  for (std::size_t i = 1; i < targets_.size(); ++i)
    known.emplace(fmt::format("{}/{}", static_cast<int>(targets_[i].kind), targets_[i].labels[0]),
                  std::move(targets_[i]));
  targets_.resize(1);
  std::size_t place = 0, container_place = 0;
  for (const auto& pod : inventory.pods) {
    add({.kind = Kind::pod, .group = pod->group, .labels = {pod->uid, pod->name, pod->ns}, .place = place++},
        Metric::pod_memory_with_hot_pages, known);
    for (const ContainerInfo& one : pod->containers)
      add({.kind = Kind::container,
           .group = one.group,
           .labels = {one.id, one.name, pod->uid, pod->name, pod->ns},
           .place = container_place++},
          {}, known);
  }
  place = 0;
  for (const HostApplication& one : inventory.host_applications)
    add({.kind = Kind::application, .group = one.group, .labels = {one.name}, .place = place++},
        Metric::host_application_memory_with_hot_pages, known);
  for (auto& [key, gone] : known) drop(gone);
}

void ColdPagesCollector::add(Target wanted, Metric metric, std::map<std::string, Target>& known) {
  const auto old = known.find(fmt::format("{}/{}", static_cast<int>(wanted.kind), wanted.labels[0]));
  if (old != known.end() && old->second.labels == wanted.labels && old->second.group == wanted.group) {
    old->second.place = wanted.place;
    targets_.push_back(std::move(old->second));
    known.erase(old);
    return;
  }
  if (old != known.end()) {  // before the new one opens the series of the same name
    drop(old->second);
    known.erase(old);
  }
  if (wanted.kind != Kind::container) wanted.hot = context_.open(metric, wanted.labels[0]);
  targets_.push_back(std::move(wanted));
}

void ColdPagesCollector::hide(Target& target) const {
  if (!target.cold) return;
  target.cold.reset();
  std::vector<std::string_view> labels(target.labels.begin(), target.labels.end());
  switch (target.kind) {
    case Kind::pod: family(target.kind).remove({labels[0], labels[1], labels[2]}); break;
    case Kind::container:
      family(target.kind).remove({labels[0], labels[1], labels[2], labels[3], labels[4]});
      break;
    case Kind::node:
    case Kind::application: family(target.kind).remove({labels[0]}); break;
  }
}

void ColdPagesCollector::drop(Target& target) {
  hide(target);
  context_.series.close(target.hot);
}

void ColdPagesCollector::sample(const TickView& view) {
  for (std::size_t i = (every_ - view.tick % every_) % every_; i < targets_.size(); i += every_)
    read(targets_[i], view);
}

const Usage& ColdPagesCollector::usage_of(const TickView& view, const Target& target) {
  switch (target.kind) {
    case Kind::node: break;
    case Kind::pod: return view.pods[target.place];
    case Kind::container: return view.containers[target.place];
    case Kind::application: return view.host_applications[target.place];
  }
  return view.node;
}

void ColdPagesCollector::read(Target& target, const TickView& view) {
  std::string_view text;
  if (!context_.read_once(host::Knob::memory_idle_pages, target.group, text)) return hide(target);
  const auto cold = host::parse_cold_pages(text);
  if (!cold) {
    context_.garbled(host::Knob::memory_idle_pages, target.group, cold.error());
    return hide(target);
  }
  const auto bytes = static_cast<double>(*cold);
  if (!target.cold) {
    const std::vector<std::string_view> labels(target.labels.begin(), target.labels.end());
    target.cold = family(target.kind).with(labels);
  }
  target.cold->set(bytes);
  // The scan is older than the use: what is cold may have gone since.
  const double used = usage_of(view, target).memory_with_page_cache;
  if (target.hot && known(used)) context_.series.append(target.hot, view.at, std::max(0.0, used - bytes));
}

}  // namespace

extern const CollectorEntry kColdPages;
const CollectorEntry kColdPages{.name = "cold_pages",
                                .gate = "ColdPageCollector",
                                .interval = "coldpage-collector-interval",
                                .metrics = kShown,
                                .make = &make_collector<ColdPagesCollector>};

}  // namespace koord::koordlet
