// ApiWorkloads: see api_workloads.hpp.
#include "migration/api_workloads.hpp"

#include <fmt/format.h>

#include "koord/json/value.hpp"

namespace koord::descheduler::migration {

namespace {

constexpr std::chrono::minutes kResourcesFresh{10};

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

/// Names from an owner reference, which whoever writes pods can make up.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text != "." && text != ".." &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
             std::string_view::npos;
}

bool is_api_version(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return is_plain(text);
  return is_plain(text.substr(0, slash)) && is_plain(text.substr(slash + 1));
}

std::string base_of(std::string_view api_version) {
  return fmt::format("{}/{}", group_of(api_version).empty() ? "/api" : "/apis", api_version);
}

template <class T>
Workload found(const std::shared_ptr<const T>& object, const api::OwnerReference& controller) {
  if (!object || object->metadata.uid != controller.uid.view()) return {.known = true};
  return {.known = true, .replicas = object->spec.replicas.value_or(1), .owners = {object->metadata.uid}};
}

}  // namespace

ApiWorkloads::Parts ApiWorkloads::parts(Clock& clock, const Logger& log, kube::Client& client,
                                        kube::InformerSet& informers) {
  return {
      .clock = clock,
      .log = log,
      .client = client,
      .replica_sets = informers.informer<api::ReplicaSet>(
          client, {}, {kube::index_by_owner(kube::kObjectType<api::ReplicaSet>)}),
      .deployments = informers.informer<api::Deployment>(client),
      .stateful_sets = informers.informer<api::StatefulSet>(client),
      .replication_controllers = informers.informer<api::ReplicationController>(client),
      .pods = informers.informer<api::Pod>(client, {}, {kube::index_by_owner(kube::kObjectType<api::Pod>)})};
}

void ApiWorkloads::start(TaskGroup& tasks, std::function<void()> on_known) {
  tasks_ = &tasks;
  on_known_ = std::move(on_known);
}

bool ApiWorkloads::synced() const {
  return parts_.replica_sets.synced() && parts_.deployments.synced() && parts_.stateful_sets.synced() &&
         parts_.replication_controllers.synced() && parts_.pods.synced();
}

Task<Result<>> ApiWorkloads::wait_synced() {
  KOORD_CO_CHECK(co_await parts_.replica_sets.wait_synced());
  KOORD_CO_CHECK(co_await parts_.deployments.wait_synced());
  KOORD_CO_CHECK(co_await parts_.stateful_sets.wait_synced());
  KOORD_CO_CHECK(co_await parts_.replication_controllers.wait_synced());
  co_return co_await parts_.pods.wait_synced();
}

std::vector<std::shared_ptr<const api::Pod>> ApiWorkloads::pods_of(std::string_view owner) {
  return parts_.pods.list_by("owner", owner);
}

Workload ApiWorkloads::find(const api::OwnerReference& controller, std::string_view ns) {
  if (!synced()) return {};
  const std::string_view group = group_of(controller.api_version.view()), name = controller.name.view();
  const std::string_view kind = controller.kind.view();
  if (group.empty() && kind == "ReplicationController")
    return found(parts_.replication_controllers.get(ns, name), controller);
  if (group == "apps" && kind == "StatefulSet") return found(parts_.stateful_sets.get(ns, name), controller);
  if (group == "apps" && kind == "Deployment") return found(parts_.deployments.get(ns, name), controller);
  if (group == "apps" && kind == "ReplicaSet") {
    const auto set = parts_.replica_sets.get(ns, name);
    Workload own = found(set, controller);
    if (own.owners.empty()) return own;
    const api::OwnerReference* deployment = api::controller_of(set->metadata);
    if (!deployment || deployment->kind != "Deployment") return own;
    Workload whole = found(parts_.deployments.get(ns, deployment->name.view()), *deployment);
    if (whole.owners.empty()) return whole;
    whole.owners.clear();
    for (const auto& each : parts_.replica_sets.list_by("owner", deployment->uid.view()))
      whole.owners.push_back(each->metadata.uid);
    return whole;
  }
  // It has a subresource of the name nowhere, and there may be thousands.
  if (group == "batch" && kind == "Job") return {.known = true};
  return from_api(controller, ns);
}

std::string ApiWorkloads::key_of(const api::OwnerReference& controller, std::string_view ns) {
  return fmt::format("{}/{}/{}/{}/{}", controller.api_version.view(), controller.kind.view(), ns,
                     controller.name.view(), controller.uid.view());
}

bool ApiWorkloads::is_fresh(const Answer& answer) const {
  return parts_.clock.mono() - answer.at < (answer.known ? nanoseconds(kFresh) : nanoseconds(kRetry));
}

Workload ApiWorkloads::from_api(const api::OwnerReference& controller, std::string_view ns) {
  const std::string key = key_of(controller, ns);
  auto it = answers_.find(key);
  if (it == answers_.end()) {
    if (answers_.size() >= kMost)
      std::erase_if(answers_,
                    [&](const auto& each) { return !each.second.asking && !is_fresh(each.second); });
    if (answers_.size() >= kMost) return {};
    it = answers_.try_emplace(key).first;
    it->second.at = parts_.clock.mono() - kKept;
  }
  Answer& answer = it->second;
  if (!answer.asking && !is_fresh(answer) && tasks_ != nullptr) {
    answer.asking = true;
    tasks_->spawn("scale", ask(controller, std::string(ns)));
  }
  if (!answer.known || parts_.clock.mono() - answer.at >= kKept) return {};
  return {.known = true, .replicas = answer.replicas, .owners = {controller.uid.str()}};
}

Task<> ApiWorkloads::refresh(api::OwnerReference controller, std::string ns) {
  (void)find(controller, ns);
  const auto it = answers_.find(key_of(controller, ns));
  if (it == answers_.end() || is_fresh(it->second)) co_return;
  co_await ask(std::move(controller), std::move(ns));
}

Task<> ApiWorkloads::ask(api::OwnerReference controller, std::string ns) {
  const std::string key = key_of(controller, ns);
  const Result<std::int64_t> replicas = co_await scale(controller, ns);
  const auto it = answers_.find(key);
  if (it == answers_.end()) co_return;
  Answer& answer = it->second;
  answer.asking = false;
  if (!replicas && replicas.error().code() == Code::cancelled) co_return;
  answer.known = static_cast<bool>(replicas);
  answer.at = parts_.clock.mono();
  if (replicas) {
    answer.replicas = *replicas;
    answer.told = false;
  } else if (!std::exchange(answer.told, true)) {
    parts_.log.warn(
        "the replicas of a workload are not known: its pods stay", kv("kind", controller.kind.view()),
        kv("workload", fmt::format("{}/{}", ns, controller.name.view())), kv("error", replicas.error()));
  }
  if (on_known_) on_known_();
}

Task<Result<std::string>> ApiWorkloads::plural_of(std::string api_version, std::string kind) {
  const std::string key = fmt::format("{}/{}", api_version, kind);
  const auto known = resources_.find(key);
  if (known != resources_.end() && parts_.clock.mono() - known->second.at < kResourcesFresh)
    co_return known->second.plural;
  net::Request request;
  request.target = base_of(api_version);
  auto response = co_await parts_.client.request(std::move(request));
  std::string plural;
  if (response) {
    KOORD_CO_TRY(document, json::parse(response->body));
    if (const json::Value* resources = json::find(document, "resources"))
      for (const json::Value& each : resources->elements()) {
        // "clonesets/scale" is of the kind Scale; "clonesets" says which kind it is of.
        if (json::text_at(each, "kind") != kind) continue;
        const std::string name(json::text_at(each, "name"));
        if (name.find('/') != std::string::npos || !is_plain(name)) continue;
        for (const json::Value& other : resources->elements())
          if (json::text_at(other, "name") == fmt::format("{}/scale", name)) plural = name;
      }
  } else if (response.error().code() != Code::not_found) {
    co_return response.error();
  }
  if (resources_.size() >= 1000) resources_.clear();
  resources_[key] = {plural, parts_.clock.mono()};
  co_return plural;
}

Task<Result<std::int64_t>> ApiWorkloads::scale(const api::OwnerReference& controller, const std::string& ns) {
  const std::string api_version = controller.api_version.str(), name = controller.name.str();
  if (!is_api_version(api_version) || !is_plain(name) || !is_plain(ns)) co_return std::int64_t{0};
  KOORD_CO_TRY(plural, co_await plural_of(api_version, controller.kind.str()));
  if (plural.empty()) co_return std::int64_t{0};
  net::Request request;
  request.target = fmt::format("{}/namespaces/{}/{}/{}/scale", base_of(api_version), ns, plural, name);
  auto response = co_await parts_.client.request(std::move(request));
  if (!response) {
    if (response.error().code() == Code::not_found) co_return std::int64_t{0};
    co_return response.error();
  }
  KOORD_CO_TRY(document, json::parse(response->body));
  if (json::text_at(document, "metadata", "uid") != controller.uid.view()) co_return std::int64_t{0};
  co_return json::int_at(document, "spec", "replicas").value_or(0);
}

}  // namespace koord::descheduler::migration
