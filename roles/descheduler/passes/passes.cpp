// See passes.hpp.
#include "passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "passes/outlook.hpp"

namespace koord::descheduler {

namespace {

using metrics::Metric;
using metrics::Type;

constexpr Metric kPasses{.name = "koord_descheduler_passes_total",
                         .help =
                             "Number of passes, by the result: 'made', 'failed' (a plugin did), or 'skipped' "
                             "(nothing was looked at).",
                         .labels = {"result"}};
constexpr Metric kChosen{.name = "koord_descheduler_chosen_pods_total",
                         .help =
                             "Number of pods that plugins wanted to go, by the result: 'gone', 'dry-run' "
                             "(would have), 'limited' (a limit of the pass) or 'refused'.",
                         .labels = {"result", "strategy", "profile"}};
constexpr Metric kSeconds{.name = "koord_descheduler_pass_duration_seconds",
                          .type = Type::histogram,
                          .help = "Duration of a pass, evictions included.",
                          .bounds = metrics::exponential_bounds(0.001, 2, 18)};
constexpr Metric kAge{.name = "koord_descheduler_last_pass_age_seconds",
                      .type = Type::gauge,
                      .help = "Time since the last pass that was made began; 0: there was none."};

/// In koord-descheduler's words.
constexpr std::string_view kTooFewNodes =
    "the cluster size is 0 or 1 meaning eviction causes service disruption or degradation";

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

const metrics::Table Passes::kMetrics = {&kPasses, &kChosen, &kSeconds, &kAge};

struct Passes::Running {
  Running(SnapshotObjects objects, WallTime now, MonoTime began, PassLimits::Limits most)
      : snapshot(std::move(objects), now), began(began), limits(most) {}
  Snapshot snapshot;
  MonoTime began;
  PassLimits limits;
  std::unique_ptr<NodeFit> fit;
  std::vector<const NodeView*> nodes;          // ready, and the configuration's
  std::unordered_set<const api::Pod*> chosen;  // who goes already
  std::vector<PodPtr> rehearsed;               // of a dry run: who goes, in order
  ProfilePass* pass = nullptr;
};

/// What plugins of one profile are given.
class Passes::ProfilePass final : public Pass {
 public:
  ProfilePass(Passes& passes, const Profile& profile)
      : passes_(passes), profile_(profile), running_(*passes.running_) {
    for (const NodeView* node : running_.nodes)
      if (!profile.nodes() || profile.nodes()->matches(node->node->metadata.labels)) nodes_.push_back(node);
  }

  void asks(std::string_view plugin) { plugin_ = plugin; }

  const Snapshot& snapshot() const override { return running_.snapshot; }
  std::span<const NodeView* const> nodes() const override { return nodes_; }
  bool may_go(const api::Pod& pod) override { return agreed(pod, &Evictor::why_not); }
  bool may_go_now(const api::Pod& pod) override { return agreed(pod, &Evictor::why_not_now); }
  Task<bool> evict(PodPtr pod, std::string reason) override;
  NodeFit& node_fit() override { return *running_.fit; }
  bool dry_run() const override { return passes_.parts_.dry_run; }
  MonoTime now() const override { return running_.began; }
  const Logger& log() const override { return passes_.parts_.log; }

 private:
  bool agreed(const api::Pod& pod, std::string (Evictor::*ask)(const api::Pod&));
  void note(const api::Pod& pod, std::string reason, std::string refused, std::string_view result);

  Passes& passes_;
  const Profile& profile_;
  Running& running_;
  std::vector<const NodeView*> nodes_;
  std::string_view plugin_;
};

bool Passes::ProfilePass::agreed(const api::Pod& pod, std::string (Evictor::*ask)(const api::Pod&)) {
  if (running_.chosen.contains(&pod)) return false;
  for (const Profile::Filter& filter : profile_.filters()) {
    const std::string why = (filter.evictor->*ask)(pod);
    if (why.empty()) continue;
    if (log().enabled(4))
      log().v(4, "a pod may not be evicted", kv("namespace", pod.metadata.namespace_.view()),
              kv("pod", pod.metadata.name), kv("filter", filter.name), kv("why", why));
    return false;
  }
  return true;
}

void Passes::ProfilePass::note(const api::Pod& pod, std::string reason, std::string refused,
                               std::string_view result) {
  PassReport& report = passes_.reports_.passes.front();
  passes_.chosen_.with({result, plugin_, profile_.name()}).inc();
  ++(refused.empty() ? report.gone : report.stay);
  passes_.tell_progress(fmt::format("asking {}", plugin_));
  std::vector<ReportedPod>& list = refused.empty() ? report.evicted : report.refused;
  if (list.size() >= PassReport::kListed) return;
  list.push_back({.namespace_ = pod.metadata.namespace_.str(),
                  .name = pod.metadata.name,
                  .uid = pod.metadata.uid,
                  .node = pod.spec.node_name.str(),
                  .profile = profile_.name(),
                  .plugin = std::string(plugin_),
                  .reason = std::move(reason),
                  .refused = std::move(refused),
                  .to = {}});
}

Task<bool> Passes::ProfilePass::evict(PodPtr pod, std::string reason) {
  const std::string_view ns = pod->metadata.namespace_.view(), node = pod->spec.node_name.view();
  const Logger told = log().with({kv("profile", profile_.name()), kv("strategy", plugin_),
                                  kv("namespace", ns), kv("pod", pod->metadata.name), kv("node", node)});
  if (!passes_.parts_.may_write()) {
    note(*pod, std::move(reason), "this process does not lead any more", "refused");
    co_return false;
  }
  if (running_.chosen.contains(pod.get())) {
    note(*pod, std::move(reason), "it goes already, in this pass", "refused");
    co_return false;
  }
  if (const std::string_view limit = running_.limits.exceeded(node, ns); !limit.empty()) {
    told.v(1, "a pod stays", kv("why", limit));
    note(*pod, std::move(reason), std::string(limit), "limited");
    co_return false;
  }
  const EvictOptions options{.plugin = std::string(plugin_), .reason = reason, .profile = profile_.name()};
  Evictor& evictor = profile_.evictor();
  Task<Result<>> ask = dry_run() ? evictor.rehearse(pod, options) : evictor.evict(pod, options);
  if (const Result<> asked = co_await std::move(ask); !asked) {
    if (dry_run())
      told.info("a pod would stay", kv("why", asked.error()));
    else
      told.warn("a pod stays", kv("why", asked.error()));
    note(*pod, std::move(reason), asked.error().message(), "refused");
    co_return false;
  }
  if (dry_run())
    told.info("evicted pod in dry run mode", kv("reason", reason));
  else
    told.v(1, "a pod was made to go", kv("reason", reason));
  running_.chosen.insert(pod.get());
  running_.limits.count(node, ns);
  if (dry_run()) running_.rehearsed.push_back(pod);
  note(*pod, std::move(reason), {}, dry_run() ? "dry-run" : "gone");
  co_return true;
}

Passes::Passes(Parts parts)
    : parts_(std::move(parts)),
      passes_(parts_.metrics.counters(kPasses)),
      chosen_(parts_.metrics.counters(kChosen)),
      seconds_(parts_.metrics.histogram(kSeconds)) {
  parts_.metrics.on_scrape([this, gauge = parts_.metrics.gauge(kAge)] {
    const std::optional<nanoseconds> since = age();
    gauge.set(since ? seconds(*since) : 0);
  });
}

Passes::~Passes() = default;

const Snapshot* Passes::snapshot() const { return running_ ? &running_->snapshot : nullptr; }
Pass* Passes::pass() const { return running_ ? running_->pass : nullptr; }

std::optional<nanoseconds> Passes::age() const {
  if (!last_) return std::nullopt;
  return parts_.clock.mono() - *last_;
}

void Passes::tell_progress(std::string_view what) const {
  if (parts_.progress) parts_.progress(what, static_cast<std::size_t>(reports_.passes.front().gone));
}

PassReport& Passes::begin_report() {
  std::vector<PassReport>& kept = reports_.passes;
  if (kept.size() >= PassReports::kKept) kept.pop_back();
  PassReport& report = *kept.insert(kept.begin(), PassReport());
  report.number = ++number_;
  report.began = api::Time(parts_.clock.now());
  report.dry_run = parts_.dry_run;
  return report;
}

void Passes::skip(std::string why) {
  parts_.log.error("error descheduling pods", kv("error", why));
  begin_report().skipped = std::move(why);
  passes_.with({"skipped"}).inc();
}

void Passes::end_report() {
  PassReport& report = reports_.passes.front();
  report.took = api::Duration(parts_.clock.mono() - running_->began);
  seconds_.observe(seconds(report.took.value));
  passes_.with({report.errors.empty() ? "made" : "failed"}).inc();
  const int level = report.gone + report.stay > 0 ? 0 : 2;
  parts_.log.v(level, "a pass is over", kv("pods", report.gone), kv("refused", report.stay),
               kv("took", report.took.value), kv("dry_run", report.dry_run));
}

/// Where those would go who go, and what the cluster would look like.
void Passes::look_ahead(PassReport& report) {
  const std::vector<PodPtr>& pods = running_->rehearsed;
  tell_progress("looking where they would go");
  std::vector<const NodeView*> to(pods.size());
  if (running_->fit) to = running_->fit->destinations(pods, running_->snapshot);
  std::vector<Move> moves;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    moves.push_back({pods[i], to[i]});
    if (i < report.evicted.size() && to[i] != nullptr) report.evicted[i].to = to[i]->node->metadata.name;
  }
  add_outlook(report, running_->snapshot, moves);
}

Task<> Passes::run(SnapshotObjects objects) {
  running_ =
      std::make_unique<Running>(std::move(objects), parts_.clock.now(), parts_.clock.mono(), parts_.limits);
  Running& running = *running_;
  std::int64_t measured = 0;
  for (const NodeView& node : running.snapshot.nodes()) {
    measured += node.metric != nullptr;
    if (node.ready && (!parts_.nodes || parts_.nodes->matches(node.node->metadata.labels)))
      running.nodes.push_back(&node);
  }
  if (running.nodes.size() <= 1) {
    running_.reset();
    skip(std::string(kTooFewNodes));
    co_return;
  }
  running.fit = parts_.node_fit(running.snapshot);
  last_ = running.began;
  PassReport& report = begin_report();
  report.nodes = static_cast<std::int64_t>(running.snapshot.nodes().size());
  report.ready_nodes = static_cast<std::int64_t>(running.nodes.size());
  report.pods = static_cast<std::int64_t>(running.snapshot.pods().size());
  report.node_metrics = measured;
  report.notes = parts_.notes;
  co_await ask_all("deschedule", &Profile::deschedules, &Plugin::deschedule);
  co_await ask_all("balance", &Profile::balances, &Plugin::balance);
  if (parts_.dry_run) look_ahead(report);
  end_report();
  running_.reset();
}

Task<> Passes::ask_all(std::string_view point, const Asked& (Profile::*asked)() const,
                       Task<Result<>> (Plugin::*ask)(Pass&)) {
  for (const std::unique_ptr<Profile>& profile : profiles_) {
    if (((*profile).*asked)().empty()) continue;
    ProfilePass pass(*this, *profile);
    running_->pass = &pass;
    for (const Profile::Asked& each : ((*profile).*asked)()) {
      if (!parts_.may_write()) break;
      pass.asks(each.name);
      tell_progress(fmt::format("asking {}", each.name));
      const Result<> done = co_await (each.plugin->*ask)(pass);
      if (done) continue;
      parts_.log.error("a plugin has failed", kv("profile", profile->name()), kv("plugin", each.name),
                       kv("point", point), kv("error", done.error()));
      reports_.passes.front().errors.push_back(
          {profile->name(), std::string(each.name), std::string(point), done.error().message()});
    }
    running_->pass = nullptr;
  }
}

}  // namespace koord::descheduler
