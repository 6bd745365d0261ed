// The colocationprofile controller: see pod_profiles.hpp.
#include "controllers/pod_profiles.hpp"

#include <fmt/format.h>

#include "admission/pod/pod_resources.hpp"
#include "controllers/missed_profiles.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

constexpr metrics::Metric kMissed{
    .name = "koord_manager_colocationprofile_missed_pods_total",
    .type = metrics::Type::counter,
    .help = "Pods that do not have what a ClusterColocationProfile gives: they slipped past the webhook.",
    .labels = {"profile"},
    .max_series = 1'000};
constexpr metrics::Metric kSlipped{
    .name = "koord_manager_colocationprofile_slipped_pods_total",
    .type = metrics::Type::counter,
    .help =
        "Pods that break a rule of /validate-pod, by its plugin, or of a lent class that ask for cpu and "
        "memory (UntranslatedResources): they slipped past the webhooks.",
    .labels = {"rule"}};
constexpr metrics::Metric kUpdates{.name = "koord_manager_colocationprofile_pod_updates_total",
                                   .type = metrics::Type::counter,
                                   .help = "Pods that wait for a node, and what became of their profile.",
                                   .labels = {"status"}};

constexpr std::string_view kRound = "round";
/// Namespaces that the webhook is not asked about.
constexpr std::string_view kControlPlane = "control-plane", kKubeSystem = "kube-system";
/// After so many pods others have their turn: a rule takes tens of microseconds.
constexpr int kPodsAtOnce = 200;
constexpr std::chrono::milliseconds kTurn{1};
constexpr double kEventsPerSecond = 1;
constexpr int kEventBurst = 100;

/// A suffix that is there already is not appended again: the pod is looked at time and again.
void keep_suffixes(const Profile& profile, const json::Value& before, json::Document& after) {
  const json::Value* const was = json::find(before, "metadata", "labels");
  json::Value* const now = json::find(after, "metadata", "labels");
  if (was == nullptr || now == nullptr) return;
  for (const auto& [key, suffix] : profile.source().spec.label_suffixes)
    if (const std::string_view value = json::text_at(*was, key.view()); value.ends_with(suffix.view()))
      json::set_text(*now, key.view(), value, after.arena());
}

}  // namespace

const metrics::Table PodProfiles::kMetrics = {&kMissed, &kSlipped, &kUpdates};

PodProfiles::PodProfiles(Parts parts)
    : parts_(std::move(parts)),
      missed_(parts_.registry.counters(kMissed)),
      slipped_(parts_.registry.counters(kSlipped)),
      updates_(parts_.registry.counters(kUpdates)),
      writes_(parts_.settings.qps, parts_.settings.burst),
      events_(kEventsPerSecond, kEventBurst),
      queue_(parts_.clock) {}

void PodProfiles::start(TaskGroup& tasks) {
  if (parts_.settings.tells || parts_.rules) tasks.spawn("pods that slipped past", look_at_all());
  if (!parts_.settings.patches) return;
  queue_.add(std::string(kRound));
  tasks.spawn("colocationprofile", work());
}

void PodProfiles::read_profiles() {
  profiles_.set(parts_.profiles.list(),
                [this](const Profile& profile) { failures_.tell(parts_.log, profile, profile.defect()); });
  const api::Time now(parts_.clock.now());
  for (const auto& profile : profiles_.profiles()) {
    const api::ObjectMeta& meta = profile->source().metadata;
    const auto known = since_.find(profile->name());
    if (known != since_.end() && known->second.first == meta.generation) continue;
    since_[profile->name()] = {meta.generation, meta.generation <= 1 ? meta.creation_timestamp : now};
  }
}

void PodProfiles::profiles_changed() {
  read_profiles();
  if (parts_.settings.patches) queue_.add(std::string(kRound));
}

Task<Result<>> PodProfiles::look_at_all() {
  KOORD_CO_CHECK(co_await parts_.profiles.wait_synced());
  KOORD_CO_CHECK(co_await parts_.namespaces.wait_synced());
  read_profiles();
  all_known_ = true;
  int looked = 0;
  for (const auto& pod : parts_.pods.list()) {
    look_at(*pod, nullptr);
    if (++looked % kPodsAtOnce == 0) KOORD_CO_CHECK(co_await sleep(parts_.clock, kTurn));
  }
  co_return Result<>();
}

bool PodProfiles::is_told(const api::Pod& pod, Finding finding) const {
  const auto told = told_.find(pod.metadata.uid);
  return told != told_.end() && (told->second & finding) != 0;
}

void PodProfiles::tell(const api::Pod& pod, Finding finding, const metrics::Counter& counter,
                       std::string_view reason, std::string_view note) {
  told_[pod.metadata.uid] |= finding;
  counter.inc();
  if (events_.allow(parts_.clock.mono())) parts_.warn_once(pod, reason, note);
}

void PodProfiles::look_at(const api::Pod& pod, const api::Pod* before) {
  if (!all_known_ || !parts_.may_write() || pod.metadata.deletion_timestamp) return;
  const std::string_view name = pod.metadata.namespace_.view();
  if (name == kKubeSystem || name == parts_.own_namespace) return;
  const auto ns = parts_.namespaces.get("", name);
  if (!ns || ns->metadata.labels.contains(kControlPlane)) return;
  look_for_profiles(pod, *ns);
  if (before == nullptr || before->metadata.labels != pod.metadata.labels ||
      before->metadata.annotations != pod.metadata.annotations || before->spec != pod.spec)
    look_for_rules(pod, *ns);
}

void PodProfiles::look_for_profiles(const api::Pod& pod, const api::Namespace& ns) {
  if (!parts_.settings.tells || profiles_.profiles().empty() || is_told(pod, missed)) return;
  const auto found = missed_profile(pod, profiles_.profiles(), ns.metadata.labels,
                                    [this](const Profile& profile) { return since_[profile.name()].second; });
  if (!found) return;
  tell(pod, missed, missed_.with({found->profile->name()}), "ColocationProfileMissed",
       fmt::format("the pod has no {}, which ClusterColocationProfile {} gives: the webhook was not "
                   "asked, or somebody changed it since",
                   found->what, found->profile->name()));
}

void PodProfiles::look_for_rules(const api::Pod& pod, const api::Namespace& ns) {
  const bool rules = parts_.rules && !is_told(pod, broken);
  const bool resources = parts_.settings.tells && parts_.settings.translates && !is_told(pod, untranslated);
  if (!rules && !resources) return;
  json::Arena arena;
  const json::Value document = api::encode(pod, arena);
  if (rules)
    if (const auto rule = parts_.rules(document))
      tell(pod, broken, slipped_.with({rule->plugin}), "PodRuleBroken",
           fmt::format("/validate-pod ({}) refuses such a pod: {}: the webhook was not asked, or somebody "
                       "changed it since",
                       rule->plugin, rule->message));
  if (resources) look_for_resources(pod, document, ns);
}

void PodProfiles::look_for_resources(const api::Pod& pod, const json::Value& document,
                                     const api::Namespace& ns) {
  if (!is_untranslated(document)) return;
  std::string why = "no ClusterColocationProfile that was there when it came is for it";
  for (const auto& profile : profiles_.profiles()) {
    if (!profile->defect().empty() || !profile->matches_labels(pod.metadata.labels) ||
        !profile->matches_namespace(ns.metadata.labels))
      continue;
    if (profile->keeps_resources()) return;
    if (since_[profile->name()].second <= pod.metadata.creation_timestamp)
      why = fmt::format("ClusterColocationProfile {} is for it, but the webhook was not asked",
                        profile->name());
  }
  tell(pod, untranslated, slipped_.with({"UntranslatedResources"}), "ResourcesNotTranslated",
       fmt::format("the pod is of class {} and asks for cpu and memory, which are not translated into what "
                   "is lent to its class: {}",
                   api::to_string(priority_with_default(document)), why));
}

Task<Result<>> PodProfiles::work() {
  KOORD_CO_CHECK(co_await parts_.profiles.wait_synced());
  KOORD_CO_CHECK(co_await parts_.namespaces.wait_synced());
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const Result<> done = co_await round();
    queue_.done(**next);
    if (!done && done.error().code() == Code::cancelled) co_return done;
    queue_.add_after(std::string(kRound), parts_.settings.interval);
  }
}

bool PodProfiles::is_for(const Profile& profile, const api::Pod& pod) const {
  if (pod.status.phase.view() != "Pending" || pod.metadata.deletion_timestamp ||
      !profile.matches_labels(pod.metadata.labels))
    return false;
  if (!profile.selects_namespaces()) return true;
  const auto ns = parts_.namespaces.get("", pod.metadata.namespace_.view());
  return ns && profile.matches_namespace(ns->metadata.labels);
}

Task<Result<>> PodProfiles::round() {
  read_profiles();
  const MonoTime now = parts_.clock.mono();
  std::erase_if(done_, [&](const auto& entry) { return now - entry.second >= parts_.settings.again_after; });
  // A copy: profiles come and go while pods are written.
  const std::vector<std::shared_ptr<const Profile>> profiles(profiles_.profiles().begin(),
                                                             profiles_.profiles().end());
  for (const auto& profile : profiles) {
    const api::ClusterColocationProfile& source = profile->source();
    const bool managed = api::value_or(source.metadata.labels, api::kControllerManagedLabel) == "true";
    // Unlike to the webhook, no selector is nothing to this controller, as upstream has it.
    if ((!managed && !parts_.settings.all) || !source.spec.selector || !profile->defect().empty() ||
        source.metadata.deletion_timestamp)
      continue;
    for (const auto& pod : parts_.pods.list_by("waits", "for a node")) {
      if (!parts_.may_write()) co_return Result<>();
      if (!is_for(*profile, *pod) || profile->spares(parts_.dice)) continue;
      const std::string key = fmt::format("{}/{}", source.metadata.resource_version, pod->metadata.uid);
      if (done_.contains(key)) continue;
      if (!writes_.allow(parts_.clock.mono())) {
        updates_.with({"limited"}).inc();
        continue;  // with the next interval
      }
      const Result<> done = co_await patch(*pod, *profile);
      if (!done && done.error().code() == Code::cancelled) co_return done;
      // Somebody else was faster: the next round sees it as it is then.
      if (!done && done.error().code() == Code::conflict) continue;
      done_[key] = parts_.clock.mono();
      if (done) continue;
      updates_.with({"failed"}).inc();
      parts_.warn(*pod, "ColocationProfileRefused",
                  fmt::format("the pod cannot get what ClusterColocationProfile {} gives: {}",
                              profile->name(), done.error().message()));
    }
  }
  co_return Result<>();
}

Task<Result<>> PodProfiles::patch(const api::Pod& pod, const Profile& profile) {
  const kube::ObjectKey key{std::string(pod.metadata.namespace_.view()), pod.metadata.name};
  const auto raw = co_await parts_.client.get_raw(api::kind<api::Pod>(), key);
  if (!raw && raw.error().code() == Code::not_found) co_return Result<>();
  if (!raw) co_return raw.error();
  json::Document object;
  KOORD_CO_CHECK(object.read(*raw));
  if (json::text_at(object, "metadata", "uid") != pod.metadata.uid ||
      !json::text_at(object, "spec", "nodeName").empty())
    co_return Result<>();
  const json::Document before = json::clone(object);
  KOORD_CO_CHECK(profile.apply(object, object.arena(), {.scheduling = false},
                               [](std::string_view) { return std::shared_ptr<const api::PriorityClass>(); }));
  keep_suffixes(profile, before, object);
  auto change = json::merge_diff(before, object, object.arena());
  if (!change) {
    updates_.with({"unchanged"}).inc();
    co_return Result<>();
  }
  api::Patch patch = api::make_patch(
      api::PatchType::merge, *change,
      {.uid = pod.metadata.uid, .resource_version = json::text_at(before, "metadata", "resourceVersion")});
  const auto done = co_await parts_.client.patch_raw(api::kind<api::Pod>(), key, std::move(patch.body), {});
  if (!done && done.error().code() == Code::not_found) co_return Result<>();
  if (!done) co_return done.error();
  updates_.with({"changed"}).inc();
  co_return Result<>();
}

}  // namespace koord::manager
