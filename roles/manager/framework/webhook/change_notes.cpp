// See change_notes.hpp.
#include "framework/webhook/change_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>

#include "koord/api/koordinator/quota.hpp"

namespace koord::manager {

namespace {

constexpr std::array kWrittenWithoutEnd = {api::kQuotaRuntime,           api::kQuotaRequest,
                                           api::kQuotaChildRequest,      api::kQuotaGuaranteed,
                                           api::kQuotaAllocated,         api::kQuotaNonPreemptibleRequest,
                                           api::kQuotaNonPreemptibleUsed};

/// "status.used", "-metadata.annotations[quota.scheduling.koordinator.sh/runtime]".
bool is_written_without_end(std::string_view field) {
  if (field.starts_with('-')) field.remove_prefix(1);
  if (field == "status" || field.starts_with("status.")) return true;
  constexpr std::string_view kAnnotation = "metadata.annotations[";
  if (!field.starts_with(kAnnotation) || !field.ends_with(']')) return false;
  field.remove_prefix(kAnnotation.size());
  field.remove_suffix(1);
  return std::ranges::find(kWrittenWithoutEnd, field) != kWrittenWithoutEnd.end();
}

/// Of an object that is made: what it says, beside its name.
json::Document with_nothing_in_it(const json::Value& object) {
  json::Document bare;
  bare.set_object();
  for (const json::Member& member : object.members())
    if (member.value.is_object())
      bare.append(member.key(), json::Value::object(), bare.arena());
    else
      bare.append(member.key(), json::clone(member.value, bare.arena()), bare.arena());
  if (json::Value* const metadata = json::find(bare, "metadata"))
    for (const std::string_view name : {"name", "namespace"})
      json::set_text(*metadata, name, json::text_at(object, "metadata", name), bare.arena());
  return bare;
}

std::string_view verb_of(Operation operation) {
  switch (operation) {
    case Operation::create: return "create";
    case Operation::update: return "update";
    case Operation::remove: return "delete";
    case Operation::connect: break;
  }
  return "connect";
}

}  // namespace

void ChangeNotes::note(const AdmissionRequest& request, const Verdict& verdict, bool known) noexcept {
  try {
    write(request, verdict, known);
  } catch (const std::exception& thrown) {  // a defect of ours: the review is answered all the same
    log_.error("a change could not be noted", kv("resource", request.resource), kv("error", thrown.what()));
  }
}

void ChangeNotes::write(const AdmissionRequest& request, const Verdict& verdict, bool known) {
  if (!request.subresource.empty()) return;
  const json::Value& object = request.operation == Operation::remove ? request.old_object : request.object;
  const std::string_view name =
      request.name.empty() ? json::text_at(object, "metadata", "name") : request.name;
  const bool is_config = request.group.empty() && request.resource == "configmaps";
  if (is_config && (request.ns != ns_ || name != name_)) return;
  runtime::AuditRecord record;
  if (request.operation == Operation::update)
    record.changes = runtime::changed_fields(request.old_object, request.object);
  else if (request.operation == Operation::create)
    record.changes = runtime::changed_fields(with_nothing_in_it(object), object);
  if (request.operation == Operation::update &&
      (record.changes.empty() || std::ranges::all_of(record.changes, is_written_without_end)))
    return;
  record.user = request.username;
  record.verb = verb_of(request.operation);
  record.resource = request.group.empty() ? std::string(request.resource)
                                          : fmt::format("{}.{}", request.resource, request.group);
  record.namespace_ = request.ns;
  record.name = name;
  record.uid = json::text_at(object, "metadata", "uid");
  record.dry_run = request.dry_run;
  record.result = !known            ? runtime::AuditRecord::kUnknown
                  : verdict.allowed ? runtime::AuditRecord::kAdmitted
                                    : runtime::AuditRecord::kRefused;
  if (!verdict.allowed) record.message = verdict.message;
  record.bound();
  log_.info("what the manager works by is changed", kv("user", record.user), kv("verb", record.verb),
            kv("object", record.object()), kv("changes", fmt::format("{}", fmt::join(record.changes, " "))),
            kv("result", record.result), kv("dry_run", record.dry_run));
  audit_.note(std::move(record));
}

}  // namespace koord::manager
