// POST, PUT, PATCH, DELETE on objects, and the subresources that are not objects.
#include <fmt/format.h>

#include "koord/api/schema/document.hpp"
#include "koord/json/yaml.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/api/apply.hpp"
#include "sandbox/crd/schema.hpp"
#include "sandbox/protobuf/decode.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kPatchTypes =
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
    "application/apply-patch+yaml";

Failure patch_failure(const Error& error) {
  if (error.code() == Code::invalid) {
    Failure failure = unprocessable(error.message());
    failure.message = "the server rejected our request due to an error in our request";
    failure.causes.push_back({"", error.message(), ""});
    return failure;
  }
  return bad_request(error.message());
}

Reply created_status(unsigned code) {
  return json_reply(
      code,
      fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Success","code":{}}})",
                  code));
}

Reply success(const Kind& kind, const Object& object) {
  std::string group = kind.group.empty() ? "" : fmt::format(R"("group":"{}",)", kind.group);
  return json_reply(
      200,
      fmt::format(
          R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Success","details":{{"name":{},{}"kind":"{}","uid":"{}"}}}})",
          quote_json(object.name), group, kind.resource, object.uid));
}

// A DeleteOptions of a body, over those of the query.
void read_delete_options(const Json& doc, DeleteOptions& options) {
  if (auto grace = int_at(doc, "gracePeriodSeconds")) options.grace_seconds = *grace;
  if (std::string_view policy = text_at(doc, "propagationPolicy"); !policy.empty())
    options.propagation = policy;
  if (true_at(doc, "orphanDependents")) options.propagation = "Orphan";
  options.uid = text_at(doc, "preconditions", "uid");
  options.resource_version = text_at(doc, "preconditions", "resourceVersion");
  if (!is_empty(find(doc, "dryRun"))) options.dry_run = true;
}

void to_stored(const Kind& kind, JsonDoc& doc) {
  if (kind.to_stored) kind.to_stored(doc, doc.GetAllocator());
  if (!kind.stored_version.empty()) set_text(doc, "apiVersion", kind.stored_version, doc.GetAllocator());
}

}  // namespace

Outcome<void> Api::read_body(const net::Request& request, JsonDoc& doc) {
  BodyType type = parse_content_type(request.headers.get("Content-Type"));
  if (type == BodyType::yaml) {
    auto json = json::yaml_to_json(request.body);
    if (!json) return bad_request("error decoding YAML: line " + json.error().message());
    std::string error;
    if (!parse_json(*json, doc, error)) return bad_request("error decoding YAML: " + error);
    return {};
  }
  if (type == BodyType::protobuf) {
    std::string error;
    if (!decode_protobuf(request.body, doc, error)) return bad_request(error);
    return {};
  }
  if (type != BodyType::json)
    return unsupported_media("application/json, application/yaml, application/vnd.kubernetes.protobuf");
  std::string error;
  if (!parse_json(request.body, doc, error))
    return bad_request("couldn't get version/kind; json parse error: " + error);
  return {};
}

// The kind whose form the store has: itself, unless it is a view of another.
static Registry::KindPtr stored_kind(const Registry& registry, const Registry::KindPtr& kind) {
  if (kind->is_stored_form()) return kind;
  if (!kind->custom) return registry.find("", "v1", kind->resource);
  std::size_t slash = kind->stored_version.find('/');
  auto stored = registry.find(kind->group, kind->stored_version.substr(slash + 1), kind->resource);
  return stored ? stored : kind;
}

Api::Answer Api::create(Call& call) {
  KOORD_PASS(query_dry_run(call.request));
  JsonDoc doc;
  KOORD_PASS(read_body(call.request, doc));
  if (!doc.IsObject())
    return bad_request(fmt::format("json: cannot unmarshal into Go value of type {}.{}", call.kind->version,
                                   call.kind->kind));
  WriteOptions options;
  options.dry_run = call.request.query_has("dryRun");
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (stored != call.kind) {
    if (std::string_view version = text_at(doc, "apiVersion");
        !version.empty() && version != call.kind->api_version())
      return bad_request(
          fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                      version, call.kind->api_version()));
    to_stored(*call.kind, doc);
  }
  auto object = verbs_.create(*stored, call.route.ns, doc, options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, 201);
}

Api::Answer Api::update(Call& call) {
  KOORD_PASS(query_dry_run(call.request));
  JsonDoc doc;
  KOORD_PASS(read_body(call.request, doc));
  WriteOptions options;
  options.dry_run = call.request.query_has("dryRun");
  const std::string& resource = call.kind->resource;
  options.allow_create = call.route.subresource.empty() &&
                         (resource == "leases" || resource == "events" || resource == "endpoints");
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (stored != call.kind) to_stored(*call.kind, doc);
  bool existed = call.kind->objects->get(call.route.ns, call.route.name) != nullptr;
  auto object = verbs_.update(*stored, call.route.ns, call.route.name, call.route.subresource, doc, options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, existed ? 200 : 201);
}

Api::Answer Api::patch(Call& call) {
  KOORD_PASS(query_dry_run(call.request));
  BodyType type = parse_content_type(call.request.headers.get("Content-Type"));
  const Kind& kind = *call.kind;
  WriteOptions options;
  options.dry_run = call.request.query_has("dryRun");
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (type == BodyType::apply_patch) {
    auto applied = apply_object(verbs_, *stored, call.route.ns, call.route.name, call.route.subresource,
                                call.request, options);
    if (!applied) return std::move(applied).error();
    return object_reply(call, applied->object, applied->created ? 201 : 200);
  }
  if (type != BodyType::merge_patch && type != BodyType::json_patch &&
      (type != BodyType::strategic_patch || kind.custom))
    return unsupported_media(kPatchTypes);
  auto edit = [&](JsonDoc& doc) -> Outcome<void> {
    JsonAlloc& alloc = doc.GetAllocator();
    if (stored != call.kind) {
      if (kind.from_stored) kind.from_stored(doc, alloc);
      set_text(doc, "apiVersion", kind.api_version(), alloc);
    }
    auto document = api::Document::parse(write_json(doc));
    if (!document) return internal_error(document.error().message());
    Result<> patched = type == BodyType::merge_patch ? api::apply_merge_patch(*document, call.request.body)
                       : type == BodyType::json_patch
                           ? api::apply_json_patch(*document, call.request.body)
                           : api::apply_strategic_patch(*document, call.request.body, kind.group, kind.kind);
    if (!patched) return patch_failure(patched.error());
    std::string error;
    if (!parse_json(document->to_json(), doc, error)) return bad_request(error);
    if (stored != call.kind) to_stored(kind, doc);
    return {};
  };
  auto object = verbs_.modify(*stored, call.route.ns, call.route.name, call.route.subresource, edit, options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, 200);
}

Outcome<DeleteOptions> Api::delete_options(const net::Request& request) {
  DeleteOptions options;
  auto dry_run = query_dry_run(request);
  if (!dry_run) return std::move(dry_run).error();
  options.dry_run = *dry_run;
  auto grace = query_int(request, "gracePeriodSeconds");
  if (!grace) return std::move(grace).error();
  options.grace_seconds = *grace;
  options.propagation = request.query_get("propagationPolicy");
  bool both = query_bool(request, "orphanDependents").has_value() && !options.propagation.empty();
  if (query_bool(request, "orphanDependents").value_or(false)) options.propagation = "Orphan";
  if (!request.body.empty()) {
    JsonDoc doc;
    KOORD_PASS(read_body(request, doc));
    both = find(doc, "orphanDependents") && !text_at(doc, "propagationPolicy").empty();
    read_delete_options(doc, options);
  }
  FieldErrors errors;
  if (both)
    errors.invalid("propagationPolicy", options.propagation,
                   "orphanDependents and deletionPropagation cannot be both set");
  if (!options.propagation.empty() && options.propagation != "Orphan" &&
      options.propagation != "Background" && options.propagation != "Foreground")
    errors.unsupported("propagationPolicy", options.propagation,
                       {"Foreground", "Background", "Orphan", "nil"});
  if (!errors.empty()) return errors.failure("meta.k8s.io", "DeleteOptions", "");
  return options;
}

Api::Answer Api::remove(Call& call) {
  auto options = delete_options(call.request);
  if (!options) return std::move(options).error();
  auto deleted = verbs_.remove(*call.kind, call.route.ns, call.route.name, *options);
  if (!deleted) return std::move(deleted).error();
  // Pods come back as they were; of other kinds only what is not gone yet.
  bool object = !deleted->gone || (call.kind->group.empty() && call.kind->resource == "pods");
  if (!object) return success(*call.kind, *deleted->object);
  return object_reply(call, deleted->object, 200);
}

Api::Answer Api::remove_collection(Call& call) {
  auto options = delete_options(call.request);
  if (!options) return std::move(options).error();
  auto list = parse_list_options(call.request);
  if (!list) return std::move(list).error();
  auto selection = Selection::parse(list->labels, list->fields, *call.kind);
  if (!selection) return std::move(selection).error();
  std::uint64_t version = verbs_.store().version();
  auto objects = select_objects(call, *selection, version);
  if (!objects) return std::move(objects).error();
  std::vector<ObjectPtr> deleted;
  for (const ObjectPtr& object : *objects)
    if (auto one = verbs_.remove(*call.kind, object->ns, object->name, *options))
      deleted.push_back(one->object);
  return list_reply(call, deleted, verbs_.store().version(), {}, {});
}

Api::Answer Api::bind(Call& call) {
  KOORD_PASS(query_dry_run(call.request));
  JsonDoc doc;
  KOORD_PASS(read_body(call.request, doc));
  std::string_view name = call.route.name.empty() ? text_at(doc, "metadata", "name") : call.route.name;
  KOORD_PASS(verbs_.bind(call.route.ns, name, doc, call.request.query_has("dryRun")));
  return created_status(201);
}

Api::Answer Api::evict(Call& call) {
  JsonDoc doc;
  KOORD_PASS(read_body(call.request, doc));
  DeleteOptions options;
  auto dry_run = query_dry_run(call.request);
  if (!dry_run) return std::move(dry_run).error();
  options.dry_run = *dry_run;
  if (const Json* inner = find(doc, "deleteOptions")) read_delete_options(*inner, options);
  if (std::string_view name = text_at(doc, "metadata", "name"); !name.empty() && name != call.route.name)
    return bad_request("name in URL does not match name in Eviction object");
  KOORD_PASS(verbs_.evict(call.route.ns, call.route.name, options));
  return created_status(201);
}

Api::Answer Api::scale(Call& call) {
  const Kind& kind = *call.kind;
  ObjectPtr object = kind.objects->get(call.route.ns, call.route.name);
  if (!object) return not_found(kind.named(), call.route.name);
  auto scale_of = [&](const Object& from) {
    JsonDoc doc;
    load(from, doc);
    std::string selector;
    if (const Json* labels = find(doc, "spec", "selector", "matchLabels"); labels && labels->IsObject())
      for (const auto& label : labels->GetObject())
        if (label.value.IsString())
          selector +=
              fmt::format("{}{}={}", selector.empty() ? "" : ",", view(label.name), view(label.value));
    return fmt::format(
        R"({{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{{"name":{},"namespace":{},"uid":"{}","resourceVersion":"{}","creationTimestamp":{}}},"spec":{{"replicas":{}}},"status":{{"replicas":{},"selector":{}}}}})",
        quote_json(from.name), quote_json(from.ns), from.uid, from.rv,
        quote_json(text_at(doc, "metadata", "creationTimestamp")),
        int_at(doc, "spec", "replicas").value_or(0), int_at(doc, "status", "replicas").value_or(0),
        quote_json(selector));
  };
  if (call.request.method == "GET") return json_reply(200, scale_of(*object));
  std::string wanted = call.request.body;
  if (call.request.method == "PATCH") {
    BodyType type = parse_content_type(call.request.headers.get("Content-Type"));
    auto document = api::Document::parse(scale_of(*object));
    if (!document) return internal_error(document.error().message());
    if (type != BodyType::merge_patch && type != BodyType::json_patch && type != BodyType::strategic_patch)
      return unsupported_media(kPatchTypes);
    Result<> patched = type == BodyType::json_patch ? api::apply_json_patch(*document, wanted)
                                                    : api::apply_merge_patch(*document, wanted);
    if (!patched) return patch_failure(patched.error());
    wanted = document->to_json();
  } else if (call.request.method != "PUT") {
    return method_not_allowed(kind.named(), call.request.method);
  }
  JsonDoc scale_doc;
  std::string error;
  if (!parse_json(wanted, scale_doc, error)) return bad_request(error);
  WriteOptions options;
  options.dry_run = call.request.query_has("dryRun");
  auto written = verbs_.modify(
      kind, call.route.ns, call.route.name, "scale",
      [&](JsonDoc& doc) -> Outcome<void> {
        JsonAlloc& alloc = doc.GetAllocator();
        if (std::string_view version = text_at(scale_doc, "metadata", "resourceVersion"); !version.empty())
          set_text(*find(doc, "metadata"), "resourceVersion", version, alloc);
        set_int(object_at(doc, "spec", alloc), "replicas", int_at(scale_doc, "spec", "replicas").value_or(0),
                alloc);
        return {};
      },
      options);
  if (!written) return std::move(written).error();
  return json_reply(200, scale_of(**written));
}

// Everyone who has the token may do everything.
Api::Answer Api::review(Call& call) {
  JsonDoc doc;
  KOORD_PASS(read_body(call.request, doc));
  JsonAlloc& alloc = doc.GetAllocator();
  const std::string& kind = call.kind->kind;
  if (!doc.IsObject()) return bad_request("the body is no " + kind);
  set_text(doc, "kind", kind, alloc);
  set_text(doc, "apiVersion", call.kind->api_version(), alloc);
  Json status(rapidjson::kObjectType);
  Json user(rapidjson::kObjectType);
  set(user, "username", make_const("admin"), alloc);
  Json groups(rapidjson::kArrayType);
  groups.PushBack(make_const("system:masters"), alloc).PushBack(make_const("system:authenticated"), alloc);
  set(user, "groups", std::move(groups), alloc);
  if (kind == "TokenReview") {
    bool known = text_at(doc, "spec", "token") == options_.token;
    if (known) {
      set(status, "authenticated", Json(true), alloc);
      set(status, "user", std::move(user), alloc);
    } else {
      set(status, "user", Json(rapidjson::kObjectType), alloc);
      set(status, "error", make_const("invalid bearer token"), alloc);
    }
  } else if (kind == "SelfSubjectReview") {
    set(status, "userInfo", std::move(user), alloc);
  } else if (kind == "SelfSubjectRulesReview") {
    Json rule(rapidjson::kObjectType);
    for (const char* field : {"verbs", "apiGroups", "resources"}) {
      Json all(rapidjson::kArrayType);
      all.PushBack(make_const("*"), alloc);
      set(rule, field, std::move(all), alloc);
    }
    Json rules(rapidjson::kArrayType);
    rules.PushBack(rule, alloc);
    set(status, "resourceRules", std::move(rules), alloc);
    set(status, "nonResourceRules", Json(rapidjson::kArrayType), alloc);
    set(status, "incomplete", Json(false), alloc);
  } else {
    // system:anonymous is the one user who may nothing.
    bool allowed = kind.starts_with("Self") || text_at(doc, "spec", "user") != "system:anonymous";
    set(status, "allowed", Json(allowed), alloc);
  }
  set(doc, "status", std::move(status), alloc);
  return json_reply(201, write_json(doc));
}

}  // namespace koord::sandbox
