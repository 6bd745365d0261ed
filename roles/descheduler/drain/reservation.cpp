// See reservation.hpp.
#include "drain/reservation.hpp"

#include "drain/drain_rules.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::descheduler::drain {
namespace {

using json::Arena;
using json::Value;

Value absent_label(std::string_view key, Arena& arena) {
  Value made = Value::object();
  json::set_text(made, "key", key, arena);
  json::set_text(made, "operator", "DoesNotExist", arena);
  return made;
}

/// Required terms are alternatives: each of them gets it. Those that somebody prefers add up.
void keep_off_drained(Value& spec, Arena& arena) {
  Value& affinity = json::object_at(json::object_at(spec, "affinity", arena), "nodeAffinity", arena);
  Value& required = json::object_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution", arena);
  Value& terms = json::array_at(required, "nodeSelectorTerms", arena);
  if (terms.empty()) terms.push_back(Value::object(), arena);
  for (Value& term : terms.elements())
    json::array_at(term, "matchExpressions", arena)
        .push_back(absent_label(api::kDrainPlanningLabel, arena), arena);
  Value& preferred = json::array_at(affinity, "preferredDuringSchedulingIgnoredDuringExecution", arena)
                         .push_back(Value::object(), arena);
  json::set_int(preferred, "weight", 100, arena);
  json::array_at(json::object_at(preferred, "preference", arena), "matchExpressions", arena)
      .push_back(absent_label(api::kDrainGroupLabel, arena), arena);
}

const Value* controller_of(const Value& pod) {
  const Value* const owners = json::find(pod, "metadata", "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return nullptr;
  for (const Value& owner : owners->elements())
    if (json::true_at(owner, "controller")) return &owner;
  return nullptr;
}

}  // namespace

Result<std::string> reservation_for(const api::DrainNode& drain, std::string_view pod) {
  KOORD_TRY(document, json::parse(pod));
  const Value* const controller = controller_of(document);
  const Value* const metadata = json::find(document, "metadata");
  const Value* const spec = json::find(document, "spec");
  if (controller == nullptr || metadata == nullptr || spec == nullptr || !spec->is_object())
    return Error(Code::invalid, "the pod has no controller: nobody would make another one");
  const std::string_view ns = json::text_at(*metadata, "namespace"), name = json::text_at(*metadata, "name");

  json::Document made;
  made.set_object();
  Arena& arena = made.arena();
  json::set_text(made, "apiVersion", api::kind<api::Reservation>().api_version(), arena);
  json::set_text(made, "kind", api::kind<api::Reservation>().kind, arena);

  Value& own = json::object_at(made, "metadata", arena);
  json::set_text(own, "name", part_name(drain.metadata.name, json::text_at(*metadata, "uid")), arena);
  Value& labels = json::object_at(own, "labels", arena);
  json::set_text(labels, api::kDrainNodeLabel, drain.metadata.name, arena);
  // Labels hold no more, and a pod's name may be longer.
  json::set_text(labels, api::kDrainPodNamespaceLabel, ns.substr(0, kMaxName), arena);
  if (name.size() <= kMaxName) json::set_text(labels, api::kDrainPodNameLabel, name, arena);
  Value& owner = json::array_at(own, "ownerReferences", arena).push_back(Value::object(), arena);
  json::set_text(owner, "apiVersion", api::kind<api::DrainNode>().api_version(), arena);
  json::set_text(owner, "kind", api::kind<api::DrainNode>().kind, arena);
  json::set_text(owner, "name", drain.metadata.name, arena);
  json::set_text(owner, "uid", drain.metadata.uid, arena);
  json::set(owner, "controller", Value(true), arena);
  json::set(owner, "blockOwnerDeletion", Value(true), arena);

  Value& wanted = json::object_at(made, "spec", arena);
  Value& pod_template = json::object_at(wanted, "template", arena);
  Value& pod_metadata = json::object_at(pod_template, "metadata", arena);
  for (const std::string_view part : {"namespace", "labels", "annotations", "ownerReferences"})
    if (const Value* value = json::find(*metadata, part))
      json::set(pod_metadata, part, json::clone(*value, arena), arena);
  Value& pod_spec = json::set(pod_template, "spec", json::clone(*spec, arena), arena);
  json::remove(pod_spec, "nodeName");
  keep_off_drained(pod_spec, arena);

  Value& user = json::array_at(wanted, "owners", arena).push_back(Value::object(), arena);
  Value& reference = json::set(user, "controller", json::clone(*controller, arena), arena);
  json::set_text(reference, "namespace", ns, arena);
  json::set(wanted, "allocateOnce", Value(true), arena);
  // It would end by itself otherwise, while the drain waits for somebody to confirm it.
  json::set_text(wanted, "ttl", "0s", arena);
  return json::to_text(made);
}

}  // namespace koord::descheduler::drain
