// Random objects of worlds with reservations: see objects.hpp.
#include "random/reserved/objects.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::test {

namespace {

constexpr const char* kPods[] = {"pod-1", "pod-2", "pod-3"};
constexpr const char* kControllers[] = {"rs-1", "rs-2"};
constexpr const char* kGpu = "example.com/gpu";

api::Quantity q(std::string_view text) { return api::Quantity::must(text); }

}  // namespace

std::shared_ptr<const api::Node> ReservedObjects::node(const std::string& name) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->metadata.labels = {{"kubernetes.io/hostname", Symbol(name)}, {"zone", chance(50) ? "a" : "b"}};
  auto& has = node->status.allocatable;
  has["cpu"] = api::Quantity::from_int(4 + below(13));
  has["memory"] = api::Quantity::from_int(static_cast<std::int64_t>(4 + below(13)) << 30);
  has["pods"] = api::Quantity::from_int(chance(30) ? 2 + below(5) : 40);
  if (chance(50)) has["ephemeral-storage"] = q("20Gi");
  if (chance(50)) has[kGpu] = api::Quantity::from_int(1 + below(4));
  if (chance(8))
    node->spec.taints.push_back({"dedicated", "x", chance(50) ? "NoSchedule" : "PreferNoSchedule", {}});
  node->spec.unschedulable = chance(5);
  return node;
}

api::ResourceList ReservedObjects::amounts() {
  api::ResourceList all;
  if (chance(92)) all["cpu"] = api::Quantity::from_milli(500 * (1 + below(8)));
  if (chance(80)) all["memory"] = api::Quantity::from_int(static_cast<std::int64_t>(1 + below(8)) << 29);
  if (chance(15))
    all["ephemeral-storage"] = api::Quantity::from_int(static_cast<std::int64_t>(1 + below(6)) << 30);
  if (chance(20)) all[kGpu] = api::Quantity::from_int(1 + below(2));
  return all;
}

std::string ReservedObjects::affinity(const std::vector<std::string>& names) {
  const std::string any =
      names.empty() ? "nobody" : names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
  static constexpr const char* kSaid[] = {
      "",
      "{}",
      R"({"reservationSelector":{"pool":"x"}})",
      R"({"reservationSelector":{"zone":"a"}})",
      R"({"tolerations":[{"operator":"Exists"}]})",
      R"({"tolerations":[{"key":"hold","value":"v","operator":"Equal","effect":"NoSchedule"}]})",
      R"({"tolerations":[{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}]})",
      R"({"requiredDuringSchedulingIgnoredDuringExecution":{"reservationSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["x","y"]}]}]}})",
      R"({"requiredDuringSchedulingIgnoredDuringExecution":{"reservationSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"DoesNotExist"}]},{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]},{"key":"pool","operator":"Exists"}]}]}})",
  };
  if (chance(25)) return fmt::format(R"({{"name":"{}"}})", chance(15) ? std::string("nobody") : any);
  return one_of(kSaid);
}

std::shared_ptr<const api::Pod> ReservedObjects::pod(const std::string& name,
                                                     const std::vector<std::string>& names) {
  auto pod = std::make_shared<api::Pod>();
  api::ObjectMeta& meta = pod->metadata;
  meta.name = name;
  meta.namespace_ = chance(80) ? "default" : "team";
  meta.uid = "uid-" + name;
  if (chance(85)) meta.labels["app"] = Symbol(app());
  if (chance(40)) {
    api::OwnerReference& ref = meta.owner_references.emplace_back();
    ref.api_version = "apps/v1";
    ref.kind = "ReplicaSet";
    ref.name = one_of(kControllers);
    ref.uid = "uid-" + ref.name.str();
    if (chance(80)) ref.controller = true;
  }
  if (chance(30)) meta.annotations[api::ReservationAffinity::kAnnotation] = Symbol(affinity(names));
  if (chance(10)) {
    static constexpr const char* kExact[] = {R"({"resourceNames":["cpu"]})",
                                             R"({"resourceNames":["cpu","memory"]})",
                                             R"({"resourceNames":["example.com/gpu","cpu"]})", R"({})"};
    meta.annotations[api::ExactMatchReservation::kAnnotation] = Symbol(one_of(kExact));
  }
  if (chance(6)) meta.labels[api::kReservationIgnoredLabel] = "true";
  if (chance(4)) meta.labels[api::kOperatingModeLabel] = "Reservation";
  pod->spec.scheduler_name = "default-scheduler";
  pod->spec.priority = below(3) * 10;
  const int containers = chance(85) ? 1 : 2;
  for (int i = 0; i < containers; ++i) {
    api::Container& c = pod->spec.containers.emplace_back();
    c.name = Symbol(fmt::format("c{}", i));
    for (const auto& [resource, amount] : amounts()) {
      c.resources.requests[resource] = amount;
      if (resource == kGpu) c.resources.limits[resource] = amount;
    }
  }
  if (chance(12)) {
    api::ContainerPort& port = pod->spec.containers[0].ports.emplace_back();
    port.host_port = port.container_port = 8080 + below(2);
  }
  if (chance(12)) pod->spec.node_selector["zone"] = chance(50) ? "a" : "b";
  if (chance(30)) {
    api::Toleration& t = pod->spec.tolerations.emplace_back();
    t.key = "dedicated";
    t.operator_ = "Exists";
  }
  return pod;
}

api::ReservationOwner ReservedObjects::owner() {
  api::ReservationOwner owner;
  const int what = below(10);
  if (what < 6 || what == 9) {
    api::LabelSelector& selector = owner.label_selector.ensure();
    if (chance(80))
      selector.match_labels["app"] = Symbol(app());
    else
      selector.match_expressions.push_back(
          {"app", chance(50) ? "NotIn" : "In", {Symbol(app()), Symbol(app())}});
  }
  if (what == 6 || what == 9) {
    api::ObjectReference& object = owner.object.ensure();
    if (chance(50)) object.namespace_ = "default";
    if (chance(30)) object.name = one_of(kPods);
  }
  if (what == 7) {
    auto& controller = owner.controller.ensure();
    if (chance(50)) controller.namespace_ = "default";
    if (chance(80)) controller.owner.name = one_of(kControllers);
    if (chance(30)) controller.owner.uid = "uid-rs-1";
    if (chance(30)) controller.owner.controller = true;
  }
  return owner;  // what == 8: of everybody
}

api::Taint ReservedObjects::taint() {
  return {chance(70) ? "hold" : "other",
          "v",
          chance(60)   ? "NoSchedule"
          : chance(50) ? "NoExecute"
                       : "PreferNoSchedule",
          {}};
}

/// No two of them are alike: of equals any may come first.
std::string ReservedObjects::order() {
  static constexpr const char* kNone[] = {"0", "", "first", "1x", "99999999999999999999"};
  return chance(20) ? one_of(kNone) : std::to_string(++orders_ * (chance(50) ? 7 : -5));
}

std::shared_ptr<const api::Reservation> ReservedObjects::reservation(const std::string& name) {
  auto r = std::make_shared<api::Reservation>();
  r->metadata.name = name;
  r->metadata.uid = "uid-of-" + name;
  r->metadata.resource_version = "1";
  api::Pod of;
  if (chance(20)) of.metadata.namespace_ = "team";
  if (chance(50)) of.metadata.labels["app"] = Symbol(app());
  api::Container& c = of.spec.containers.emplace_back();
  c.name = "c";
  c.resources.requests = amounts();
  if (chance(20)) {
    api::ContainerPort& port = c.ports.emplace_back();
    port.host_port = port.container_port = 8080 + below(2);
  }
  if (chance(10)) of.spec.node_name = Symbol(node_name());
  if (chance(15)) of.spec.node_selector["zone"] = chance(50) ? "a" : "b";
  if (chance(20)) of.spec.priority = 5;
  r->spec.template_.text = api::encode(of);
  for (int i = chance(75) ? 1 : 2; i > 0; --i) r->spec.owners.push_back(owner());
  r->metadata.creation_timestamp = api::Time(WallTime(std::chrono::seconds(1'700'000'000)));
  r->spec.ttl = api::Duration(std::chrono::minutes(chance(50) ? 0 : chance(80) ? 600 : 20));
  if (chance(70)) r->spec.allocate_once = chance(30);
  static constexpr const char* kPolicies[] = {"", "Aligned", "Restricted", "Aligned", "Restricted"};
  r->spec.allocate_policy = one_of(kPolicies);
  if (chance(30)) r->metadata.labels["pool"] = chance(50) ? "x" : "y";
  if (chance(25)) r->metadata.labels[api::kReservationOrderLabel] = Symbol(order());
  if (chance(12)) r->spec.taints.push_back(taint());
  if (chance(10))
    r->metadata.annotations[api::ReservationRestrictedOptions::kAnnotation] =
        chance(70) ? R"({"resources":["cpu"]})" : R"({"resources":["example.com/gpu","pods"]})";
  if (chance(10))
    r->metadata.annotations[api::NodeReservation::kAnnotation] = R"({"resources":{"cpu":"500m"}})";
  if (chance(6))
    r->metadata.annotations[api::ReservationResize::kAnnotation] = R"({"resources":{"cpu":"3","pods":"2"}})";
  return r;
}

void ReservedObjects::change(api::Reservation& r) {
  switch (below(9)) {
    case 0: r.spec.unschedulable = !r.spec.unschedulable; break;
    case 1:
      if (r.spec.taints.empty())
        r.spec.taints.push_back(taint());
      else
        r.spec.taints.clear();
      break;
    case 2: r.metadata.labels[api::kReservationOrderLabel] = Symbol(order()); break;
    case 3: r.metadata.labels.erase("pool"); break;
    case 4: r.spec.owners = {owner()}; break;
    case 5: r.spec.allocate_once = chance(50); break;
    case 6:
      if (!r.status.node_name.empty()) r.status.allocatable = amounts();
      if (chance(30)) r.status.allocatable["pods"] = api::Quantity::from_int(1 + below(3));
      break;
    case 7:
      if (!r.status.node_name.empty()) r.status.phase = chance(50) ? "Failed" : "Succeeded";
      break;
    case 8: r.metadata.deletion_timestamp = api::Time(WallTime(std::chrono::hours(9000))); break;
  }
}

}  // namespace koord::scheduling::test
