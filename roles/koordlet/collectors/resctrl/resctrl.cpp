// The collector of resctrl: how much of the last-level caches classes of pods occupy, and what bandwidth of
// the memory they use, by the difference of two readings; with the original's metrics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/resctrl/pod_groups.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/resctrl_use.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/pod_resctrl.hpp"
#include "koord/host/file.hpp"
#include "koord/host/resctrl.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kOccupancy{
    .name = "koordlet_resctrl_llc_occupancy",
    .type = metrics::Type::gauge,
    .help = "Bytes of a last-level cache that a class of pods occupies (gate ResctrlCollector).",
    .labels = {"cache_id", "qos"}};
constexpr metrics::Metric kBandwidth{
    .name = "koordlet_resctrl_memory_bandwidth",
    .type = metrics::Type::gauge,
    .help =
        "Bytes a second that a class of pods reads and writes of the memory, behind the cache or all "
        "(gate ResctrlCollector).",
    .labels = {"cache_id", "qos", "mb_type"}};
constexpr metrics::Table kShown = {&kOccupancy, &kBandwidth};

constexpr std::size_t kCounters = 3;
constexpr std::array<std::string_view, kCounters> kFiles = {"llc_occupancy", "mbm_local_bytes",
                                                            "mbm_total_bytes"};
constexpr std::string_view kDomain = "mon_L3_";
constexpr std::size_t kMostCaches = 1024;
/// Of pods' own: hardware tells a few hundred apart.
constexpr std::size_t kMostGroups = 512;
constexpr std::string_view kNone =
    "this machine counts neither what a last-level cache holds nor what its memory moves";

class ResctrlCollector final : public Collector {
 public:
  explicit ResctrlCollector(const CollectorContext& context)
      : top_(host::resctrl_folder(context.root)),
        reader_(context.reader),
        faults_(context.faults),
        on_(context.config.resctrl),
        every_(ticks_of(context.config.resctrl_interval, context.config.interval)),
        max_age_(3 * std::max(context.config.resctrl_interval, context.config.interval)),
        occupancy_(context.metrics.gauges(kOccupancy)),
        bandwidth_(context.metrics.gauges(kBandwidth)) {
    const std::string& top = top_;
    if (const auto info = host::read_resctrl_info(context.root); !info)
      unavailable_ = info.error().message();
    else if (!info->occupancy && !info->local_bytes && !info->total_bytes)
      unavailable_ = kNone;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::string_view name = ResctrlUse::kClasses.at(i);
      groups_.at(i).folders = {fmt::format("{}{}/mon_data", top, name),
                               fmt::format("{}mon_groups/{}/mon_data", top, name)};
    }
  }
  ~ResctrlCollector() override {
    for (Own& own : own_) release(own);
    for (Group& group : groups_)
      for (Domain& domain : group.domains) release(domain);
  }

  /// Pods with groups of their own.
  void follow(const Inventory& inventory) override {
    if (!on_) return;
    std::vector<Own> before = std::exchange(own_, {});
    for (const auto& pod : inventory.pods) {
      if (pod->terms.find<api::PodResctrl>() == nullptr) continue;
      std::string group = pod_group(pod->uid);
      if (group.empty() || own_.size() == kMostGroups) continue;
      const std::size_t of_class = class_of(*pod);
      const auto known = std::ranges::find(before, group, &Own::group);
      Own& own = known != before.end() ? own_.emplace_back(std::move(*known)) : own_.emplace_back();
      own.group = std::move(group);
      own.of_class = of_class;
      if (known != before.end()) before.erase(known);
    }
    for (Own& gone : before) release(gone);
  }

  void sample(const TickView& view) override {
    if (!on_ || view.tick % every_ != 0) return;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      find(i);
      bool gone = false;
      for (std::size_t j = 0; j < groups_.at(i).domains.size(); ++j)
        gone = !read(i, groups_.at(i).domains[j], use_.classes.at(i)[j], view.at) || gone;
      if (gone) forget(i);  // looked for again with the next reading
    }
    read_own(view.at);
    ++use_.reading;
    read_at_ = view.at;
  }
  void show(TickView& view) const override {
    if (on_ && use_.reading > 0) view.slots.show(&use_, read_at_);
  }
  void tell(std::vector<Availability>& all) const override {
    if (!on_) return;
    all.push_back({"resctrl", unavailable_.empty(), unavailable_});
  }

 private:
  struct Domain {
    int id = 0;
    std::array<std::string, kCounters> paths;
    std::array<Fd, kCounters> files;
    std::array<Rate, kCounters> rates;
    std::array<std::optional<metrics::Gauge>, kCounters> gauges;  // nothing: not shown
    std::string label;
  };
  struct Group {
    std::array<std::string, 2> folders;  // where it may have its counters
    std::optional<std::size_t> folder;   // where it has them
    std::vector<Domain> domains;         // ascending by id
  };

  /// A pod's own group, of which only the bandwidth is read.
  struct Own {
    struct Path {
      int id = 0;
      std::string path;
      Fd file;
      Rate rate;
    };
    std::string group;
    std::size_t of_class = 0;
    std::vector<Path> paths;  // empty: it is not there yet
  };

  static std::size_t class_of(const PodInfo& pod) {
    switch (api::with_default(pod.qos, pod.kube_qos)) {
      case Qos::be: return 2;
      case Qos::lse:
      case Qos::lsr: return 0;
      default: return 1;
    }
  }

  void read_own(MonoTime at) {
    for (auto& sums : use_.own) sums.clear();
    use_.own_groups = own_.size();
    use_.own_unread = 0;
    for (Own& own : own_) {
      find(own);
      bool any = false, there = false;
      for (Own::Path& path : own.paths) {
        std::string_view text;
        const Outcome outcome = reader_.read(path.file, path.path, text);
        there = there || outcome != Outcome::absent;
        std::uint64_t number = 0;
        double value = kUnknown;
        if (outcome == Outcome::good && host::to_number(host::trimmed(text), number))
          value = per_second(path.rate, number, at);
        else
          path.rate.forget();
        if (!known(value)) continue;
        any = true;
        use_.own.at(own.of_class)[path.id] += value;
      }
      if (!any) ++use_.own_unread;
      if (!there) release(own);  // looked for again with the next reading
    }
  }

  void find(Own& own) const {
    if (!own.paths.empty()) return;
    const std::string folder = fmt::format("{}{}/mon_data", top_, own.group);
    const auto names = host::list_folders(folder);
    if (!names) return;
    for (const std::string& name : *names)
      if (const auto id = id_of(name); id && own.paths.size() < kMostCaches)
        own.paths.push_back({*id, fmt::format("{}/{}/{}", folder, name, kFiles.back()), {}, {}});
  }

  void release(Own& own) {
    for (Own::Path& path : own.paths) reader_.released(path.file);
    own.paths.clear();
  }

  /// Of a folder of counters.
  static std::optional<int> id_of(std::string_view name) {
    int id = 0;
    if (!name.starts_with(kDomain) || !host::to_number(name.substr(kDomain.size()), id) || id < 0)
      return std::nullopt;
    return id;
  }

  void find(std::size_t i) {
    Group& group = groups_.at(i);
    std::optional<std::size_t> now;
    for (std::size_t k = group.folders.size(); k-- > 0;)
      if (host::exists(group.folders.at(k))) now = k;
    if (now == group.folder) return;
    forget(i);
    if (!now) return;
    const auto names = host::list_folders(group.folders.at(*now));
    if (!names) return;
    group.folder = now;
    for (const std::string& name : *names) {
      const auto id = id_of(name);
      if (!id || group.domains.size() == kMostCaches) continue;
      Domain& domain = group.domains.emplace_back();
      domain.id = *id;
      domain.label = fmt::format("{}", *id);
      for (std::size_t k = 0; k < kCounters; ++k)
        domain.paths.at(k) = fmt::format("{}/{}/{}", group.folders.at(*now), name, kFiles.at(k));
    }
    std::ranges::sort(group.domains, {}, &Domain::id);
    for (const Domain& domain : group.domains) use_.classes.at(i).push_back({.id = domain.id});
  }

  void forget(std::size_t i) {
    Group& group = groups_.at(i);
    for (Domain& domain : group.domains) {
      release(domain);
      for (std::size_t k = 0; k < kCounters; ++k) hide(i, domain, k);
    }
    group.domains.clear();
    group.folder.reset();
    use_.classes.at(i).clear();
  }

  void release(Domain& domain) {
    for (Fd& file : domain.files) reader_.released(file);
  }

  /// False: its group has gone.
  bool read(std::size_t i, Domain& domain, ResctrlUse::Cache& use, MonoTime at) {
    bool any = false;
    const std::array<double*, kCounters> to = {&use.occupancy, &use.local, &use.total};
    for (std::size_t k = 0; k < kCounters; ++k) {
      double& value = *to.at(k);
      value = kUnknown;
      std::string_view text;
      const Outcome outcome = reader_.read(domain.files.at(k), domain.paths.at(k), text);
      any = any || outcome != Outcome::absent;
      std::uint64_t number = 0;
      if (outcome == Outcome::failed) faults_.failed(kFiles.at(k), domain.paths.at(k), reader_.last_errno());
      // "Unavailable": the kernel has not counted yet.
      if (outcome == Outcome::good && host::to_number(host::trimmed(text), number))
        value = k == 0 ? static_cast<double>(number) : per_second(domain.rates.at(k), number, at);
      else
        domain.rates.at(k).forget();
      if (known(value))
        gauge(i, domain, k).set(value);
      else
        hide(i, domain, k);
    }
    return any;
  }

  double per_second(Rate& rate, std::uint64_t number, MonoTime at) const {
    const auto change = rate.next(number, at, max_age_);
    return change ? change.amount / std::chrono::duration<double>(change.over).count() : kUnknown;
  }

  metrics::Gauge& gauge(std::size_t i, Domain& domain, std::size_t k) {
    auto& gauge = domain.gauges.at(k);
    const std::string_view qos = ResctrlUse::kClasses.at(i);
    if (!gauge)
      gauge =
          k == 0 ? occupancy_.with({domain.label, qos}) : bandwidth_.with({domain.label, qos, kFiles.at(k)});
    return *gauge;
  }
  void hide(std::size_t i, Domain& domain, std::size_t k) {
    if (!domain.gauges.at(k)) return;
    domain.gauges.at(k).reset();
    const std::string_view qos = ResctrlUse::kClasses.at(i);
    if (k == 0)
      occupancy_.remove({domain.label, qos});
    else
      bandwidth_.remove({domain.label, qos, kFiles.at(k)});
  }

  std::string top_;  // with a slash
  KernelReader& reader_;
  ReadFaults& faults_;
  bool on_;
  std::uint32_t every_;
  nanoseconds max_age_;
  metrics::Family<metrics::Gauge> occupancy_, bandwidth_;
  std::array<Group, ResctrlUse::kClasses.size()> groups_;
  std::vector<Own> own_;
  ResctrlUse use_;
  MonoTime read_at_;
  std::string unavailable_;  // why nothing can be counted, as of the start
};

}  // namespace

extern const CollectorEntry kResctrlCollector;
const CollectorEntry kResctrlCollector{.name = "resctrl",
                                       .gate = "ResctrlCollector",
                                       .interval = "resctrl-collector-interval",
                                       .metrics = kShown,
                                       .make = &make_collector<ResctrlCollector>};

}  // namespace koord::koordlet
