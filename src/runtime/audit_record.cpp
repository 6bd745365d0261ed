// Records of modifications: see audit_record.hpp.
#include "koord/runtime/audit_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/write_log.hpp"
#include "koord/net/message.hpp"

namespace koord::runtime {

KOORD_SCHEMA(AuditRecord, ROW(id).doc("Of the modification, in the file once before it and once after."),
             ROW(time).doc("Before it was begun."), ROW(user).doc("Who asked for it, of what others do."),
             ROW(profile).doc("Of the configuration."), ROW(plugin).doc("Or the controller that does it."),
             ROW(wanted_by).doc("The objects that ask for it, the outermost first: DrainNodeGroup/a."),
             ROW(reason).doc("In the words of who wanted it."),
             ROW(verb).doc("create, update, patch, delete or evict."),
             ROW(resource).doc("With its group: podmigrationjobs.scheduling.koordinator.sh."),
             ROW(namespace_).wire("namespace"), ROW(name), ROW(subresource), ROW(uid),
             ROW(changes).doc("The fields that are written, at most 16; '-' before those that are removed."),
             ROW(dry_run).doc("Nothing is changed, whatever stands here."),
             ROW(result).doc("done, refused, conflict, notSent, unknown; of what others do admitted or "
                             "refused; absent: it has just begun."),
             ROW(error).doc("Which kind of error, of those not done."),
             ROW(message).doc("What the API server said."), ROW(took).doc("Waiting for its turn included."));

namespace {

using json::Value;

constexpr int kDeepest = 3;
/// Members of these are data, not fields.
constexpr std::array<std::string_view, 5> kMaps = {"labels", "annotations", "data", "binaryData",
                                                   "stringData"};
constexpr std::array<std::string_view, 6> kKeptByServer = {
    "managedFields", "generation", "resourceVersion", "uid", "creationTimestamp", "selfLink"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string below(const std::string& path, std::string_view key, bool of_map) {
  key = utf8_prefix(key, AuditRecord::kMaxName);
  if (of_map) return fmt::format("{}[{}]", path, key);
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string removed(const std::string& name) { return fmt::format("-{}", name); }

/// One more than fit, so that whoever cuts them sees that there were more.
bool is_full(const std::vector<std::string>& found) { return found.size() > AuditRecord::kMaxChanges; }

void patched(const Value& patch, const std::string& path, int depth, bool of_map,
             std::vector<std::string>& found) {
  for (const json::Member& member : patch.members()) {
    if (is_full(found)) return;
    const std::string_view key = member.key();
    if (key.starts_with('$') || (path == "metadata" && is_one_of(kKeptByServer, key))) continue;
    std::string name = below(path, key, of_map);
    if (member.value.is_object() && !member.value.empty() && depth < kDeepest)
      patched(member.value, name, depth + 1, is_one_of(kMaps, key), found);
    else
      found.push_back(member.value.is_null() ? removed(name) : std::move(name));
  }
}

/// Objects may have members without number, which is no reason to look each up.
std::vector<const json::Member*> by_key(const Value& object) {
  std::vector<const json::Member*> all;
  all.reserve(object.size());
  for (const json::Member& member : object.members()) all.push_back(&member);
  std::ranges::stable_sort(all, {}, [](const json::Member* member) { return member->key(); });
  return all;
}

void differing(const Value& before, const Value& after, const std::string& path, int depth, bool of_map,
               std::vector<std::string>& found) {
  const auto look = [&](std::string_view key, const Value* was, const Value* is) {
    if (is_full(found) || (path == "metadata" && is_one_of(kKeptByServer, key))) return;
    if (json::same(was, is)) return;
    std::string name = below(path, key, of_map);
    if (was != nullptr && is != nullptr && was->is_object() && is->is_object() && depth < kDeepest)
      differing(*was, *is, name, depth + 1, is_one_of(kMaps, key), found);
    else
      found.push_back(json::is_empty(is) ? removed(name) : std::move(name));
  };
  const std::vector<const json::Member*> was = by_key(before), is = by_key(after);
  auto old = was.begin();
  for (const json::Member* const member : is) {
    for (; old != was.end() && (*old)->key() < member->key(); ++old)
      look((*old)->key(), &(*old)->value, nullptr);
    const bool there = old != was.end() && (*old)->key() == member->key();
    look(member->key(), there ? &(*old)->value : nullptr, &member->value);
    if (there) ++old;
  }
  for (; old != was.end(); ++old) look((*old)->key(), &(*old)->value, nullptr);
}

void cut(std::string& text, std::size_t limit) {
  if (text.size() > limit) text = fmt::format("{} ...", utf8_prefix(text, limit - 4));
}

void cut(std::vector<std::string>& list, std::size_t limit) {
  if (list.size() > limit) {
    list.resize(limit);
    list.back() = "...";
  }
  for (std::string& text : list) cut(text, AuditRecord::kMaxName);
}

/// "/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE" and its shorter forms.
void read_target(std::string_view target, AuditRecord& record) {
  std::vector<std::string> parts;
  target = target.substr(0, target.find('?'));
  while (!target.empty()) {
    target.remove_prefix(1);
    const std::string_view part = target.substr(0, target.find('/'));
    parts.push_back(net::percent_decode(part).value_or(std::string(part)));
    target.remove_prefix(part.size());
  }
  if (parts.empty()) return;
  const bool core = parts[0] == "api";
  const std::string group = core || parts.size() < 2 ? "" : parts[1];
  parts.erase(parts.begin(), parts.begin() + std::min<std::ptrdiff_t>(core ? 2 : 3, std::ssize(parts)));
  if (parts.size() > 2 && parts[0] == "namespaces") {
    record.namespace_ = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (!parts.empty()) record.resource = group.empty() ? parts[0] : fmt::format("{}.{}", parts[0], group);
  if (parts.size() > 1) record.name = parts[1];
  if (parts.size() > 2) record.subresource = parts[2];
}

std::string verb_of(const net::Request& request, const AuditRecord& record) {
  if (request.method == "POST") return record.subresource == "eviction" ? "evict" : "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return record.name.empty() ? "deletecollection" : "delete";
  return request.method;
}

}  // namespace

std::string AuditRecord::object() const {
  std::string text = resource;
  for (const std::string& part : {namespace_, name})
    if (!part.empty()) text.append("/").append(part);
  return text;
}

void AuditRecord::bound() {
  for (std::string* text : {&reason, &message}) cut(*text, kMaxText);
  for (std::string* text : {&id, &user, &profile, &plugin, &verb, &resource, &namespace_, &name, &subresource,
                            &uid, &result, &error})
    cut(*text, kMaxName);
  cut(wanted_by, kMaxWantedBy);
  cut(changes, kMaxChanges);
}

std::size_t AuditRecord::bytes() const {
  std::size_t all = sizeof *this;
  for (const std::string* text : {&id, &user, &profile, &plugin, &reason, &verb, &resource, &namespace_,
                                  &name, &subresource, &uid, &result, &error, &message})
    all += text->size();
  for (const auto* list : {&wanted_by, &changes})
    for (const std::string& text : *list) all += sizeof(std::string) + text.size();
  return all;
}

AuditRecord record_of(const net::Request& request, const kube::Initiator* by) {
  AuditRecord record;
  read_target(request.target, record);
  record.verb = verb_of(request, record);
  if (by != nullptr) {
    record.profile = by->profile;
    record.plugin = by->plugin;
    record.wanted_by = by->wanted_by;
    record.reason = by->reason;
  }
  json::Document body;
  if (!request.body.empty() && !body.read(request.body)) body.set_null();
  if (record.name.empty()) record.name = json::text_at(body, "metadata", "name");
  const Value* options = request.method == "DELETE" ? &body : json::find(body, "deleteOptions");
  if (options == nullptr) options = &body;
  record.uid = json::text_at(*options, "preconditions", "uid");
  if (record.uid.empty()) record.uid = json::text_at(body, "metadata", "uid");
  record.dry_run =
      !json::is_empty(json::find(*options, "dryRun")) || request.target.find("dryRun=") != std::string::npos;
  if (request.method == "PATCH") record.changes = fields_of_patch(body);
  return record;
}

std::vector<std::string> fields_of_patch(const Value& patch) {
  std::vector<std::string> found;
  patched(patch, {}, 0, false, found);
  return found;
}

std::vector<std::string> changed_fields(const Value& before, const Value& after) {
  std::vector<std::string> found;
  differing(before, after, {}, 0, false, found);
  return found;
}

}  // namespace koord::runtime
