// quotaprofile: see quota_profiles.hpp.
#include "controllers/quota_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "admission/quota/amounts.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/parse_float.hpp"

namespace koord::manager {
namespace {

constexpr metrics::Metric kWrites{.name = "koord_manager_quota_profile_writes_total",
                                  .type = metrics::Type::counter,
                                  .help = "Writes of the controller quotaprofile, by what was written.",
                                  .labels = {"status", "object"}};
/// Of one resource; as much as upstream writes.
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 2000;

bool is_ready(const api::Node& node) {
  return std::ranges::any_of(node.status.conditions, [](const api::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

bool is_closed(const api::Node& node) { return node.spec.unschedulable || !is_ready(node); }

}  // namespace

const metrics::Table QuotaProfiles::kMetrics = {&kWrites};

std::string default_tree_id(const api::ObjectMeta& profile) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : fmt::format("{}/{}", profile.namespace_.view(), profile.name)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return std::to_string(hash);
}

api::Quantity scaled(const api::Quantity& amount, std::string_view resource, double ratio) {
  using Format = api::Quantity::Format;
  const auto cut = [&](std::int64_t units) {
    return static_cast<std::int64_t>(std::min(static_cast<double>(units) * ratio, 9.2e18));
  };
  if (resource == "cpu") return api::Quantity::from_milli(cut(amount.milli_value()));
  return api::Quantity::from_int(cut(amount.value()),
                                 resource == "memory" ? Format::binary_si : Format::decimal_si);
}

void apply_ratio(const api::ElasticQuotaProfileSpec& spec, ProfileTotals& totals) {
  if (!spec.resource_ratio) return;
  const std::optional<double> said = parse_float(*spec.resource_ratio);
  const double ratio = said && *said > 0 && *said <= 1 ? *said : 1;
  for (api::ResourceList* list : {&totals.total, &totals.unschedulable}) {
    api::ResourceList part;
    for (const auto& [name, amount] : *list) part[name] = scaled(amount, name, ratio);
    *list = std::move(part);
  }
}

api::ElasticQuota root_quota(const api::ElasticQuotaProfile& profile, const std::string& tree,
                             const ProfileTotals& totals, api::ElasticQuota before) {
  api::ElasticQuota quota = std::move(before);
  quota.metadata.namespace_ = profile.metadata.namespace_;
  quota.metadata.name = profile.spec.quota_name;
  std::vector<std::string> keys = {"cpu", "memory"};
  if (auto said =
          api::read_annotation<api::AnnotatedNames>(profile.metadata.annotations, api::kQuotaResourceKeys);
      said && *said)
    keys = std::move((*said)->names);
  quota.spec.min.clear();
  quota.spec.max.clear();
  for (const std::string& key : keys) {
    const api::Quantity* const amount = totals.total.find(key);
    quota.spec.min[key] = amount != nullptr ? *amount : api::Quantity();
    quota.spec.max[key] = api::Quantity::from_int(kNoLimit);
  }
  api::SymbolMap& labels = quota.metadata.labels;
  labels[api::kQuotaProfileLabel] = Symbol(profile.metadata.name);
  for (const auto& [key, value] : profile.spec.quota_labels) labels[key] = value;
  labels[api::kQuotaTreeIdLabel] = Symbol(tree);
  labels[api::kQuotaIsRootLabel] = "true";
  api::SymbolMap& annotations = quota.metadata.annotations;
  api::set_annotation(annotations, api::AnnotatedResources{totals.total}, api::kQuotaTotal);
  api::set_annotation(annotations, api::AnnotatedResources{totals.unschedulable}, api::kQuotaUnschedulable);
  return quota;
}

bool changes_totals(const api::Node& before, const api::Node& after) {
  return before.metadata.labels != after.metadata.labels || is_closed(before) != is_closed(after) ||
         before.status.allocatable != after.status.allocatable;
}

QuotaProfiles::QuotaProfiles(Parts parts)
    : parts_(std::move(parts)),
      writes_(parts_.registry.counters(kWrites)),
      queue_(parts_.clock, {.backoff_first = kRetry, .backoff_max = std::chrono::minutes(5)}) {}

std::string QuotaProfiles::key_of(const api::ObjectMeta& meta) {
  return fmt::format("{}/{}", meta.namespace_.view(), meta.name);
}

void QuotaProfiles::start(TaskGroup& tasks) {
  parts_.profiles.for_each([this](const kube::Object& profile) {
    look_at(*static_cast<const api::ElasticQuotaProfile*>(profile.get()));
  });
  tasks.spawn("quotaprofile", work());
}

Task<Result<>> QuotaProfiles::work() {
  // A quota that is not known yet must not be taken for one that is to be made.
  KOORD_CO_CHECK(co_await parts_.quotas.wait_listed());
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string& key = **next;
    if (!parts_.may_write()) {
      queue_.done(key);
      continue;
    }
    const Result<nanoseconds> again = co_await reconcile(key);
    if (!again && again.error().code() == Code::cancelled) {
      queue_.done(key);
      co_return again.error();
    }
    if (again) {
      queue_.forget(key);
      if (*again > nanoseconds::zero()) queue_.add_after(key, *again);
    } else {
      if (queue_.failures(key) == 0)
        parts_.log.warn("an ElasticQuotaProfile has no effect: tried again with a backoff",
                        kv("profile", key), kv("error", again.error()));
      queue_.retry(key);
    }
    queue_.done(key);
  }
}

Result<const ProfileTotals*> QuotaProfiles::totals_of(const std::string& key,
                                                      const api::ElasticQuotaProfile& profile) {
  Known& known = known_[key];
  if (known.nodes_version == nodes_version_ && known.profile_version == profile.metadata.resource_version)
    return &known.totals;
  const api::LabelSelector* const nodes = profile.spec.node_selector ? &*profile.spec.node_selector : nullptr;
  auto selector = api::Selector::from(nodes);
  if (!selector) return std::move(selector).error().context("spec.nodeSelector");
  ProfileTotals totals;
  parts_.nodes.for_each([&](const kube::Object& object) {
    const auto& node = *static_cast<const api::Node*>(object.get());
    if (!selector->matches(node.metadata.labels)) return;
    add(totals.total, node.status.allocatable);
    if (is_closed(node)) add(totals.unschedulable, node.status.allocatable);
  });
  apply_ratio(profile.spec, totals);
  known = {nodes_version_, profile.metadata.resource_version, std::move(totals)};
  return &known.totals;
}

Task<Result<nanoseconds>> QuotaProfiles::reconcile(std::string key) {
  const std::size_t slash = key.find('/');
  const auto profile =
      parts_.profiles.get(std::string_view(key).substr(0, slash), std::string_view(key).substr(slash + 1));
  if (!profile || profile->metadata.deletion_timestamp) {
    known_.erase(key);
    co_return nanoseconds::zero();
  }
  std::string tree(api::value_or(profile->metadata.labels, api::kQuotaTreeIdLabel));
  if (tree.empty()) {
    tree = default_tree_id(profile->metadata);
    api::ElasticQuotaProfile labelled = *profile;
    labelled.metadata.labels[api::kQuotaTreeIdLabel] = Symbol(tree);
    const Result<> done = co_await parts_.client.patch<api::ElasticQuotaProfile>(*profile, labelled);
    writes_.with({done ? "succeeded" : "failed", "ElasticQuotaProfile"}).inc();
    KOORD_CO_CHECK(done);
  }
  KOORD_CO_TRY(totals, totals_of(key, *profile));
  std::string reason;
  const ProfileTotals now = *totals;
  const Result<> done = co_await write(*profile, tree, now, reason);
  if (!done && done.error().code() == Code::cancelled) co_return done.error();
  if (!done) {
    parts_.warn(*profile, reason,
                fmt::format("failed to {} quota, err: {}",
                            reason == "CreateQuotaFailed" ? "create" : "update", done.error().message()));
    co_return nanoseconds(kRetry);
  }
  co_return nanoseconds(kPeriod);
}

Task<Result<>> QuotaProfiles::write(const api::ElasticQuotaProfile& profile, const std::string& tree,
                                    const ProfileTotals& totals, std::string& reason) {
  const auto before = parts_.quotas.get(profile.metadata.namespace_.view(), profile.spec.quota_name);
  const api::ElasticQuota after = root_quota(profile, tree, totals, before ? *before : api::ElasticQuota());
  Result<> done;
  if (!before) {
    reason = "CreateQuotaFailed";
    auto made = co_await parts_.client.create<api::ElasticQuota>(after);
    // Somebody was faster: it is seen and set right in a moment.
    if (!made) done = made.error();
  } else {
    if (after.spec == before->spec && after.metadata.labels == before->metadata.labels &&
        after.metadata.annotations == before->metadata.annotations)
      co_return done;
    reason = "UpdateQuotaFailed";
    done = co_await parts_.client.patch<api::ElasticQuota>(*before, after);
  }
  writes_.with({done ? "succeeded" : "failed", "ElasticQuota"}).inc();
  co_return done;
}

}  // namespace koord::manager
