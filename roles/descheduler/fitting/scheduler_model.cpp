// See scheduler_model.hpp.
#include "fitting/scheduler_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/scheduling/config/configuration.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/config/unserved.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/engine/feed.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::descheduler {

namespace {

/// So many changes are taken in before others have their turn: a few milliseconds.
constexpr std::size_t kPart = 1024;

/// It has claims of which it is not known what they were given.
bool has_unknown_claims(const api::Pod& pod) {
  return std::ranges::any_of(pod.spec.resource_claims, [&](const auto& claim) {
    return claim.resource_claim_name.empty() &&
           std::ranges::find(pod.status.resource_claim_statuses, claim.name, [](const auto& status) {
             return status.name;
           }) == pod.status.resource_claim_statuses.end();
  });
}

/// As it was made, but for its claims: nothing of where it is, and of what it was given there.
PodPtr as_new(const api::Pod& pod, const scheduling::Profile& profile) {
  auto made = std::make_shared<api::Pod>();
  made->metadata = pod.metadata;
  made->metadata.deletion_timestamp.reset();
  for (const std::string_view given : {api::ReservationAllocated::kAnnotation,
                                       api::DeviceAllocations::kAnnotation, api::ResourceStatus::kAnnotation})
    made->metadata.annotations.erase(given);
  made->spec = pod.spec;
  made->spec.node_name = {};
  made->spec.scheduler_name = Symbol(profile.scheduler_name);
  made->spec.scheduling_gates = {};
  made->status.resource_claim_statuses = pod.status.resource_claim_statuses;
  return made;
}

}  // namespace

SchedulerModel::SchedulerModel() = default;
SchedulerModel::~SchedulerModel() = default;

Result<std::unique_ptr<SchedulerModel>> SchedulerModel::make(Clock& clock, const std::string& config) {
  return make(clock, config, FeatureGates(scheduling::gates()));
}

Result<std::unique_ptr<SchedulerModel>> SchedulerModel::make(Clock& clock, const std::string& config,
                                                             const FeatureGates& gates) {
  KOORD_TRY(read, scheduling::configuration_to_ask(config, true, scheduling::plugin_table(), gates));
  std::unique_ptr<SchedulerModel> made(new SchedulerModel());
  scheduling::EngineOptions options;
  options.nominate_expected = false;
  options.foreign_nominations = gates.enabled("CrossSchedulerNomination");
  made->engine_ = std::make_unique<scheduling::Engine>(clock, options);
  auto profiles =
      scheduling::build_profiles(read.config, scheduling::plugin_table(), made->engine_->context(), gates);
  if (!profiles) return std::move(profiles).error().context(config.empty() ? "the shipped profile" : config);
  if (!read.config.extenders.empty())
    made->notes_.emplace_back("the configuration's extenders are not asked");
  for (scheduling::Profile& profile : *profiles) {
    scheduling::refuse_unserved(profile);
    if (!profile.missing.empty())
      made->notes_.push_back(
          fmt::format("plugins of the profile {} that koord does not have yet are left out: {}",
                      profile.scheduler_name, fmt::join(profile.missing, ", ")));
  }
  std::vector<std::string_view> in_vain;
  for (const FeatureGates::State& gate : gates.list())
    if (gate.enabled != gate.gate->enabled && !scheduling::gate_has_effect(*gate.gate))
      in_vain.push_back(gate.gate->name);
  if (!in_vain.empty())
    made->notes_.push_back(fmt::format("feature gates have no effect: {}", fmt::join(in_vain, ", ")));
  made->engine_->set_profiles(std::move(*profiles));
  made->engine_->set_transforms(
      scheduling::Transforms({.priority = gates.enabled("PriorityTransformer"),
                              .preemption_policy = gates.enabled("PreemptionPolicyTransformer"),
                              .replace_resources = gates.enabled("ReplaceResourcesTransformer")}));
  return made;
}

void SchedulerModel::follow(kube::InformerSet& informers, kube::Client& client) {
  followed_ = {informers.informer<api::Node>(client), informers.informer<api::Pod>(client)};
  for (auto& [type, informer] : scheduling::watch(*engine_, informers, client)) followed_.push_back(informer);
  for (kube::AnyInformer& informer : followed_) informer.deliver_to(changes_);
}

bool SchedulerModel::whole() const { return std::ranges::all_of(followed_, &kube::AnyInformer::synced); }

scheduling::Engine& SchedulerModel::engine() {
  out_.reset();
  return *engine_;
}

const scheduling::NodeTable& SchedulerModel::nodes() const { return engine_->nodes(); }

/// False: there was nothing more.
bool SchedulerModel::take(std::size_t most) {
  if (holders_ > 0) return false;
  out_.reset();
  const std::optional<kube::Batch> batch = changes_.try_next(most);
  if (!batch || batch->changes.empty()) return false;
  ++asked_;
  for (const kube::Change& change : batch->changes) scheduling::feed(*engine_, change);
  return changes_.size() > 0;
}

void SchedulerModel::catch_up() { take(SIZE_MAX); }

Task<> SchedulerModel::catch_up_in_parts() {
  const auto executor = co_await asio::this_coro::executor;
  while (take(kPart)) co_await asio::post(executor, asio::use_awaitable);
}

const scheduling::Profile& SchedulerModel::profile_of(const api::Pod& pod) const {
  const std::vector<scheduling::Profile>& all = engine_->profiles();
  const auto named = std::ranges::find(all, scheduling::meant_for(pod), &scheduling::Profile::scheduler_name);
  return named != all.end() ? *named : all.front();
}

scheduling::ClassState* SchedulerModel::ask(const api::Pod& pod) {
  out_.reset();
  return ask(pod, false);
}

scheduling::ClassState* SchedulerModel::ask_without(const PodPtr& pod) {
  out_.reset();
  out_ = std::make_unique<Without>(*this, std::vector<PodPtr>{pod});
  return ask(*pod, true);
}

scheduling::ClassState* SchedulerModel::ask(const api::Pod& pod, bool some) {
  ++asked_;
  if (has_unknown_claims(pod)) return nullptr;
  const scheduling::Profile& profile = profile_of(pod);
  const PodPtr made = as_new(pod, profile);
  if (engine_->refusal(profile, made)) return nullptr;
  using Rows = scheduling::ClassState::Rows;
  scheduling::ClassState& state = engine_->evaluate(profile, made, some ? Rows::some : Rows::all);
  return state.refused() ? nullptr : &state;
}

SchedulerModel::Without::Without(SchedulerModel& model, std::vector<PodPtr> pods) : model_(model) {
  model_.out_.reset();
  ++model_.asked_;
  for (PodPtr& pod : pods) {
    const std::size_t before = model_.engine_->pods();
    model_.engine_->remove_pod(*pod);
    if (model_.engine_->pods() != before) gone_.push_back(std::move(pod));  // else it was not there
  }
}

void SchedulerModel::Without::assume(const PodPtr& pod, const Symbol& node) {
  ++model_.asked_;
  auto there = std::make_shared<api::Pod>(*as_new(*pod, model_.profile_of(*pod)));
  there->spec.node_name = node;
  assumed_.push_back(there);
  model_.engine_->put_pod(std::move(there));
}

SchedulerModel::Without::~Without() {
  ++model_.asked_;
  for (const PodPtr& pod : assumed_) model_.engine_->remove_pod(*pod);
  for (const PodPtr& pod : gone_) model_.engine_->put_pod(pod);
}

}  // namespace koord::descheduler
