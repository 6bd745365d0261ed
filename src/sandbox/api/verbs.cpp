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

Outcome<void> check_type(const Json& doc, const Kind& kind) {
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

// The Go decoder's complaint about a field of another type.
Outcome<void> check_shape(const Json& doc, const Kind& kind) {
  auto wrong = [&](std::string_view what, std::string_view field, std::string_view type) {
    return bad_request(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal {} into Go "
                    "struct field {}.{} of type {}",
                    kind.kind, kind.version, kind.kind, what, kind.kind, field, type));
  };
  auto name_of = [](const Json& value) -> std::string_view {
    return value.IsString()   ? "string"
           : value.IsObject() ? "object"
           : value.IsArray()  ? "array"
           : value.IsBool()   ? "bool"
                              : "number";
  };
  auto is = [&](const Json* value, rapidjson::Type type) {
    return !value || value->IsNull() || value->GetType() == type;
  };
  const Json* meta = find(doc, "metadata");
  if (!is(meta, rapidjson::kObjectType)) return wrong(name_of(*meta), "metadata", "v1.ObjectMeta");
  if (!kind.custom)
    for (const char* part : {"spec", "status"})
      if (const Json* value = find(doc, part); !is(value, rapidjson::kObjectType))
        return wrong(name_of(*value), part,
                     fmt::format("{}.{}{}", kind.version, kind.kind, part[1] == 'p' ? "Spec" : "Status"));
  if (!meta || !meta->IsObject()) return {};
  for (const char* text : {"name", "namespace", "generateName", "uid", "resourceVersion"})
    if (const Json* value = find(*meta, text); !is(value, rapidjson::kStringType))
      return wrong(name_of(*value), fmt::format("metadata.{}", text), "string");
  for (const char* map : {"labels", "annotations"}) {
    const Json* value = find(*meta, map);
    if (!is(value, rapidjson::kObjectType))
      return wrong(name_of(*value), fmt::format("metadata.{}", map), "map[string]string");
    if (!value || !value->IsObject()) continue;
    for (const auto& entry : value->GetObject())
      if (!entry.value.IsString() && !entry.value.IsNull())
        return wrong(name_of(entry.value), fmt::format("metadata.{}", map), "string");
  }
  for (const char* list : {"finalizers", "ownerReferences", "managedFields"})
    if (const Json* value = find(*meta, list); !is(value, rapidjson::kArrayType))
      return wrong(name_of(*value), fmt::format("metadata.{}", list), "[]string");
  return {};
}

void restore(Json& meta, const Json& old_meta, const char* field, JsonAlloc& alloc) {
  if (const Json* value = find(old_meta, field))
    set(meta, field, clone(*value, alloc), alloc);
  else
    sandbox::remove(meta, field);
}

// Custom kinds count every change outside of metadata and status, built-in ones their spec.
bool spec_changed(const Kind& kind, const Json& before, const Json& after) {
  if (!kind.custom) return !same(find(before, "spec"), find(after, "spec"));
  auto covers = [&](const Json& a, const Json& b) {
    for (const auto& member : a.GetObject()) {
      std::string_view name = view(member.name);
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

Outcome<ObjectPtr> Verbs::create(const Kind& kind, std::string_view ns, JsonDoc& doc,
                                 const WriteOptions& options) {
  JsonAlloc& alloc = doc.GetAllocator();
  if (!doc.IsObject())
    return bad_request("the object provided is unrecognized (must be of type " + kind.kind + ")");
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  set(doc, "apiVersion", make_text(kind.api_version(), alloc), alloc);
  set(doc, "kind", make_text(kind.kind, alloc), alloc);
  Json& meta = object_at(doc, "metadata", alloc);
  if (std::string_view body_ns = text_at(meta, "namespace");
      kind.namespaced && !body_ns.empty() && body_ns != ns)
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  if (!text_at(meta, "resourceVersion").empty())
    return bad_request("resourceVersion should not be set on objects to be created");
  if (kind.namespaced)
    set_text(meta, "namespace", ns, alloc);
  else
    sandbox::remove(meta, "namespace");
  std::string_view prefix = text_at(meta, "generateName");
  bool generated = text_at(meta, "name").empty() && !prefix.empty();
  if (generated) {
    // A name may be 63 long where it is a label: the random part replaces the end of a long prefix.
    std::string name = std::string(prefix.substr(0, 58)) + random_suffix();
    set_text(meta, "name", name, alloc);
  }
  std::string name(text_at(meta, "name"));
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

  for (const char* field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "resourceVersion"})
    sandbox::remove(meta, field);
  set_text(meta, "uid", new_uid(), alloc);
  set_text(meta, "creationTimestamp", now_text(), alloc);
  if (kind.counts_generation) set_int(meta, "generation", 1, alloc);

  Admission admission{kind, registry_, alloc, clock_.now(), ""};
  if (kind.rules.prepare_create)
    kind.rules.prepare_create(doc, admission);
  else if (kind.status)
    sandbox::remove(doc, "status");
  if (kind.rules.defaults) kind.rules.defaults(doc, alloc);
  if (kind.schema) kind.schema->apply_defaults(doc, alloc);
  if (kind.rules.admit) KOORD_PASS(kind.rules.admit(doc, nullptr, admission));

  FieldErrors errors;
  validate_metadata(doc, kind, errors);
  if (kind.rules.validate) kind.rules.validate(doc, nullptr, admission, errors);
  if (kind.schema) kind.schema->validate(doc, errors);
  if (!errors.empty()) return errors.failure(kind.group, kind.kind, name);
  if (kind.objects->get(kind.namespaced ? ns : std::string_view{}, name))
    return already_exists(kind.named(), name);
  return commit(kind, doc, options);
}

Outcome<ObjectPtr> Verbs::commit(const Kind& kind, JsonDoc& doc, const WriteOptions& options) {
  std::uint64_t version = options.dry_run ? store_.version() : store_.next_version();
  ObjectPtr object = make_object(doc, doc.GetAllocator(), version, kind.rules.fields);
  if (object->bytes.size() > kMaxObjectBytes) return too_large("etcdserver: request is too large");
  if (!options.dry_run) kind.objects->put(object);
  return object;
}

Outcome<ObjectPtr> Verbs::update(const Kind& kind, std::string_view ns, std::string_view name,
                                 std::string_view subresource, JsonDoc& doc, const WriteOptions& options) {
  if (!doc.IsObject())
    return bad_request("the object provided is unrecognized (must be of type " + kind.kind + ")");
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  JsonAlloc& alloc = doc.GetAllocator();
  Json& meta = object_at(doc, "metadata", alloc);
  std::string_view body_name = text_at(meta, "name");
  if (body_name.empty())
    set_text(meta, "name", name, alloc);
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
  JsonDoc before(&alloc);
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
  JsonDoc doc;
  load(*old, doc);
  Json before = clone(doc, doc.GetAllocator());
  KOORD_PASS(edit(doc));
  if (!doc.IsObject()) return bad_request("the patch does not leave an object");
  KOORD_PASS(check_type(doc, kind));
  KOORD_PASS(check_shape(doc, kind));
  Json& meta = object_at(doc, "metadata", doc.GetAllocator());
  if (text_at(meta, "name") != name)
    return bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                                   text_at(meta, "name"), name));
  return finish_update(kind, old, before, doc, subresource, options);
}

Outcome<ObjectPtr> Verbs::finish_update(const Kind& kind, const ObjectPtr& old, Json& before, JsonDoc& doc,
                                        std::string_view subresource, const WriteOptions& options) {
  JsonAlloc& alloc = doc.GetAllocator();
  Json& meta = object_at(doc, "metadata", alloc);
  const Json& old_meta = *find(before, "metadata");
  if (std::string_view asked = text_at(meta, "resourceVersion");
      !asked.empty() && asked != "0" && asked != std::to_string(old->rv))
    return stale(kind.named(), old->name);
  if (std::string_view uid = text_at(meta, "uid"); !uid.empty() && uid != old->uid)
    return conflict(
        kind.named(), old->name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, old->uid));
  set(doc, "apiVersion", clone(*find(before, "apiVersion"), alloc), alloc);
  set(doc, "kind", clone(*find(before, "kind"), alloc), alloc);
  for (const char* field : {"uid", "namespace", "generateName", "creationTimestamp", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "generation", "resourceVersion"})
    restore(meta, old_meta, field, alloc);
  sandbox::remove(meta, "selfLink");
  if (subresource == "status") {
    // Only the status changes; of built-in kinds labels and annotations too.
    const Json* status = find(doc, "status");
    Json kept = status ? clone(*status, alloc) : Json();
    Json labels, annotations, managed;
    auto take = [&](const char* key, Json& to) {
      if (const Json* value = find(meta, key)) to = clone(*value, alloc);
    };
    take("labels", labels);
    take("annotations", annotations);
    take("managedFields", managed);
    static_cast<Json&>(doc) = clone(before, alloc);
    if (kept.IsNull())
      sandbox::remove(doc, "status");
    else
      set(doc, "status", std::move(kept), alloc);
    Json& now_meta = object_at(doc, "metadata", alloc);
    auto give = [&](const char* key, Json& from) {
      if (from.IsNull())
        sandbox::remove(now_meta, key);
      else
        set(now_meta, key, std::move(from), alloc);
    };
    give("managedFields", managed);
    if (!kind.custom) {
      give("labels", labels);
      give("annotations", annotations);
    }
  } else if (kind.status && subresource.empty()) {
    if (const Json* status = find(before, "status"))
      set(doc, "status", clone(*status, alloc), alloc);
    else
      sandbox::remove(doc, "status");
  }
  if (kind.rules.defaults) kind.rules.defaults(doc, alloc);
  if (kind.schema) kind.schema->apply_defaults(doc, alloc);
  Admission admission{kind, registry_, alloc, clock_.now(), subresource};
  if (kind.rules.admit) KOORD_PASS(kind.rules.admit(doc, &before, admission));
  Json& final_meta = object_at(doc, "metadata", alloc);
  if (kind.counts_generation && subresource != "status" && spec_changed(kind, before, doc))
    set_int(final_meta, "generation", int_at(final_meta, "generation").value_or(0) + 1, alloc);

  FieldErrors errors;
  validate_metadata(doc, kind, errors);
  if (kind.rules.validate) kind.rules.validate(doc, &before, admission, errors);
  if (kind.schema) kind.schema->validate(doc, errors);
  if (!errors.empty()) return errors.failure(kind.group, kind.kind, old->name);
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
                               const std::function<void(JsonDoc&)>& edit) {
  JsonDoc doc;
  load(old, doc);
  edit(doc);
  ObjectPtr object = make_object(doc, doc.GetAllocator(), store_.next_version(), kind.rules.fields);
  kind.objects->put(object);
  return object;
}

void Verbs::erase(const Kind& kind, const Object& object) { kind.objects->erase(object.ns, object.name); }

}  // namespace koord::sandbox
