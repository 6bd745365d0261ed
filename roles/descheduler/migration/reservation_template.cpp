// reservation_template(): see reservation_template.hpp.
#include "migration/reservation_template.hpp"

#include <chrono>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::descheduler::migration {

namespace {

using json::Arena;
using json::Value;

/// Of a pod's metadata all but who wrote which field of it.
Value pod_template(const Value& pod, Arena& arena) {
  Value made = Value::object();
  if (const Value* metadata = json::find(pod, "metadata")) {
    Value& copy = json::set(made, "metadata", json::clone(*metadata, arena), arena);
    json::remove(copy, "managedFields");
  }
  if (const Value* spec = json::find(pod, "spec")) json::set(made, "spec", json::clone(*spec, arena), arena);
  return made;
}

/// Waits for a node, and the scheduler has said that there is none.
bool is_unschedulable(const Value& pod) {
  if (json::text_at(pod, "status", "phase") != "Pending") return false;
  const Value* conditions = json::find(pod, "status", "conditions");
  if (!conditions) return false;
  for (const Value& condition : conditions->elements())
    if (json::text_at(condition, "type") == "PodScheduled")
      return json::text_at(condition, "status") == "False";
  return false;
}

Value owners_of(const Value& pod, Arena& arena) {
  Value owners = Value::array();
  const std::string_view ns = json::text_at(pod, "metadata", "namespace");
  if (is_unschedulable(pod)) {
    Value& object = json::object_at(owners.push_back(Value::object(), arena), "object", arena);
    json::set_text(object, "kind", "Pod", arena);
    json::set_text(object, "namespace", ns, arena);
    json::set_text(object, "name", json::text_at(pod, "metadata", "name"), arena);
    json::set_text(object, "uid", json::text_at(pod, "metadata", "uid"), arena);
    return owners;
  }
  const Value* references = json::find(pod, "metadata", "ownerReferences");
  if (!references) return owners;
  for (const Value& reference : references->elements()) {
    if (!json::true_at(reference, "controller")) continue;
    Value& owner = owners.push_back(Value::object(), arena);
    Value& controller = json::set(owner, "controller", json::clone(reference, arena), arena);
    json::set_text(controller, "namespace", ns, arena);
    break;
  }
  return owners;
}

/// In every required term, since a node that matches one of them will do.
void keep_off(Value& spec, std::string_view node, Arena& arena) {
  Value& affinity = json::object_at(spec, "affinity", arena);
  Value& nodes = json::object_at(affinity, "nodeAffinity", arena);
  Value& required = json::object_at(nodes, "requiredDuringSchedulingIgnoredDuringExecution", arena);
  Value& terms = json::array_at(required, "nodeSelectorTerms", arena);
  if (terms.empty()) terms.push_back(Value::object(), arena);
  for (Value& term : terms.elements()) {
    Value& field = json::array_at(term, "matchFields", arena).push_back(Value::object(), arena);
    json::set_text(field, "key", "metadata.name", arena);
    json::set_text(field, "operator", "NotIn", arena);
    json::array_at(field, "values", arena).push_back(json::make_text(node, arena), arena);
  }
}

}  // namespace

Result<std::string> reservation_template(const api::PodMigrationJob& job, std::string_view pod,
                                         bool without_claims, WallTime now,
                                         std::span<const std::string> away) {
  KOORD_TRY(document, json::parse(pod));
  json::Document made;
  if (job.spec.reservation_options && !job.spec.reservation_options->template_.empty()) {
    const Result<> read = made.read(job.spec.reservation_options->template_.text);
    if (!read) return read.error().context("spec.reservationOptions.template");
  }
  Arena& arena = made.arena();
  if (made.is_null()) made.set_object();
  if (!made.is_object())
    return Error(Code::invalid, "spec.reservationOptions.template: an object is expected");

  Value& metadata = json::object_at(made, "metadata", arena);
  if (json::text_at(metadata, "name").empty()) json::set_text(metadata, "name", job.metadata.uid, arena);
  Value& labels = json::object_at(metadata, "labels", arena);
  json::set_text(labels, kCreatedByLabel, kCreator, arena);
  json::set_text(labels, api::kReservationOrderLabel, reservation_order(now), arena);

  Value& spec = json::object_at(made, "spec", arena);
  if (json::is_empty(json::find(spec, "template")))
    json::set(spec, "template", pod_template(document, arena), arena);
  if (json::is_empty(json::find(spec, "owners")))
    json::set(spec, "owners", owners_of(document, arena), arena);
  json::set(spec, "allocateOnce", Value(true), arena);
  const Value* ttl = json::find(spec, "ttl");
  const Value* expires = json::find(spec, "expires");
  if ((!ttl || ttl->is_null()) && (!expires || expires->is_null()) && job.spec.ttl &&
      job.spec.ttl->value.count() > 0)
    json::set_text(spec, "ttl", job.spec.ttl->to_string(), arena);

  Value& pod_spec = json::object_at(json::object_at(spec, "template", arena), "spec", arena);
  json::remove(pod_spec, "nodeName");
  const std::string_view own = json::text_at(document, "spec", "nodeName");
  if (!own.empty()) keep_off(pod_spec, own, arena);
  for (const std::string& node : away)
    if (node != own) keep_off(pod_spec, node, arena);
  if (without_claims) {
    if (Value* volumes = json::find(pod_spec, "volumes"); volumes && volumes->is_array()) {
      volumes->erase_if([](const Value& volume) {
        return json::find(volume, "persistentVolumeClaim") || json::find(volume, "ephemeral");
      });
      if (volumes->empty()) json::remove(pod_spec, "volumes");
    }
  }
  return json::to_text(made);
}

std::string reservation_order(WallTime now) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count());
}

Result<std::string> reservation_document(std::string_view made) {
  KOORD_TRY(document, json::parse(made));
  const api::Kind& kind = api::kind<api::Reservation>();
  std::string text;
  json::Writer writer(text);
  writer.begin_object().member("apiVersion", kind.api_version()).member("kind", kind.kind);
  for (const std::string_view part : {"metadata", "spec"})
    if (const Value* value = json::find(document, part)) writer.member(part, *value);
  writer.end_object();
  return text;
}

}  // namespace koord::descheduler::migration
