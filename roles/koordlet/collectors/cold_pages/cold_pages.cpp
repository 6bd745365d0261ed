// The collector of cold pages: what of the memory of the node, of pods, containers and host applications
// nobody has used for long, as a kernel with kidled finds it, or a sample by idle page tracking where that is
// wanted; and the memory without it.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectors/cold_pages/idle_pages.hpp"
#include "framework/model/shown_id.hpp"
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
    all.push_back({"cold_pages", available_, available_ ? std::string() : reason_});
  }

 private:
  /// Whose memory is in the tick's view at `place`.
  enum class Kind : std::uint8_t { node, pod, container, application };
  struct Target {
    Kind kind = Kind::node;
    std::string group;
    std::vector<std::string> inside;  // cgroups whose pages are its own, too, if they are told by cgroup
    std::vector<std::string> labels;
    std::size_t place = 0;
    SeriesId hot;                             // none for containers
    std::optional<metrics::Gauge> cold = {};  // nothing: not shown
  };
  static const Usage& usage_of(const TickView& view, const Target& target);
  const metrics::Family<metrics::Gauge>& family(Kind kind) const {
    return families_[static_cast<std::size_t>(kind)];
  }
  void try_idle_pages();
  void add(Target wanted, Metric metric, std::map<std::string, Target>& known);
  void read(Target& target, const TickView& view);
  std::optional<double> idle_of(const Target& target) const;
  std::optional<double> kidled_of(const Target& target);
  void hide(Target& target) const;
  void drop(Target& target);

  const CollectorContext& context_;
  std::uint32_t every_;
  bool available_;
  std::string reason_;                                     // why not
  std::optional<IdlePages> idle_;                          // where there is no kidled
  std::vector<metrics::Family<metrics::Gauge>> families_;  // by kind
  std::vector<Target> targets_;                            // in the inventory's order, the node first
};

ColdPagesCollector::ColdPagesCollector(const CollectorContext& context)
    : context_(context), every_(ticks_of(context.config.cold_page_interval, context.config.interval)) {
  const std::string folder = fmt::format("{}kernel/mm/kidled/", context.root.sys);
  available_ = read_file(fmt::format("{}scan_period_in_seconds", folder)).has_value() &&
               read_file(fmt::format("{}use_hierarchy", folder)).has_value();
  if (!available_) try_idle_pages();
  for (const metrics::Metric* metric : {&kNodeCold, &kPodCold, &kContainerCold, &kApplicationCold})
    families_.push_back(context.metrics.gauges(*metric));
  if (available_)
    targets_.push_back({.labels = {"file"}, .hot = context.open(Metric::node_memory_with_hot_pages, "")});
}

void ColdPagesCollector::try_idle_pages() {
  reason_ = kNoKidled;
  if (!context_.config.idle_pages) return;
  auto idle = IdlePages::open(context_.root, context_.config.page_size, std::random_device()());
  if (!idle) {
    reason_ = fmt::format("{}, and idle pages are not tracked: {}", kNoKidled, idle.error().message());
    return;
  }
  idle_ = std::move(*idle);
  available_ = true;
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
    std::vector<std::string> inside = {pod->sandbox_group};
    for (const ContainerInfo& one : pod->containers) inside.push_back(one.group);
    add({.kind = Kind::pod,
         .group = pod->group,
         .inside = std::move(inside),
         .labels = {pod->uid, pod->name, pod->ns},
         .place = place++},
        Metric::pod_memory_with_hot_pages, known);
    for (const ContainerInfo& one : pod->containers)
      add({.kind = Kind::container,
           .group = one.group,
           .labels = {shown_id(one), one.name, pod->uid, pod->name, pod->ns},
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
    old->second.inside = std::move(wanted.inside);
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
  if (idle_)
    if (const auto ticked = idle_->tick(view.at); !ticked) {
      reason_ = fmt::format("idle pages are not tracked: {}", ticked.error().message());
      available_ = false;
      idle_.reset();
      for (Target& target : targets_) drop(target);
      targets_.clear();
    }
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

/// Nothing while too few pages were looked at.
std::optional<double> ColdPagesCollector::idle_of(const Target& target) const {
  if (!idle_->known()) return std::nullopt;
  if (target.kind == Kind::node) return idle_->cold();
  double sum = 0;
  const auto add = [&](const std::string& group) {
    struct stat found {};
    const auto folder = context_.cgroups.folder(host::Knob::memory_stat, group);
    if (folder && ::stat(folder->c_str(), &found) == 0) sum += idle_->cold(found.st_ino);
  };
  add(target.group);
  for (const std::string& group : target.inside)
    if (!group.empty()) add(group);
  return sum;
}

std::optional<double> ColdPagesCollector::kidled_of(const Target& target) {
  std::string_view text;
  if (!context_.read_once(host::Knob::memory_idle_pages, target.group, text)) return std::nullopt;
  const auto cold = host::parse_cold_pages(text);
  if (cold) return static_cast<double>(*cold);
  context_.garbled(host::Knob::memory_idle_pages, target.group, cold.error());
  return std::nullopt;
}

void ColdPagesCollector::read(Target& target, const TickView& view) {
  const auto cold = idle_ ? idle_of(target) : kidled_of(target);
  if (!cold) return hide(target);
  const double bytes = *cold;
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
