// Creating, changing and deleting objects as kube-apiserver's registry does.
#include "sandbox/api/verbs.hpp"

#include <fmt/format.h>

#include "koord/api/values/time.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

// etcd's limit on a request.
constexpr std::size_t kMaxObjectBytes = std::size_t{1536} * 1024;

Outcome<void> check_type(const json::Value& doc, const Kind& kind) {
  std::string_view version = text_at(doc, "apiVersion"), name = text_at(doc, "kind");
  std::string expected = kind.api_version();
  if (!name.empty() && name != kind.kind)
    return bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: no kind \"{}\" is registered for version \"{}\"",
        name, version, kind.kind, name, version));
  if (!version.empty() && version != expected)
    return bad_request(fmt::format(
        "the API version in the data ({}) does not match the expected API version ({})", version, expected));
  return {};
}

// Containers get defaults of at least so many bytes each: more than fit are refused before they are there.
bool too_many_containers(const json::Value& doc) {
  constexpr std::size_t kDefaultsBytes = 150;
  std::size_t count = 0;
  for (const json::Value* spec : {find(doc, "spec"), find(doc, "spec", "template", "spec")})
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
      if (const json::Value* containers = spec ? find(*spec, list) : nullptr) count += containers->size();
  return count > kMaxObjectBytes / kDefaultsBytes;
}

// The Go decoder's complaint about a field of another type.
Outcome<void> check_shape(const json::Value& doc, const Kind& kind) {
  auto wrong = [&](std::string_view what, std::string_view field, std::string_view type) {
    return bad_request(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal {} into Go "
                    "struct field {}.{} of type {}",
                    kind.kind, kind.version, kind.kind, what, kind.kind, field, type));
  };
  auto name_of = [](const json::Value& value) -> std::string_view {
    return value.is_string()   ? "string"
           : value.is_object() ? "object"
           : value.is_array()  ? "array"
           : value.is_bool()   ? "bool"
                               : "number";
  };
  auto is = [&](const json::Value* value, json::Type type) {
    return !value || value->is_null() || value->type() == type;
  };
  if (!kind.custom && too_many_containers(doc)) return too_large("etcdserver: request is too large");
  const json::Value* meta = find(doc, "metadata");
  if (!is(meta, json::Type::object)) return wrong(name_of(*meta), "metadata", "v1.ObjectMeta");
  if (!kind.custom)
    for (const char* part : {"spec", "status"})
      if (const json::Value* value = find(doc, part); !is(value, json::Type::object))
        return wrong(name_of(*value), part,
                     fmt::format("{}.{}{}", kind.version, kind.kind, part[1] == 'p' ? "Spec" : "Status"));
  if (!meta || !meta->is_object()) return {};
  for (const char* text : {"name", "namespace", "generateName", "uid", "resourceVersion"})
    if (const json::Value* value = find(*meta, text); !is(value, json::Type::string))
      return wrong(name_of(*value), fmt::format("metadata.{}", text), "string");
  for (const char* map : {"labels", "annotations"}) {
    const json::Value* value = find(*meta, map);
    if (!is(value, json::Type::object))
      return wrong(name_of(*value), fmt::format("metadata.{}", map), "map[string]string");
    if (!value || !value->is_object()) continue;
    for (const auto& entry : value->members())
      if (!entry.value.is_string() && !entry.value.is_null())
        return wrong(name_of(entry.value), fmt::format("metadata.{}", map), "string");
  }
  for (const char* list : {"finalizers", "ownerReferences", "managedFields"})
    if (const json::Value* value = find(*meta, list); !is(value, json::Type::array))
      return wrong(name_of(*value), fmt::format("metadata.{}", list), "[]string");
  return {};
}

Outcome<void> check_home(const json::Value& doc, const Kind& kind, std::string_view ns) {
  std::string_view own = text_at(doc, "metadata", "namespace");
  if (!kind.namespaced || own.empty() || own == ns) return {};
  return bad_request("the namespace of the provided object does not match the namespace sent on the request");
}

// What a new object does not have yet when it may still be changed: the server gives it afterwards.
void hide_given(json::Document& doc, const Kind& kind, bool generated) {
  json::Value& meta = object_at(doc, "metadata", doc.arena());
  for (const char* field : {"uid", "creationTimestamp", "generation"}) json::remove(meta, field);
  if (generated) json::remove(meta, "name");
  if (kind.status && !kind.custom && kind.resource != "nodes")
    object_at(doc, "status", doc.arena()).set_object();
}

void restore(json::Value& meta, const json::Value& old_meta, const char* field, json::Arena& arena) {
  if (const json::Value* value = find(old_meta, field))
    set(meta, field, clone(*value, arena), arena);
  else
    json::remove(meta, field);
}

// Custom kinds count every change outside of metadata and status, built-in ones their spec.
bool spec_changed(const Kind& kind, const json::Value& before, const json::Value& after) {
  if (!kind.custom) return !same(find(before, "spec"), find(after, "spec"));
  auto covers = [&](const json::Value& a, const json::Value& b) {
    for (const auto& member : a.members()) {
      std::string_view name = member.key();
      if (name == "metadata" || name == "apiVersion" || name == "kind" || (name == "status" && kind.status))
        continue;
      if (!same(&member.value, find(b, name))) return false;
    }
    return true;
  };
  return !covers(before, after) || !covers(after, before);
}

}  // namespace

Verbs::Verbs(Store& store, Registry& registry, Clock& clock, std::uint64_t seed)
    : store_(store), registry_(registry), clock_(clock), random_(seed) {}

std::string Verbs::now_text() const { return api::Time(clock_.now()).to_string(); }

std::string Verbs::new_uid() {
  std::uint64_t high = random_(), low = random_();
  high = (high & ~0xf000ULL) | 0x4000ULL;
  low = (low & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff,
                     low >> 48, low & 0xffffffffffffULL);
}

std::string Verbs::random_suffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kAlphabet[random_() % kAlphabet.size()];
  return suffix;
}

Outcome<void> Verbs::check_namespace(const Kind& kind, std::string_view ns) const {
  if (!kind.namespaced) return {};
  auto space = store_.collection("namespaces").get("", ns);
  if (!space) return not_found({"", "namespaces"}, ns);
  return {};
}

Outcome<void> Verbs::complete_new(const Kind& kind, std::string_view ns, const Gate::Identity& identity,
                                  json::Document& doc) {
  json::Arena& arena = doc.arena();
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  set(doc, "apiVersion", make_text(kind.api_version(), arena), arena);
  set(doc, "kind", make_text(kind.kind, arena), arena);
  json::Value& meta = object_at(doc, "metadata", arena);
  KOORD_PASS(check_home(doc, kind, ns));
  if (kind.namespaced)
    set_text(meta, "namespace", ns, arena);
  else
    json::remove(meta, "namespace");
  // A name may be 63 long where it is a label: the random part replaces the end of a long prefix.
  if (std::string_view prefix = text_at(meta, "generateName");
      text_at(meta, "name").empty() && !prefix.empty())
    set_text(meta, "name", fmt::format("{}{}", prefix.substr(0, 58), identity.suffix), arena);
  for (const char* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "resourceVersion"})
    json::remove(meta, field);
  set_text(meta, "uid", identity.uid, arena);
  set_text(meta, "creationTimestamp", identity.created, arena);
  if (kind.counts_generation) set_int(meta, "generation", 1, arena);

  Admission admission{kind, registry_, arena, clock_.now(), ""};
  if (kind.rules.prepare_create)
    kind.rules.prepare_create(doc, admission);
  else if (kind.status)
    json::remove(doc, "status");
  if (kind.rules.defaults) kind.rules.defaults(doc, arena);
  if (kind.schema) KOORD_PASS(kind.schema->complete(doc, arena));
  if (kind.rules.admit) KOORD_PASS(kind.rules.admit(doc, nullptr, admission));
  return {};
}

Outcome<ObjectPtr> Verbs::create(const Kind& kind, std::string_view ns, json::Document& doc,
                                 const WriteOptions& options) {
  if (!doc.is_object())
    return bad_request(fmt::format("the object provided is unrecognized (must be of type {})", kind.kind));
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  KOORD_PASS(check_home(doc, kind, ns));
  if (!text_at(doc, "metadata", "resourceVersion").empty())
    return bad_request("resourceVersion should not be set on objects to be created");
  const bool generated =
      text_at(doc, "metadata", "name").empty() && !text_at(doc, "metadata", "generateName").empty();
  std::optional<Gate::Identity> minted;
  std::optional<Gate::Identity>& identity = options.gate ? options.gate->identity : minted;
  if (!identity) {
    std::string suffix = generated ? random_suffix() : "";
    identity = {new_uid(), now_text(), std::move(suffix)};
  }
  std::string name(text_at(doc, "metadata", "name"));
  if (generated) name = fmt::format("{}{}", text_at(doc, "metadata", "generateName"), identity->suffix);
  KOORD_PASS(check_namespace(kind, ns));
  if (kind.namespaced) {
    auto space = store_.collection("namespaces").get("", ns);
    if (space->deleting) {
      Failure failure = forbidden(
          kind.named(), name,
          fmt::format("unable to create new content in namespace {} because it is being terminated", ns));
      failure.causes.push_back({"NamespaceTerminating", fmt::format("namespace {} is being terminated", ns),
                                "metadata.namespace"});
      return failure;
    }
  }
  KOORD_PASS(complete_new(kind, ns, *identity, doc));
  Attempt attempt{.operation = Operation::create, .kind = kind, .ns = ns, .object = &doc};
  attempt.dry_run = options.dry_run;
  const std::string asked_name = generated ? "" : name;
  for (Gate::Stage stage : {Gate::Stage::mutate, Gate::Stage::reinvoke}) {
    if (!options.gate) break;
    hide_given(doc, kind, generated);
    attempt.name = asked_name;
    attempt.changed = false;
    KOORD_PASS(options.gate->pass(stage, attempt));
    KOORD_PASS(complete_new(kind, ns, *identity, doc));
    if (!attempt.changed) break;
  }

  json::Arena& arena = doc.arena();
  name = text_at(doc, "metadata", "name");
  Admission admission{kind, registry_, arena, clock_.now(), ""};
  StatusCauses errors;
  validate_metadata(doc, kind, errors);
  if (kind.rules.validate) kind.rules.validate(doc, nullptr, admission, errors);
  if (kind.schema) kind.schema->validate(doc, nullptr, errors);
  if (!errors.empty()) return errors.failure(kind.group, kind.kind, name);
  if (options.gate) {
    attempt.name = name;
    KOORD_PASS(options.gate->pass(Gate::Stage::validate, attempt));
  }
  if (kind.objects->get(kind.namespaced ? ns : std::string_view{}, name))
    return already_exists(kind.named(), name);
  return commit(kind, doc, options);
}

Outcome<ObjectPtr> Verbs::commit(const Kind& kind, json::Document& doc, const WriteOptions& options) {
  std::uint64_t version = options.dry_run ? store_.version() : store_.next_version();
  ObjectPtr object = make_object(doc, doc.arena(), version, kind.rules.fields);
  if (object->bytes.size() > kMaxObjectBytes) return too_large("etcdserver: request is too large");
  if (!options.dry_run) kind.objects->put(object);
  return object;
}

Outcome<ObjectPtr> Verbs::update(const Kind& kind, std::string_view ns, std::string_view name,
                                 std::string_view subresource, json::Document& doc,
                                 const WriteOptions& options) {
  if (!doc.is_object())
    return bad_request(fmt::format("the object provided is unrecognized (must be of type {})", kind.kind));
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  json::Arena& arena = doc.arena();
  json::Value& meta = object_at(doc, "metadata", arena);
  std::string_view body_name = text_at(meta, "name");
  if (body_name.empty())
    set_text(meta, "name", name, arena);
  else if (body_name != name)
    return bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", body_name, name));
  if (std::string_view body_ns = text_at(meta, "namespace");
      kind.namespaced && !body_ns.empty() && body_ns != ns)
    return bad_request(fmt::format(
        "the namespace of the object ({}) does not match the namespace on the URL ({})", body_ns, ns));
  ObjectPtr old = kind.objects->get(ns, name);
  if (!old) {
    KOORD_PASS(check_namespace(kind, ns));
    if (!options.allow_create) return not_found(kind.named(), name);
    if (!text_at(meta, "resourceVersion").empty()) return not_found(kind.named(), name);
    return create(kind, ns, doc, options);
  }
  json::Document before;
  load(*old, before);
  return finish_update(kind, old, before, doc, subresource, options);
}

Outcome<ObjectPtr> Verbs::modify(const Kind& kind, std::string_view ns, std::string_view name,
                                 std::string_view subresource, const Edit& edit,
                                 const WriteOptions& options) {
  ObjectPtr old = kind.objects->get(ns, name);
  if (!old) {
    KOORD_PASS(check_namespace(kind, ns));
    return not_found(kind.named(), name);
  }
  json::Document doc;
  load(*old, doc);
  json::Document before = json::clone(doc);  // in memory of its own: an edit may read another document
  KOORD_PASS(edit(doc));
  if (!doc.is_object()) return bad_request("the patch does not leave an object");
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  json::Value& meta = object_at(doc, "metadata", doc.arena());
  if (text_at(meta, "name") != name)
    return bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                   text_at(meta, "name"), name));
  return finish_update(kind, old, before, doc, subresource, options);
}

// What an update may not touch is as it was, what is absent and has a default has it.
Outcome<void> Verbs::complete_update(const Kind& kind, json::Value& before, json::Document& doc,
                                     std::string_view subresource) {
  json::Arena& arena = doc.arena();
  json::Value& meta = object_at(doc, "metadata", arena);
  const json::Value& old_meta = *find(before, "metadata");
  set(doc, "apiVersion", clone(*find(before, "apiVersion"), arena), arena);
  set(doc, "kind", clone(*find(before, "kind"), arena), arena);
  for (const char* field : {"uid", "namespace", "generateName", "creationTimestamp", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "generation", "resourceVersion"})
    restore(meta, old_meta, field, arena);
  json::remove(meta, "selfLink");
  if (subresource == "status") {
    // Only the status changes; of built-in kinds labels and annotations too.
    const json::Value* status = find(doc, "status");
    json::Value kept = status ? clone(*status, arena) : json::Value();
    json::Value labels, annotations, managed;
    auto take = [&](const char* key, json::Value& to) {
      if (const json::Value* value = find(meta, key)) to = clone(*value, arena);
    };
    take("labels", labels);
    take("annotations", annotations);
    take("managedFields", managed);
    static_cast<json::Value&>(doc) = clone(before, arena);
    if (kept.is_null())
      json::remove(doc, "status");
    else
      set(doc, "status", std::move(kept), arena);
    json::Value& now_meta = object_at(doc, "metadata", arena);
    auto give = [&](const char* key, json::Value& from) {
      if (from.is_null())
        json::remove(now_meta, key);
      else
        set(now_meta, key, std::move(from), arena);
    };
    give("managedFields", managed);
    if (!kind.custom) {
      give("labels", labels);
      give("annotations", annotations);
    }
  } else if (kind.status && subresource.empty()) {
    if (const json::Value* status = find(before, "status"))
      set(doc, "status", clone(*status, arena), arena);
    else
      json::remove(doc, "status");
  }
  if (kind.rules.defaults) kind.rules.defaults(doc, arena);
  if (kind.schema) KOORD_PASS(kind.schema->complete(doc, arena));
  Admission admission{kind, registry_, arena, clock_.now(), subresource};
  if (kind.rules.admit) KOORD_PASS(kind.rules.admit(doc, &before, admission));
  return {};
}

Outcome<ObjectPtr> Verbs::finish_update(const Kind& kind, const ObjectPtr& old, json::Value& before,
                                        json::Document& doc, std::string_view subresource,
                                        const WriteOptions& options) {
  json::Arena& arena = doc.arena();
  json::Value& meta = object_at(doc, "metadata", arena);
  if (std::string_view asked = text_at(meta, "resourceVersion");
      !asked.empty() && asked != "0" && asked != fmt::to_string(old->rv))
    return stale(kind.named(), old->name);
  if (std::string_view uid = text_at(meta, "uid"); !uid.empty() && uid != old->uid)
    return conflict(
        kind.named(), old->name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, old->uid));
  KOORD_PASS(complete_update(kind, before, doc, subresource));
  Attempt attempt{.operation = Operation::update,
                  .kind = kind,
                  .ns = old->ns,
                  .name = old->name,
                  .subresource = subresource,
                  .object = &doc,
                  .old = &before,
                  .version = old->rv};
  attempt.dry_run = options.dry_run;
  for (Gate::Stage stage : {Gate::Stage::mutate, Gate::Stage::reinvoke}) {
    if (!options.gate) break;
    attempt.changed = false;
    KOORD_PASS(options.gate->pass(stage, attempt));
    if (!attempt.changed) break;
    KOORD_PASS(check_shape(doc, kind));
    KOORD_PASS(complete_update(kind, before, doc, subresource));
  }
  json::Value& final_meta = object_at(doc, "metadata", arena);
  Admission admission{kind, registry_, arena, clock_.now(), subresource};
  if (kind.counts_generation && subresource != "status" && spec_changed(kind, before, doc))
    set_int(final_meta, "generation", int_at(final_meta, "generation").value_or(0) + 1, arena);

  StatusCauses errors;
  if (text_at(final_meta, "name") != old->name)
    errors.invalid("metadata.name", text_at(final_meta, "name"), "field is immutable");
  validate_metadata(doc, kind, errors);
  if (kind.rules.validate) kind.rules.validate(doc, &before, admission, errors);
  if (kind.schema) kind.schema->validate(doc, &before, errors);
  if (!errors.empty()) return errors.failure(kind.group, kind.kind, old->name);
  if (options.gate) KOORD_PASS(options.gate->pass(Gate::Stage::validate, attempt));
  if (same(&before, &doc)) return old;
  if (old->deleting && is_empty(find(final_meta, "finalizers")) && !options.dry_run &&
      int_at(final_meta, "deletionGracePeriodSeconds").value_or(0) == 0 &&
      !(kind.resource == "namespaces" && !is_empty(find(doc, "spec", "finalizers")))) {
    // The last finalizer has gone: so does the object.
    auto last = commit(kind, doc, options);
    if (last) kind.objects->erase(old->ns, old->name);
    return last;
  }
  return commit(kind, doc, options);
}

ObjectPtr Verbs::write_trusted(const Kind& kind, const Object& old,
                               const std::function<void(json::Document&)>& edit) {
  json::Document doc;
  load(old, doc);
  edit(doc);
  ObjectPtr object = make_object(doc, doc.arena(), store_.next_version(), kind.rules.fields);
  kind.objects->put(object);
  return object;
}

void Verbs::erase(const Kind& kind, const Object& object) { kind.objects->erase(object.ns, object.name); }

}  // namespace koord::sandbox
