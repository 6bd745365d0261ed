// The simulated kubelets' work: note what changed, do it when its time comes, write to the store directly.
#include "sandbox/nodes/kubelets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "sandbox/kinds/device_claims.hpp"
#include "sandbox/kinds/pod_claims.hpp"

namespace koord::sandbox {
namespace {

/// What is left of a pod's work at its end, at most: a look more would be one too many.
constexpr nanoseconds kWorkDone = std::chrono::milliseconds(100);
constexpr std::chrono::seconds kClaimsPause{1};
constexpr std::string_view kLeases = "kube-node-lease";  // their namespace
constexpr std::int32_t kLeaseSeconds = 40;

std::string address(int first, std::uint64_t n) {
  return fmt::format("10.{}.{}.{}", first + (n >> 16 & 63), n >> 8 & 255, n & 255);
}

void put_condition(json::Value& status, const char* type, std::string_view value, const std::string& now,
                   const char* reason, const char* message, json::Arena& arena, bool heartbeat) {
  json::Value& list = array_at(status, "conditions", arena);
  json::Value* condition = nullptr;
  for (auto& each : list.elements())
    if (text_at(each, "type") == type) condition = &each;
  if (!condition) {
    list.push_back(json::Value::object(), arena);
    condition = &list[list.size() - 1];
    set(*condition, "type", json::make_const(type), arena);
  }
  bool changed = text_at(*condition, "status") != value;
  set_text(*condition, "status", value, arena);
  if (changed || text_at(*condition, "lastTransitionTime").empty())
    set_text(*condition, "lastTransitionTime", now, arena);
  if (heartbeat)
    set_text(*condition, "lastHeartbeatTime", now, arena);
  else
    set(*condition, "lastProbeTime", json::Value(), arena);
  if (*reason)
    set(*condition, "reason", json::make_const(reason), arena);
  else
    json::remove(*condition, "reason");
  if (*message)
    set(*condition, "message", json::make_const(message), arena);
  else
    json::remove(*condition, "message");
}

json::Value container_status(const json::Value& container, const std::string& now, const std::string& uid,
                             bool running, std::int64_t exit_code, std::string_view started,
                             json::Arena& arena) {
  json::Value status = json::Value::object();
  std::string_view name = text_at(container, "name");
  set_text(status, "name", name, arena);
  set(status, "ready", json::Value(running), arena);
  set(status, "started", json::Value(running), arena);
  set_int(status, "restartCount", 0, arena);
  set_text(status, "image", text_at(container, "image"), arena);
  set(status, "imageID", json::make_const(""), arena);
  std::string id = fmt::format("sandbox://{}/{}", uid, name);
  set_text(status, "containerID", id, arena);
  json::Value inner = json::Value::object();
  if (running) {
    set_text(inner, "startedAt", now, arena);
  } else {
    set_int(inner, "exitCode", exit_code, arena);
    set(inner, "reason", json::make_const(exit_code == 0 ? "Completed" : "Error"), arena);
    set_text(inner, "startedAt", started, arena);
    set_text(inner, "finishedAt", now, arena);
    set_text(inner, "containerID", id, arena);
  }
  set(object_at(status, "state", arena), running ? "running" : "terminated", std::move(inner), arena);
  return status;
}

void put_container_statuses(json::Document& pod, const std::string& now, const std::string& uid, bool running,
                            std::int64_t exit_code, json::Arena& arena) {
  json::Value& status = *find(pod, "status");
  std::string started(text_at(status, "startTime"));
  for (const auto& [from, to] :
       {std::pair("initContainers", "initContainerStatuses"), std::pair("containers", "containerStatuses")}) {
    const json::Value* containers = find(pod, "spec", from);
    if (is_empty(containers) || !containers->is_array()) continue;
    json::Value list = json::Value::array();
    for (const auto& container : containers->elements()) {
      bool sidecar = text_at(container, "restartPolicy") == "Always";
      bool init = std::string_view(from) == "initContainers";
      bool up = running && (!init || sidecar);
      json::Value one = container_status(container, now, uid, up, init ? 0 : exit_code, started, arena);
      if (init && !sidecar) set(one, "ready", json::Value(true), arena);
      list.push_back(std::move(one), arena);
    }
    set(status, to, std::move(list), arena);
  }
}

}  // namespace

bool is_left_alone(const Object& node) {
  if (node.bytes.find(kKubelet) == std::string::npos) return false;  // as nearly all, which are not parsed
  json::Document doc;
  load(node, doc);
  return text_at(doc, "metadata", "annotations", kKubelet) == "false";
}

Kubelets::Kubelets(Verbs& verbs, KubeletOptions options)
    : verbs_(verbs),
      options_(std::move(options)),
      pods_(verbs.registry().get("", "pods")),
      nodes_(verbs.registry().get("", "nodes")),
      claims_(verbs.registry().get("", "persistentvolumeclaims")),
      device_claims_(verbs.registry().get("resource.k8s.io", "resourceclaims")),
      leases_(*verbs.registry().get("coordination.k8s.io", "leases").objects),
      wheel_(verbs.clock(), [this](Job& job) { run(job); }) {
  verbs_.store().add_observer(*this);
}

Kubelets::~Kubelets() { verbs_.store().remove_observer(*this); }

void Kubelets::on_change(Collection& collection, const Change& change) {
  if (&collection == pods_.objects)
    pod_changed(change);
  else if (&collection == nodes_.objects)
    node_changed(change);
}

void Kubelets::pod_changed(const Change& change) {
  const Object& pod = *change.object;
  const std::string_view node = pod.field("spec.nodeName"), phase = pod.field("status.phase");
  if (node.empty()) return;
  std::set<std::string>& here = pods_on_[std::string(node)];
  if (change.type == Change::Type::deleted) {
    here.erase(pod.key());
    if (here.empty()) pods_on_.erase(std::string(node));
    stopping_.erase(pod.uid);
    starting_.erase(pod.uid);
    return;
  }
  here.insert(pod.key());
  if (known_.contains(std::string(node))) begin(pod, phase);
}

void Kubelets::begin(const Object& pod, std::string_view phase) {
  if (pod.deleting) {
    if (stopping_.insert(pod.uid).second)
      wheel_.add(options_.stop_delay, {Job::Type::stop, pod.ns, pod.name, pod.uid});
  } else if ((phase.empty() || phase == "Pending") && starting_.insert(pod.uid).second) {
    wheel_.add(options_.start_delay, {Job::Type::start, pod.ns, pod.name, pod.uid});
  }
}

void Kubelets::node_changed(const Change& change) {
  const Object& node = *change.object;
  if (change.type == Change::Type::deleted) {
    auto it = known_.find(node.name);
    if (it == known_.end()) return;
    // Kubernetes' pod garbage collector takes the pods of nodes that have gone.
    if (const auto pods = pods_on_.find(node.name); pods != pods_on_.end())
      for (const std::string& key : pods->second) {
        std::size_t slash = key.find('/');
        wheel_.add(options_.stop_delay, {Job::Type::orphan, key.substr(0, slash), key.substr(slash + 1), ""});
      }
    known_.erase(it);
    wheel_.add({}, {Job::Type::renew, "", node.name, ""});
    return;
  }
  if (known_.contains(node.name) || is_left_alone(node)) return;
  known_[node.name];
  wheel_.add({}, {Job::Type::adopt, "", node.name, node.uid});
}

void Kubelets::run(Job& job) {
  switch (job.type) {
    case Job::Type::adopt: return adopt(job.name, job.uid);
    case Job::Type::renew: return renew(job.name);
    case Job::Type::start: return start_pod(job);
    case Job::Type::finish: return finish_pod(job);
    case Job::Type::stop:
    case Job::Type::orphan: break;
  }
  ObjectPtr pod = pods_.objects->get(job.ns, job.name);
  if (!pod || (job.type == Job::Type::stop && pod->uid != job.uid)) return;
  stopping_.erase(job.uid);
  DeleteOptions now;
  now.grace_seconds = 0;
  (void)verbs_.remove(pods_, job.ns, job.name, now);
}

void Kubelets::adopt(const std::string& name, const std::string& uid) {
  auto it = known_.find(name);
  ObjectPtr node = nodes_.objects->get("", name);
  if (it == known_.end() || !node || node->uid != uid) return;
  Node& mine = it->second;
  mine.ip = next_ip_++;
  std::string now = verbs_.now_text();
  verbs_.write_trusted(nodes_, *node, [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& status = object_at(doc, "status", arena);
    put_condition(status, "MemoryPressure", "False", now, "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available", arena, true);
    put_condition(status, "DiskPressure", "False", now, "KubeletHasNoDiskPressure",
                  "kubelet has no disk pressure", arena, true);
    put_condition(status, "PIDPressure", "False", now, "KubeletHasSufficientPID",
                  "kubelet has sufficient PID available", arena, true);
    put_condition(status, "Ready", "True", now, "KubeletReady", "kubelet is posting ready status", arena,
                  true);
    if (is_empty(find(status, "addresses"))) {
      json::Value& list = array_at(status, "addresses", arena);
      auto add = [&](const char* type, std::string_view value) {
        json::Value entry = json::Value::object();
        set(entry, "type", json::make_const(type), arena);
        set_text(entry, "address", value, arena);
        list.push_back(std::move(entry), arena);
      };
      add("InternalIP", address(0, mine.ip));
      add("Hostname", name);
    }
    if (!find(status, "nodeInfo")) {
      json::Value& info = object_at(status, "nodeInfo", arena);
      set_text(info, "machineID", uid, arena);
      set_text(info, "systemUUID", uid, arena);
      set_text(info, "bootID", uid, arena);
      set(info, "kernelVersion", json::make_const("sandbox"), arena);
      set(info, "osImage", json::make_const("simulated"), arena);
      set(info, "containerRuntimeVersion", json::make_const("sandbox://1"), arena);
      set(info, "kubeletVersion", json::make_const("v1.35.4"), arena);
      set(info, "kubeProxyVersion", json::make_const(""), arena);
      set(info, "operatingSystem", json::make_const("linux"), arena);
      set(info, "architecture", json::make_const("amd64"), arena);
    }
    // The node controller takes the taints of a node that was not ready off.
    if (json::Value* taints = find(doc, "spec", "taints"); taints && taints->is_array()) {
      taints->erase_if(
          [](const json::Value& taint) { return text_at(taint, "key") == "node.kubernetes.io/not-ready"; });
      if (taints->empty()) json::remove(*find(doc, "spec"), "taints");
    }
  });
  mine.created = api::Time(verbs_.clock().now());
  mine.lease_uid = verbs_.new_uid();
  renew(name);
  // Pods that were bound before the node was known.
  if (const auto pods = pods_on_.find(name); pods != pods_on_.end())
    for (const std::string& key : pods->second)
      if (const auto pod = pods_.objects->objects().find(key); pod != pods_.objects->objects().end())
        begin(*pod->second, pod->second->field("status.phase"));
}

void Kubelets::renew(const std::string& name) {
  auto it = known_.find(name);
  if (it == known_.end()) {
    leases_.erase(kLeases, name);
    return;
  }
  const Node& node = it->second;
  auto object = std::make_shared<Object>();
  object->ns = kLeases;
  object->name = name;
  object->uid = node.lease_uid;
  object->rv = verbs_.store().next_version();
  api::Lease lease;
  lease.metadata.name = name;
  lease.metadata.namespace_ = kLeases;
  lease.metadata.uid = node.lease_uid;
  lease.metadata.resource_version = fmt::to_string(object->rv);
  lease.metadata.creation_timestamp = node.created;
  lease.spec.holder_identity = name;
  lease.spec.lease_duration_seconds = kLeaseSeconds;
  lease.spec.renew_time = api::MicroTime(verbs_.clock().now());
  object->bytes = api::encode(lease);
  constexpr std::string_view kVersion = "\"resourceVersion\":\"";
  object->rv_at = object->bytes.find(kVersion) + kVersion.size();
  leases_.put(std::move(object));
  // Spread over the period, so that thousands of nodes do not write in one moment.
  auto spread = std::chrono::milliseconds(std::hash<std::string>()(name) % 1000);
  wheel_.add(options_.lease_period - spread, {Job::Type::renew, "", name, ""});
}

bool Kubelets::has_volumes(const Object& pod) const {
  bool all = true;
  for_each_claim(pod, [&](std::string_view name, bool) {
    const ObjectPtr claim = claims_.objects->get(pod.ns, name);
    all = all && claim && !claim->field(kBoundField).empty();
  });
  return all;
}

bool Kubelets::has_devices(const Object& pod) const {
  bool all = true;
  for_each_device_claim(pod, [&](DeviceClaimOrigin origin, std::string_view name) {
    if (origin == DeviceClaimOrigin::unneeded) return;
    const ObjectPtr claim = name.empty() ? nullptr : device_claims_.objects->get(pod.ns, name);
    all = all && claim && is_allocated(*claim) && is_reserved_for(*claim, pod.uid) &&
          (origin != DeviceClaimOrigin::made || is_for_pod(*claim, pod));
  });
  return all;
}

void Kubelets::start_pod(const Job& job) {
  starting_.erase(job.uid);
  ObjectPtr pod = pods_.objects->get(job.ns, job.name);
  if (!pod || pod->uid != job.uid || pod->deleting) return;
  if (!has_volumes(*pod) || !has_devices(*pod)) {
    starting_.insert(job.uid);
    wheel_.add(kClaimsPause, job);
    return;
  }
  std::string now = verbs_.now_text();
  std::uint64_t ip = next_ip_++;
  double seconds = -1;
  const bool of_job = std::ranges::any_of(
      pod->owners, [](const OwnerRef& owner) { return owner.controller && owner.kind == "Job"; });
  verbs_.write_trusted(pods_, *pod, [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& status = object_at(doc, "status", arena);
    auto node = known_.find(std::string(text_at(doc, "spec", "nodeName")));
    std::string host = address(0, node == known_.end() ? 0 : node->second.ip);
    std::string own = true_at(doc, "spec", "hostNetwork") ? host : address(64, ip);
    set(status, "phase", json::make_const("Running"), arena);
    set_text(status, "hostIP", host, arena);
    set_text(status, "podIP", own, arena);
    for (const auto& [field, value] : {std::pair("hostIPs", &host), std::pair("podIPs", &own)}) {
      json::Value entry = json::Value::object();
      set_text(entry, "ip", *value, arena);
      json::Value& list = array_at(status, field, arena);
      list.set_array();
      list.push_back(std::move(entry), arena);
    }
    set_text(status, "startTime", now, arena);
    if (auto generation = int_at(doc, "metadata", "generation"))
      set_int(status, "observedGeneration", *generation, arena);
    for (const char* type :
         {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
      put_condition(status, type, "True", now, "", "", arena, false);
    put_container_statuses(doc, now, job.uid, true, 0, arena);
    std::string text(text_at(doc, "metadata", "annotations", kRunSeconds));
    const bool ends = text_at(doc, "spec", "restartPolicy") != "Always";
    if (ends && !text.empty()) seconds = std::max(0.0, std::atof(text.c_str()));
    if (ends && text.empty() && of_job) seconds = kJobSeconds;
  });
  if (seconds >= 0 && seconds < 1e6) {
    const nanoseconds work(static_cast<std::int64_t>(seconds * 1e9));
    wheel_.add(work, {Job::Type::finish, job.ns, job.name, job.uid, work});
  }
}

void Kubelets::finish_pod(const Job& job) {
  ObjectPtr pod = pods_.objects->get(job.ns, job.name);
  if (!pod || pod->uid != job.uid || pod->deleting) return;
  if (const nanoseconds left = options_.work_left ? options_.work_left(*pod, job.work) : nanoseconds(0);
      left > kWorkDone) {
    wheel_.add(left, job);
    return;
  }
  std::string now = verbs_.now_text();
  verbs_.write_trusted(pods_, *pod, [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& status = object_at(doc, "status", arena);
    std::int64_t code = std::atoll(std::string(text_at(doc, "metadata", "annotations", kExitCode)).c_str());
    set(status, "phase", json::make_const(code == 0 ? "Succeeded" : "Failed"), arena);
    put_condition(status, "Ready", "False", now, code == 0 ? "PodCompleted" : "PodFailed", "", arena, false);
    put_condition(status, "ContainersReady", "False", now, code == 0 ? "PodCompleted" : "PodFailed", "",
                  arena, false);
    put_container_statuses(doc, now, job.uid, false, code, arena);
  });
}

}  // namespace koord::sandbox
