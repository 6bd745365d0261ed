// Reservations as JSON, and what else the plugin serves: see describe.hpp.
#include "scheduling/plugins/reservation/describe.hpp"

#include <algorithm>
#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"
#include "scheduling/plugins/reservation/reservation.hpp"

namespace koord::scheduling::reservation {

namespace {

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::aligned: return "Aligned";
    case Policy::restricted: return "Restricted";
    case Policy::none: break;
  }
  return {};
}

class Description {
 public:
  Description(const Ledger& ledger, const NodeTable& nodes, const ObjectStore<api::Reservation>& objects,
              json::Writer& json)
      : ledger_(ledger), nodes_(nodes), objects_(objects), json_(json) {}

  void write(const Ledger::Entry& e) {
    std::vector<const PodInfo*> users;
    for (const PodInfo* pod : nodes_.pods(e.row)) {
      const Ledger::Holder* const held = ledger_.holder(pod->pod->metadata.uid);
      if (held != nullptr && held->of == &e) users.push_back(pod);
    }
    std::ranges::sort(users, {}, [](const PodInfo* pod) { return pod_key(*pod->pod); });
    json_.begin_object();
    if (e.facts) json_.member_if("name", e.facts->name);
    json_.member_if("uid", e.uid).member("kind", is_reserve_pod(*e.pod->pod) ? "Reservation" : "Pod");
    if (e.facts) write_facts(e);
    ports("allocatablePorts", e.pod->ports);
    std::vector<HostPort> taken;
    for (const PodInfo* pod : users) taken.insert(taken.end(), pod->ports.begin(), pod->ports.end());
    ports("allocatedPorts", taken);
    if (e.facts) write_sums(e);
    if (!users.empty()) {
      json_.key("assignedPods").begin_array();
      for (const PodInfo* pod : users) write_user(*pod);
      json_.end_array();
    }
    json_.end_object();
  }

 private:
  void write_facts(const Ledger::Entry& e) {
    if (e.facts->available) json_.member("available", true);
    if (e.facts->once) json_.member("allocateOnce", true);
    amounts("allocatable", e.facts->allocatable);
    amounts("reserved", e.facts->reserved);
    amounts("allocated", e.taken.amounts);
  }
  void write_sums(const Ledger::Entry& e) {
    api::ResourceList left = e.facts->allocatable;
    take(left, e.taken.amounts);
    take(left, e.facts->reserved);
    sum("availableResource", left);
    sum("allocatedResource", e.taken.amounts);
    const std::shared_ptr<const api::Reservation> object = objects_.find({}, e.facts->name);
    if (object && object->metadata.uid == e.uid && !object->spec.owners.empty()) {
      json_.key("owners").begin_array();
      for (const api::ReservationOwner& owner : object->spec.owners) json_.raw(api::encode(owner));
      json_.end_array();
    }
    json_.member_if("allocatePolicy", to_string(e.facts->policy));
  }
  void write_user(const PodInfo& pod) {
    const api::ObjectMeta& meta = pod.pod->metadata;
    json_.begin_object()
        .member("Namespace", meta.namespace_.view())
        .member("Name", meta.name)
        .member("UID", meta.uid)
        .key("Requests");
    list(ledger_.holder(meta.uid)->requests);
    json_.key("Ports");
    if (pod.ports.empty()) {
      json_.null();
    } else {
      list(pod.ports);
    }
    json_.end_object();
  }
  void amounts(std::string_view key, const api::ResourceList& all) {
    if (all.empty()) return;
    json_.key(key);
    list(all);
  }
  void list(const api::ResourceList& all) {
    json_.begin_object();
    for (const auto& [name, amount] : all) json_.member(name.view(), amount.to_string());
    json_.end_object();
  }
  void ports(std::string_view key, const std::vector<HostPort>& all) {
    if (all.empty()) return;
    json_.key(key);
    list(all);
  }
  void list(const std::vector<HostPort>& all) {
    std::map<std::string_view, std::vector<const HostPort*>> by_address;
    for (const HostPort& port : all)
      by_address[port.ip.empty() ? std::string_view("0.0.0.0") : port.ip.view()].push_back(&port);
    json_.begin_object();
    for (const auto& [address, of] : by_address) {
      json_.key(address).begin_array();
      for (const HostPort* port : of)
        json_.begin_object()
            .member("Protocol", port->protocol.view())
            .member("Port", port->port)
            .end_object();
      json_.end_array();
    }
    json_.end_object();
  }
  /// kube-scheduler's Resource, in Go's names.
  void sum(std::string_view key, const api::ResourceList& all) {
    const auto value = [&](std::string_view name) {
      const api::Quantity* const amount = all.find(name);
      return amount == nullptr ? std::int64_t{0} : name == "cpu" ? amount->milli_value() : amount->value();
    };
    json_.key(key)
        .begin_object()
        .member("MilliCPU", value("cpu"))
        .member("Memory", value("memory"))
        .member("EphemeralStorage", value("ephemeral-storage"))
        .member("AllowedPodNumber", value("pods"))
        .key("ScalarResources");
    bool any = false;
    for (const auto& [name, amount] : all) {
      if (!is_scalar_resource(name.view())) continue;
      if (!any) json_.begin_object();
      any = true;
      json_.member(name.view(), amount.value());
    }
    if (any) {
      json_.end_object();
    } else {
      json_.null();
    }
    json_.end_object();
  }

  const Ledger& ledger_;
  const NodeTable& nodes_;
  const ObjectStore<api::Reservation>& objects_;
  json::Writer& json_;
};

}  // namespace

std::string describe(const Ledger& ledger, const NodeTable& nodes,
                     const ObjectStore<api::Reservation>& objects, Row row) {
  std::vector<const Ledger::Entry*> entries;
  if (row != kNoRow)
    for (const Ledger::Entry* e : ledger.on(row)) entries.push_back(e);
  std::ranges::sort(entries, {}, [](const Ledger::Entry* e) {
    return std::pair(e->facts ? std::string_view(e->facts->name) : std::string_view(),
                     std::string_view(e->uid));
  });
  std::string text;
  json::Writer json(text);
  json.begin_object();
  if (!entries.empty()) {
    json.key("items").begin_array();
    Description description(ledger, nodes, objects, json);
    for (const Ledger::Entry* e : entries) description.write(*e);
    json.end_array();
  }
  json.end_object();
  return text;
}

std::optional<ServiceAnswer> Reservations::serve(const ServiceRequest& request) const {
  constexpr std::string_view kOnNode = "/nodeReservations/";
  const std::string_view path = request.path;
  if (path == "/reservationSelectorIndex") {
    const auto detail =
        std::ranges::find(request.query, "detail", &std::pair<std::string, std::string>::first);
    return ServiceAnswer{200, index_.describe(detail != request.query.end() && detail->second == "true")};
  }
  if (!path.starts_with(kOnNode) || path.size() == kOnNode.size()) return std::nullopt;
  return ServiceAnswer{200, reservation::describe(ledger_, context_.nodes, objects_,
                                                  context_.nodes.find(path.substr(kOnNode.size())))};
}

}  // namespace koord::scheduling::reservation
