// Witness: see witness.hpp.
#include "world/witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::descheduler::world {

namespace {

using sandbox::Object;

constexpr const char* kJobs = "podmigrationjobs.scheduling.koordinator.sh";
constexpr const char* kReservations = "reservations.scheduling.koordinator.sh";

std::string workload_of(const Object& pod) {
  for (const sandbox::OwnerRef& owner : pod.owners)
    if (owner.controller) return owner.uid;
  return {};
}

std::string app_of(const Object& pod) {
  const std::string* app = pod.label("app");
  return app == nullptr ? std::string() : *app;
}

bool is_up(const Object& pod) { return !pod.deleting && pod.field(sandbox::kReadyField) == "true"; }

/// How many of a workload's pods may be away at once.
int most_away(int replicas) {
  const int most = replicas > 10 ? replicas / 10 : replicas >= 4 ? 2 : 1;
  return std::min(most, replicas);
}

bool may_go_on(const api::PodMigrationJob& job) {
  const std::string_view phase = job.status.phase.view();
  return phase != "Succeeded" && phase != "Failed" && phase != "Aborted" &&
         api::value_or(job.metadata.annotations, api::kPassedArbitrationAnnotation) == "true";
}

}  // namespace

Witness::Witness(ApiServer& server, Clock& clock, Limits limits)
    : server_(server), clock_(clock), limits_(limits) {
  server_.store().add_observer(*this);
}

Witness::~Witness() { server_.store().remove_observer(*this); }

void Witness::follow(DirectTransport& client, int fails_each) {
  const auto is_eviction = [](const net::Request& request) {
    return request.method == "POST" && request.path.ends_with("/eviction");
  };
  client.before = [this, is_eviction, fails_each,
                   writes = 0](const net::Request& request) mutable -> std::optional<net::Response> {
    if (request.path.find("/events") != std::string::npos) return net::Response::json(201, "{}");
    if (fails_each > 0 && request.method != "GET" && ++writes % fails_each == 0)
      return net::Response::json(
          500, R"({"kind":"Status","status":"Failure","reason":"InternalError","code":500})");
    if (!is_eviction(request)) return std::nullopt;
    // /api/v1/namespaces/NS/pods/NAME/eviction
    const std::string_view path = request.path;
    const std::size_t ns = path.find("/namespaces/") + 12, pods = path.find("/pods/", ns);
    judge_eviction(std::string(path.substr(ns, pods - ns)),
                   std::string(path.substr(pods + 6, path.size() - pods - 6 - 9)));
    return std::nullopt;
  };
  client.after = [this, is_eviction](const net::Request& request, const net::Response& response) {
    if (is_eviction(request)) {
      if (response.status == 429) ++refused;
      if (response.status == 201) evicted();
      return;
    }
    if (response.status >= 300 || request.path.find("/podmigrationjobs") == std::string::npos) return;
    if (request.method == "POST") judge_job(response.body);
    if (request.method == "PATCH" && request.body.find("passed-arbitration") != std::string::npos)
      judge_limits(response.body);
  };
}

void Witness::blame(std::string what) {
  wrong.push_back(fmt::format("after {:.0f} s: {}",
                              std::chrono::duration<double>(clock_.mono().time_since_epoch()).count(), what));
}

int Witness::replicas(const std::string& ns, const std::string& app) const {
  for (const char* kind : {"deployments.apps", "statefulsets.apps"})
    if (const auto set = server_.store().collection(kind).get(ns, app)) {
      json::Document doc;
      sandbox::load(*set, doc);
      return static_cast<int>(json::int_at(doc, "spec", "replicas").value_or(1));
    }
  return 0;
}

void Witness::on_change(sandbox::Collection& collection, const sandbox::Change& change) {
  if (collection.id() != "pods" || change.type == sandbox::Change::Type::deleted) return;
  const std::string_view node = change.object->field("spec.nodeName");
  if (!node.empty() && (!change.previous || change.previous->field("spec.nodeName").empty()))
    arrived(*change.object, node);
}

void Witness::arrived(const Object& pod, std::string_view node) {
  const auto it = left_.find(workload_of(pod));
  if (it == left_.end()) return;
  if (pod.bytes.find("reservation-allocated") != std::string::npos)
    came_[workload_of(pod)].push_back({std::string(node), clock_.mono()});
  for (const Left& left : it->second)
    if (left.node == node && clock_.mono() - left.at <= limits_.stays_away)
      blame(fmt::format("{} of {} comes to {}, which one of its workload left {:.0f} s ago", pod.name,
                        app_of(pod), node, std::chrono::duration<double>(clock_.mono() - left.at).count()));
}

void Witness::judge_eviction(const std::string& ns, const std::string& name) {
  const auto pod = server_.store().collection("pods").get(ns, name);
  if (!pod) return;
  leaving_ = {workload_of(*pod), app_of(*pod), std::string(pod->field("spec.nodeName"))};
  leaving_.app = ns + "/" + leaving_.app;
  if (pod->deleting) return;
  judge_room(*pod);
}

/// There is a reservation for it, on another node, and nobody has it yet.
void Witness::judge_room(const Object& pod) {
  for (const auto& [key, object] : server_.objects(kJobs)) {
    const auto job = api::decode<api::PodMigrationJob>(object->bytes);
    if (!job || !job->spec.pod_ref || job->spec.pod_ref->uid != pod.uid || !may_go_on(*job)) continue;
    if (job->spec.mode != "ReservationFirst") return;
    const auto& options = job->spec.reservation_options;
    if (!options || !options->reservation_ref)
      return blame(fmt::format("{} is evicted without a reservation", pod.name));
    const auto found = server_.store().collection(kReservations).get("", options->reservation_ref->name);
    if (!found) return blame(fmt::format("{} is evicted, and its reservation is gone", pod.name));
    const auto room = api::decode<api::Reservation>(found->bytes);
    if (!room || room->status.phase != "Available" || room->status.node_name.empty() ||
        room->status.node_name.view() == pod.field("spec.nodeName") || !room->status.current_owners.empty())
      return blame(fmt::format("{} is evicted with a reservation that is {} on {}", pod.name,
                               room ? room->status.phase.view() : "unreadable",
                               room ? room->status.node_name.view() : ""));
    return;
  }
  blame(fmt::format("{} is evicted without a job that may go on", pod.name));
}

/// After the eviction: of each budget that selects it as many are up as it asks for.
void Witness::judge_budgets(const Object& pod) {
  for (const auto& [key, object] : server_.objects("poddisruptionbudgets.policy")) {
    if (object->ns != pod.ns || object->name != app_of(pod)) continue;
    const auto budget = api::decode<api::PodDisruptionBudget>(object->bytes);
    int up = 0;
    for (const auto& [at, other] : server_.objects("pods"))
      if (other->ns == pod.ns && app_of(*other) == app_of(pod) && is_up(*other)) ++up;
    const int all = replicas(pod.ns, app_of(pod));
    const int wanted = budget->spec.min_available
                           ? static_cast<int>(budget->spec.min_available->to_int())
                           : all - static_cast<int>(budget->spec.max_unavailable->to_int());
    if (up < wanted)
      blame(fmt::format("of {} {} are up after an eviction, and its budget asks for {}", object->name, up,
                        wanted));
  }
}

void Witness::evicted() {
  ++evictions;
  std::vector<Left>& left = left_[leaving_.workload];
  left.push_back({leaving_.node, clock_.mono()});
  for (const Left& came : came_[leaving_.workload])
    if (came.node == leaving_.node && clock_.mono() - came.at <= limits_.stays_away)
      blame(fmt::format("a pod of {} leaves {}, to which one of its workload was moved {:.0f} s ago",
                        leaving_.app, leaving_.node,
                        std::chrono::duration<double>(clock_.mono() - came.at).count()));
  const auto lately = std::ranges::count_if(
      left, [&](const Left& each) { return clock_.mono() - each.at < limits_.limiter; });
  const std::size_t slash = leaving_.app.find('/');
  const std::string ns = leaving_.app.substr(0, slash), app = leaving_.app.substr(slash + 1);
  const int all = replicas(ns, app);
  if (lately > most_away(all) + 1)
    blame(fmt::format("{} of {} pods of {} are evicted within {:.0f} s", lately, all, app,
                      std::chrono::duration<double>(limits_.limiter).count()));
  for (const auto& [key, pod] : server_.objects("pods"))
    if (pod->ns == ns && app_of(*pod) == app) return judge_budgets(*pod);
}

/// A pass takes no time here.
void Witness::judge_job(const std::string& body) {
  ++jobs;
  if (clock_.mono() != pass_) {
    pass_ = clock_.mono();
    in_pass_.clear();
  }
  const auto job = api::decode<api::PodMigrationJob>(body);
  const auto pod =
      server_.store().collection("pods").get(job->spec.pod_ref->namespace_.view(), job->spec.pod_ref->name);
  if (!pod) return blame("a job for no pod");
  const auto count = [&](const std::string& of, int most) {
    if (++in_pass_[of] > most && most > 0)
      blame(fmt::format("{} pods are chosen in one pass ({}), not {}", in_pass_[of], of, most));
  };
  count(fmt::format("node {}", pod->field("spec.nodeName")), limits_.per_pass_and_node);
  count(fmt::format("namespace {}", pod->ns), limits_.per_pass_and_namespace);
  count("all", limits_.per_pass);
}

/// Of what the job is about that has just been let pass.
void Witness::judge_limits(const std::string& body) {
  const auto passed = api::decode<api::PodMigrationJob>(body);
  const auto& pods = server_.store().collection("pods");
  const auto pod = pods.get(passed->spec.pod_ref->namespace_.view(), passed->spec.pod_ref->name);
  if (!pod || pod->uid != passed->spec.pod_ref->uid) return;
  int of_node = 0, of_namespace = 0;
  std::set<std::string> of_workload;
  for (const auto& [key, object] : server_.objects(kJobs)) {
    const auto job = api::decode<api::PodMigrationJob>(object->bytes);
    if (!job || !job->spec.pod_ref || !may_go_on(*job)) continue;
    const auto other = pods.get(job->spec.pod_ref->namespace_.view(), job->spec.pod_ref->name);
    if (!other || other->uid != job->spec.pod_ref->uid) continue;
    of_node += other->field("spec.nodeName") == pod->field("spec.nodeName");
    of_namespace += other->ns == pod->ns;
    if (workload_of(*other) == workload_of(*pod)) of_workload.insert(other->uid);
  }
  const int most = most_away(replicas(pod->ns, app_of(*pod)));
  const auto exceeded = [&](int count, int limit, std::string_view of) {
    if (count > limit)
      blame(fmt::format("{} pods of {} migrate, not {} ({})", count, of, limit, passed->metadata.name));
  };
  exceeded(of_node, limits_.migrating_per_node, pod->field("spec.nodeName"));
  exceeded(of_namespace, limits_.migrating_per_namespace, pod->ns);
  exceeded(static_cast<int>(of_workload.size()), most, app_of(*pod));
  for (const auto& [key, other] : server_.objects("pods"))
    if (workload_of(*other) == workload_of(*pod) && !is_up(*other)) of_workload.insert(other->uid);
  exceeded(static_cast<int>(of_workload.size()), most, app_of(*pod) + " or are away");
}

}  // namespace koord::descheduler::world
