// The simulated kubelets' work: note what changed, do it when its time comes, write to the store directly.
#include "sandbox/nodes/kubelets.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "koord/api/values/time.hpp"

namespace koord::sandbox {
namespace {

std::string address(int first, std::uint64_t n) {
  return fmt::format("10.{}.{}.{}", first + (n >> 16 & 63), n >> 8 & 255, n & 255);
}

void put_condition(Json& status, const char* type, std::string_view value, const std::string& now,
                   const char* reason, const char* message, JsonAlloc& alloc, bool heartbeat) {
  Json& list = array_at(status, "conditions", alloc);
  Json* condition = nullptr;
  for (auto& each : list.GetArray())
    if (text_at(each, "type") == type) condition = &each;
  if (!condition) {
    list.PushBack(Json(rapidjson::kObjectType), alloc);
    condition = &list[list.Size() - 1];
    set(*condition, "type", make_const(type), alloc);
  }
  bool changed = text_at(*condition, "status") != value;
  set_text(*condition, "status", value, alloc);
  if (changed || text_at(*condition, "lastTransitionTime").empty())
    set_text(*condition, "lastTransitionTime", now, alloc);
  if (heartbeat)
    set_text(*condition, "lastHeartbeatTime", now, alloc);
  else
    set(*condition, "lastProbeTime", Json(), alloc);
  if (*reason)
    set(*condition, "reason", make_const(reason), alloc);
  else
    sandbox::remove(*condition, "reason");
  if (*message)
    set(*condition, "message", make_const(message), alloc);
  else
    sandbox::remove(*condition, "message");
}

Json container_status(const Json& container, const std::string& now, const std::string& uid, bool running,
                      std::int64_t exit_code, std::string_view started, JsonAlloc& alloc) {
  Json status(rapidjson::kObjectType);
  std::string_view name = text_at(container, "name");
  set_text(status, "name", name, alloc);
  set(status, "ready", Json(running), alloc);
  set(status, "started", Json(running), alloc);
  set_int(status, "restartCount", 0, alloc);
  set_text(status, "image", text_at(container, "image"), alloc);
  set(status, "imageID", make_const(""), alloc);
  std::string id = fmt::format("sandbox://{}/{}", uid, name);
  set_text(status, "containerID", id, alloc);
  Json inner(rapidjson::kObjectType);
  if (running) {
    set_text(inner, "startedAt", now, alloc);
  } else {
    set_int(inner, "exitCode", exit_code, alloc);
    set(inner, "reason", make_const(exit_code == 0 ? "Completed" : "Error"), alloc);
    set_text(inner, "startedAt", started, alloc);
    set_text(inner, "finishedAt", now, alloc);
    set_text(inner, "containerID", id, alloc);
  }
  set(object_at(status, "state", alloc), running ? "running" : "terminated", std::move(inner), alloc);
  return status;
}

void put_container_statuses(JsonDoc& pod, const std::string& now, const std::string& uid, bool running,
                            std::int64_t exit_code, JsonAlloc& alloc) {
  Json& status = *find(pod, "status");
  std::string started(text_at(status, "startTime"));
  for (const auto& [from, to] :
       {std::pair("initContainers", "initContainerStatuses"), std::pair("containers", "containerStatuses")}) {
    const Json* containers = find(pod, "spec", from);
    if (is_empty(containers) || !containers->IsArray()) continue;
    Json list(rapidjson::kArrayType);
    for (const auto& container : containers->GetArray()) {
      bool sidecar = text_at(container, "restartPolicy") == "Always";
      bool init = std::string_view(from) == "initContainers";
      bool up = running && (!init || sidecar);
      Json one = container_status(container, now, uid, up, init ? 0 : exit_code, started, alloc);
      if (init && !sidecar) set(one, "ready", Json(true), alloc);
      list.PushBack(one, alloc);
    }
    set(status, to, std::move(list), alloc);
  }
}

}  // namespace

Kubelets::Kubelets(Verbs& verbs, KubeletOptions options)
    : verbs_(verbs),
      options_(options),
      pods_(verbs.registry().get("", "pods")),
      nodes_(verbs.registry().get("", "nodes")),
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
  std::string_view node, phase;
  for (const auto& [name, value] : pod.fields) {
    if (name == "spec.nodeName") node = value;
    if (name == "status.phase") phase = value;
  }
  if (node.empty()) return;
  auto it = known_.find(std::string(node));
  if (change.type == Change::Type::deleted) {
    if (it != known_.end()) it->second.pods.erase(pod.key());
    stopping_.erase(pod.uid);
    starting_.erase(pod.uid);
    return;
  }
  if (it == known_.end()) return;
  it->second.pods.insert(pod.key());
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
    for (const std::string& key : it->second.pods) {
      std::size_t slash = key.find('/');
      wheel_.add(options_.stop_delay, {Job::Type::orphan, key.substr(0, slash), key.substr(slash + 1), ""});
    }
    known_.erase(it);
    wheel_.add({}, {Job::Type::renew, "", node.name, ""});
    return;
  }
  if (known_.contains(node.name) ||
      node.bytes.find(std::string("\"") + kKubelet + "\":\"false\"") != std::string::npos)
    return;
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
  verbs_.write_trusted(nodes_, *node, [&](JsonDoc& doc) {
    JsonAlloc& alloc = doc.GetAllocator();
    Json& status = object_at(doc, "status", alloc);
    put_condition(status, "MemoryPressure", "False", now, "KubeletHasSufficientMemory",
                  "kubelet has sufficient memory available", alloc, true);
    put_condition(status, "DiskPressure", "False", now, "KubeletHasNoDiskPressure",
                  "kubelet has no disk pressure", alloc, true);
    put_condition(status, "PIDPressure", "False", now, "KubeletHasSufficientPID",
                  "kubelet has sufficient PID available", alloc, true);
    put_condition(status, "Ready", "True", now, "KubeletReady", "kubelet is posting ready status", alloc,
                  true);
    if (is_empty(find(status, "addresses"))) {
      Json& list = array_at(status, "addresses", alloc);
      auto add = [&](const char* type, std::string_view value) {
        Json entry(rapidjson::kObjectType);
        set(entry, "type", make_const(type), alloc);
        set_text(entry, "address", value, alloc);
        list.PushBack(entry, alloc);
      };
      add("InternalIP", address(0, mine.ip));
      add("Hostname", name);
    }
    if (!find(status, "nodeInfo")) {
      Json& info = object_at(status, "nodeInfo", alloc);
      set_text(info, "machineID", uid, alloc);
      set_text(info, "systemUUID", uid, alloc);
      set_text(info, "bootID", uid, alloc);
      set(info, "kernelVersion", make_const("sandbox"), alloc);
      set(info, "osImage", make_const("simulated"), alloc);
      set(info, "containerRuntimeVersion", make_const("sandbox://1"), alloc);
      set(info, "kubeletVersion", make_const("v1.35.4"), alloc);
      set(info, "kubeProxyVersion", make_const(""), alloc);
      set(info, "operatingSystem", make_const("linux"), alloc);
      set(info, "architecture", make_const("amd64"), alloc);
    }
    // The node controller takes the taints of a node that was not ready off.
    if (Json* taints = find(doc, "spec", "taints"); taints && taints->IsArray()) {
      for (auto taint = taints->Begin(); taint != taints->End();)
        taint = text_at(*taint, "key") == "node.kubernetes.io/not-ready" ? taints->Erase(taint) : taint + 1;
      if (taints->Empty()) sandbox::remove(*find(doc, "spec"), "taints");
    }
  });
  mine.created = now;
  mine.lease_uid = verbs_.new_uid();
  renew(name);
  // Pods that were bound before the node was known.
  for (const auto& [key, pod] : pods_.objects->objects())
    for (const auto& [field, value] : pod->fields)
      if (field == "spec.nodeName" && value == name)
        pod_changed({Change::Type::added, pod->rv, pod, nullptr});
}

void Kubelets::renew(const std::string& name) {
  auto it = known_.find(name);
  if (it == known_.end()) {
    leases_.erase("kube-node-lease", name);
    return;
  }
  const Node& node = it->second;
  auto lease = std::make_shared<Object>();
  lease->ns = "kube-node-lease";
  lease->name = name;
  lease->uid = node.lease_uid;
  lease->rv = verbs_.store().next_version();
  lease->bytes = fmt::format(
      R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"name":"{0}","namespace":"kube-node-lease","uid":"{1}","resourceVersion":"{2}","creationTimestamp":"{3}"}},"spec":{{"holderIdentity":"{0}","leaseDurationSeconds":40,"renewTime":"{4}"}}}})",
      name, node.lease_uid, lease->rv, node.created, api::MicroTime(verbs_.clock().now()).to_string());
  leases_.put(std::move(lease));
  // Spread over the period, so that thousands of nodes do not write in one moment.
  auto spread = std::chrono::milliseconds(std::hash<std::string>()(name) % 1000);
  wheel_.add(options_.lease_period - spread, {Job::Type::renew, "", name, ""});
}

void Kubelets::start_pod(const Job& job) {
  starting_.erase(job.uid);
  ObjectPtr pod = pods_.objects->get(job.ns, job.name);
  if (!pod || pod->uid != job.uid || pod->deleting) return;
  std::string now = verbs_.now_text();
  std::uint64_t ip = next_ip_++;
  double seconds = -1;
  verbs_.write_trusted(pods_, *pod, [&](JsonDoc& doc) {
    JsonAlloc& alloc = doc.GetAllocator();
    Json& status = object_at(doc, "status", alloc);
    auto node = known_.find(std::string(text_at(doc, "spec", "nodeName")));
    std::string host = address(0, node == known_.end() ? 0 : node->second.ip);
    std::string own = true_at(doc, "spec", "hostNetwork") ? host : address(64, ip);
    set(status, "phase", make_const("Running"), alloc);
    set_text(status, "hostIP", host, alloc);
    set_text(status, "podIP", own, alloc);
    for (const auto& [field, value] : {std::pair("hostIPs", &host), std::pair("podIPs", &own)}) {
      Json entry(rapidjson::kObjectType);
      set_text(entry, "ip", *value, alloc);
      Json& list = array_at(status, field, alloc);
      list.Clear();
      list.PushBack(entry, alloc);
    }
    set_text(status, "startTime", now, alloc);
    if (auto generation = int_at(doc, "metadata", "generation"))
      set_int(status, "observedGeneration", *generation, alloc);
    for (const char* type :
         {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
      put_condition(status, type, "True", now, "", "", alloc, false);
    put_container_statuses(doc, now, job.uid, true, 0, alloc);
    std::string text(text_at(doc, "metadata", "annotations", kRunSeconds));
    if (!text.empty() && text_at(doc, "spec", "restartPolicy") != "Always")
      seconds = std::max(0.0, std::atof(text.c_str()));
  });
  if (seconds >= 0 && seconds < 1e6)
    wheel_.add(nanoseconds(static_cast<std::int64_t>(seconds * 1e9)),
               {Job::Type::finish, job.ns, job.name, job.uid});
}

void Kubelets::finish_pod(const Job& job) {
  ObjectPtr pod = pods_.objects->get(job.ns, job.name);
  if (!pod || pod->uid != job.uid || pod->deleting) return;
  std::string now = verbs_.now_text();
  verbs_.write_trusted(pods_, *pod, [&](JsonDoc& doc) {
    JsonAlloc& alloc = doc.GetAllocator();
    Json& status = object_at(doc, "status", alloc);
    std::int64_t code = std::atoll(std::string(text_at(doc, "metadata", "annotations", kExitCode)).c_str());
    set(status, "phase", make_const(code == 0 ? "Succeeded" : "Failed"), alloc);
    put_condition(status, "Ready", "False", now, code == 0 ? "PodCompleted" : "PodFailed", "", alloc, false);
    put_condition(status, "ContainersReady", "False", now, code == 0 ? "PodCompleted" : "PodFailed", "",
                  alloc, false);
    put_container_statuses(doc, now, job.uid, false, code, alloc);
  });
}

}  // namespace koord::sandbox
