// POST, PUT, PATCH, DELETE on objects, and the subresources that are not objects.
#include <fmt/format.h>

#include <iterator>

#include "koord/api/kinds/patch.hpp"
#include "koord/json/writer.hpp"
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
  if (error.code() == Code::too_large)
    return too_large(fmt::format("Request entity is too large: {}", error.message()));
  return bad_request(error.message());
}

api::PatchType patch_type(BodyType type) {
  return type == BodyType::merge_patch  ? api::PatchType::merge
         : type == BodyType::json_patch ? api::PatchType::json
                                        : api::PatchType::strategic;
}

// A Status that says that it is done; `object` is what it was done to.
Reply success(unsigned code, const Kind* kind = nullptr, const Object* object = nullptr) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "Status").member("apiVersion", "v1");
  json.key("metadata").begin_object().end_object().member("status", "Success");
  if (object) {
    json.key("details").begin_object().member("name", object->name).member_if("group", kind->group);
    json.member("kind", kind->resource).member("uid", object->uid).end_object();
  } else {
    json.member("code", code);
  }
  json.end_object();
  return json_reply(code, std::move(out));
}

// A DeleteOptions of a body, over those of the query.
void read_delete_options(const json::Value& doc, DeleteOptions& options) {
  if (auto grace = int_at(doc, "gracePeriodSeconds")) options.grace_seconds = *grace;
  if (std::string_view policy = text_at(doc, "propagationPolicy"); !policy.empty())
    options.propagation = policy;
  if (true_at(doc, "orphanDependents")) options.propagation = "Orphan";
  options.uid = text_at(doc, "preconditions", "uid");
  options.resource_version = text_at(doc, "preconditions", "resourceVersion");
  if (!is_empty(find(doc, "dryRun"))) options.dry_run = true;
}

// An option of exec and the like, in the type that it has there.
void set_connect_option(json::Document& doc, std::string_view name, std::string_view value) {
  json::Arena& arena = doc.arena();
  if (name == "command")
    array_at(doc, name, arena).push_back(make_text(value, arena), arena);
  else if (name == "stdin" || name == "stdout" || name == "stderr" || name == "tty")
    set(doc, name, json::Value(value != "0" && value != "false"), arena);
  else if (name == "container" || name == "path")
    set_text(doc, name, value, arena);
}

void to_stored(const Kind& kind, json::Document& doc) {
  if (kind.to_stored) kind.to_stored(doc, doc.arena());
  if (!kind.stored_version.empty()) set_text(doc, "apiVersion", kind.stored_version, doc.arena());
}

}  // namespace

Outcome<void> Api::read_body(const net::Request& request, json::Document& doc) {
  BodyType type = parse_content_type(request.headers.get("Content-Type"));
  if (type == BodyType::yaml) {
    auto json = json::yaml_to_json(request.body);
    if (!json) return bad_request(fmt::format("error decoding YAML: line {}", json.error().message()));
    if (auto read = doc.read(*json); !read)
      return bad_request(fmt::format("error decoding YAML: {}", read.error().message()));
    return {};
  }
  if (type == BodyType::protobuf) {
    if (auto decoded = decode_protobuf(request.body, doc); !decoded)
      return bad_request(decoded.error().message());
    return {};
  }
  if (type != BodyType::json)
    return unsupported_media("application/json, application/yaml, application/vnd.kubernetes.protobuf");
  if (auto read = doc.read(request.body); !read)
    return bad_request(
        fmt::format("couldn't get version/kind; json parse error: {}", read.error().message()));
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
  auto options = write_options(call, "CreateOptions");
  if (!options) return std::move(options).error();
  json::Document doc;
  KOORD_PASS(read_body(call.request, doc));
  if (!doc.is_object())
    return bad_request(fmt::format("json: cannot unmarshal into Go value of type {}.{}", call.kind->version,
                                   call.kind->kind));
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (stored != call.kind) {
    if (std::string_view version = text_at(doc, "apiVersion");
        !version.empty() && version != call.kind->api_version())
      return bad_request(
          fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                      version, call.kind->api_version()));
    to_stored(*call.kind, doc);
  }
  auto object = verbs_.create(*stored, call.route.ns, doc, *options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, 201);
}

Api::Answer Api::update(Call& call) {
  auto options = write_options(call, "UpdateOptions");
  if (!options) return std::move(options).error();
  json::Document doc;
  KOORD_PASS(read_body(call.request, doc));
  const std::string& resource = call.kind->resource;
  options->allow_create = call.route.subresource.empty() &&
                          (resource == "leases" || resource == "events" || resource == "endpoints");
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (stored != call.kind) to_stored(*call.kind, doc);
  bool existed = call.kind->objects->get(call.route.ns, call.route.name) != nullptr;
  auto object = verbs_.update(*stored, call.route.ns, call.route.name, call.route.subresource, doc, *options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, existed ? 200 : 201);
}

Api::Answer Api::patch(Call& call) {
  auto options = write_options(call, "UpdateOptions");
  if (!options) return std::move(options).error();
  BodyType type = parse_content_type(call.request.headers.get("Content-Type"));
  const Kind& kind = *call.kind;
  auto stored = stored_kind(verbs_.registry(), call.kind);
  if (type == BodyType::apply_patch) {
    auto applied = apply_object(verbs_, *stored, call.route.ns, call.route.name, call.route.subresource,
                                call.request, *options);
    if (!applied) return std::move(applied).error();
    return object_reply(call, applied->object, applied->created ? 201 : 200);
  }
  if (type != BodyType::merge_patch && type != BodyType::json_patch &&
      (type != BodyType::strategic_patch || kind.custom))
    return unsupported_media(kPatchTypes);
  auto edit = [&](json::Document& doc) -> Outcome<void> {
    json::Arena& arena = doc.arena();
    if (stored != call.kind) {
      if (kind.from_stored) kind.from_stored(doc, arena);
      set_text(doc, "apiVersion", kind.api_version(), arena);
    }
    auto patch = json::parse(call.request.body);
    if (!patch) return patch_failure(patch.error());
    const auto patched = api::apply_patch(doc, patch_type(type), *patch, kind.group, kind.kind, arena);
    if (!patched) return patch_failure(patched.error());
    if (stored != call.kind) to_stored(kind, doc);
    return {};
  };
  auto object =
      verbs_.modify(*stored, call.route.ns, call.route.name, call.route.subresource, edit, *options);
  if (!object) return std::move(object).error();
  return object_reply(call, *object, 200);
}

Outcome<WriteOptions> Api::write_options(const Call& call, std::string_view kind) {
  auto dry_run = query_dry_run(call.request);
  if (!dry_run) return std::move(dry_run).error();
  WriteOptions options;
  options.dry_run = *dry_run;
  options.gate = call.gate;
  if (!call.gate) return options;
  std::string& out = call.gate->options;
  out.clear();
  json::Writer json(out);
  json.begin_object().member("kind", kind).member("apiVersion", "meta.k8s.io/v1");
  if (options.dry_run) json.key("dryRun").begin_array().value("All").end_array();
  for (const char* field : {"fieldManager", "fieldValidation"})
    json.member_if(field, call.request.query_get(field));
  json.end_object();
  return options;
}

Outcome<DeleteOptions> Api::delete_options(const Call& call) {
  const net::Request& request = call.request;
  DeleteOptions options;
  options.gate = call.gate;
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
    json::Document doc;
    KOORD_PASS(read_body(request, doc));
    both = find(doc, "orphanDependents") && !text_at(doc, "propagationPolicy").empty();
    read_delete_options(doc, options);
  }
  StatusCauses errors;
  if (both)
    errors.invalid("propagationPolicy", options.propagation,
                   "orphanDependents and deletionPropagation cannot be both set");
  if (!options.propagation.empty() && options.propagation != "Orphan" &&
      options.propagation != "Background" && options.propagation != "Foreground")
    errors.unsupported("propagationPolicy", options.propagation,
                       {"Foreground", "Background", "Orphan", "nil"});
  if (!errors.empty()) return errors.failure("meta.k8s.io", "DeleteOptions", "");
  if (call.gate) call.gate->options = delete_options_json(options);
  return options;
}

Api::Answer Api::remove(Call& call) {
  auto options = delete_options(call);
  if (!options) return std::move(options).error();
  auto deleted = verbs_.remove(*call.kind, call.route.ns, call.route.name, *options);
  if (!deleted) return std::move(deleted).error();
  // Pods come back as they were; of other kinds only what is not gone yet.
  bool object = !deleted->gone || (call.kind->group.empty() && call.kind->resource == "pods");
  if (!object) return success(200, call.kind.get(), deleted->object.get());
  return object_reply(call, deleted->object, 200);
}

Api::Answer Api::remove_collection(Call& call) {
  auto options = delete_options(call);
  if (!options) return std::move(options).error();
  auto list = parse_list_options(call.request);
  if (!list) return std::move(list).error();
  auto selection = Selection::parse(list->labels, list->fields, *call.kind);
  if (!selection) return std::move(selection).error();
  std::uint64_t version = verbs_.store().version();
  auto objects = select_objects(call, *selection, version);
  if (!objects) return std::move(objects).error();
  if (call.gate) {
    // All are asked about before the first one goes, each once.
    DeleteOptions asking = *options;
    asking.review_only = true;
    Outcome<void> objection;
    for (const ObjectPtr& object : *objects)
      if (auto one = verbs_.remove(*call.kind, object->ns, object->name, asking); !one && objection)
        objection = std::move(one).error();
    KOORD_PASS(objection);
  }
  std::vector<ObjectPtr> deleted;
  for (const ObjectPtr& object : *objects)
    if (auto one = verbs_.remove(*call.kind, object->ns, object->name, *options))
      deleted.push_back(one->object);
  return list_reply(call, deleted, verbs_.store().version(), {}, {});
}

// A body that is posted to a pod and is no object itself, reviewed; afterwards it is as it is to be used.
Outcome<void> Api::review_body(const Call& call, json::Document& doc, std::string_view version,
                               std::string_view kind, bool dry_run) {
  if (!call.gate || !doc.is_object()) return {};
  json::Arena& arena = doc.arena();
  set_text(doc, "apiVersion", version, arena);
  set_text(doc, "kind", kind, arena);
  json::Value& meta = object_at(doc, "metadata", arena);
  if (text_at(meta, "namespace").empty()) set_text(meta, "namespace", call.route.ns, arena);
  if (text_at(meta, "name").empty()) set_text(meta, "name", call.route.name, arena);
  Attempt attempt{.operation = Operation::create,
                  .kind = call.kind ? *call.kind : verbs_.registry().get("", "pods"),
                  .ns = call.route.ns,
                  .name = text_at(meta, "name"),
                  .subresource = call.route.subresource,
                  .object = &doc,
                  .object_version = version,
                  .object_kind = kind,
                  .resource = call.kind ? std::string_view() : "bindings",
                  .dry_run = dry_run};
  return call.gate->pass_both(attempt);
}

Api::Answer Api::bind(Call& call) {
  auto options = write_options(call, "CreateOptions");
  if (!options) return std::move(options).error();
  json::Document doc;
  KOORD_PASS(read_body(call.request, doc));
  KOORD_PASS(review_body(call, doc, "v1", "Binding", options->dry_run));
  std::string_view name = call.route.name.empty() ? text_at(doc, "metadata", "name") : call.route.name;
  KOORD_PASS(verbs_.bind(call.route.ns, name, doc, options->dry_run));
  return success(201);
}

Api::Answer Api::evict(Call& call) {
  auto asked = write_options(call, "CreateOptions");
  if (!asked) return std::move(asked).error();
  json::Document doc;
  KOORD_PASS(read_body(call.request, doc));
  DeleteOptions options;
  options.dry_run = asked->dry_run;
  if (const json::Value* inner = find(doc, "deleteOptions")) read_delete_options(*inner, options);
  if (std::string_view name = text_at(doc, "metadata", "name"); !name.empty() && name != call.route.name)
    return bad_request("name in URL does not match name in Eviction object");
  KOORD_PASS(review_body(call, doc, "policy/v1", "Eviction", options.dry_run));
  KOORD_PASS(verbs_.evict(call.route.ns, call.route.name, options));
  return success(201);
}

// Nothing runs in a simulated container: those who watch over such requests are asked all the same.
Api::Answer Api::connect(Call& call) {
  if (!call.kind->objects->get(call.route.ns, call.route.name))
    return not_found(call.kind->named(), call.route.name);
  if (call.gate) {
    struct Form {
      std::string_view subresource, kind;
    };
    constexpr Form kForms[] = {{"exec", "PodExecOptions"},
                               {"attach", "PodAttachOptions"},
                               {"portforward", "PodPortForwardOptions"},
                               {"proxy", "PodProxyOptions"}};
    json::Document doc;
    doc.set_object();
    Attempt attempt{.operation = Operation::connect,
                    .kind = *call.kind,
                    .ns = call.route.ns,
                    .name = call.route.name,
                    .subresource = call.route.subresource,
                    .object = &doc,
                    .object_version = "v1"};
    for (const Form& form : kForms)
      if (form.subresource == call.route.subresource) attempt.object_kind = form.kind;
    set_text(doc, "kind", attempt.object_kind, doc.arena());
    set_text(doc, "apiVersion", "v1", doc.arena());
    for (const auto& [name, value] : call.request.query) set_connect_option(doc, name, value);
    KOORD_PASS(call.gate->pass_both(attempt));
  }
  Failure failure =
      bad_request(fmt::format("pod {} is simulated: no process runs in its containers, {} leads nowhere",
                              call.route.name, call.route.subresource));
  return failure;
}

Api::Answer Api::scale(Call& call) {
  const Kind& kind = *call.kind;
  ObjectPtr object = kind.objects->get(call.route.ns, call.route.name);
  if (!object) return not_found(kind.named(), call.route.name);
  auto scale_of = [&](const Object& from) {
    json::Document doc;
    load(from, doc);
    std::string selector;
    if (const json::Value* labels = find(doc, "spec", "selector", "matchLabels"))
      for (const auto& label : labels->members())
        fmt::format_to(std::back_inserter(selector), "{}{}={}", selector.empty() ? "" : ",", label.key(),
                       label.value.text());
    std::string out;
    json::Writer json(out);
    json.begin_object().member("kind", "Scale").member("apiVersion", "autoscaling/v1");
    json.key("metadata").begin_object().member("name", from.name).member("namespace", from.ns);
    json.member("uid", from.uid).member("resourceVersion", fmt::to_string(from.rv));
    json.member("creationTimestamp", text_at(doc, "metadata", "creationTimestamp")).end_object();
    json.key("spec").begin_object();
    if (const auto replicas = int_at(doc, "spec", "replicas").value_or(0)) json.member("replicas", replicas);
    json.end_object();
    json.key("status").begin_object().member("replicas", int_at(doc, "status", "replicas").value_or(0));
    json.member("selector", selector).end_object().end_object();
    return out;
  };
  if (call.request.method == "GET") return json_reply(200, scale_of(*object));
  json::Document scale_doc;
  const bool is_patch = call.request.method == "PATCH";
  if (!is_patch && call.request.method != "PUT") return method_not_allowed(kind.named(), call.request.method);
  if (auto read = scale_doc.read(is_patch ? scale_of(*object) : call.request.body); !read)
    return bad_request(read.error().message());
  if (is_patch) {
    BodyType type = parse_content_type(call.request.headers.get("Content-Type"));
    if (type != BodyType::merge_patch && type != BodyType::json_patch && type != BodyType::strategic_patch)
      return unsupported_media(kPatchTypes);
    auto patch = json::parse(call.request.body);
    if (!patch) return patch_failure(patch.error());
    // A Scale has no lists, so that the strategic patch is the merge patch.
    const auto patch_kind = type == BodyType::json_patch ? api::PatchType::json : api::PatchType::merge;
    const auto patched = api::apply_patch(scale_doc, patch_kind, *patch, {}, {}, scale_doc.arena());
    if (!patched) return patch_failure(patched.error());
  }
  auto options = write_options(call, "UpdateOptions");
  if (!options) return std::move(options).error();
  if (call.gate) {
    json::Document before;
    (void)before.read(scale_of(*object));
    Attempt attempt{.operation = Operation::update,
                    .kind = kind,
                    .ns = call.route.ns,
                    .name = call.route.name,
                    .subresource = "scale",
                    .object = &scale_doc,
                    .old = &before,
                    .version = object->rv,
                    .object_version = "autoscaling/v1",
                    .object_kind = "Scale",
                    .dry_run = options->dry_run};
    KOORD_PASS(call.gate->pass_both(attempt));
    options->gate = nullptr;
  }
  auto written = verbs_.modify(
      kind, call.route.ns, call.route.name, "scale",
      [&](json::Document& doc) -> Outcome<void> {
        json::Arena& arena = doc.arena();
        if (std::string_view version = text_at(scale_doc, "metadata", "resourceVersion"); !version.empty())
          set_text(*find(doc, "metadata"), "resourceVersion", version, arena);
        set_int(object_at(doc, "spec", arena), "replicas", int_at(scale_doc, "spec", "replicas").value_or(0),
                arena);
        return {};
      },
      *options);
  if (!written) return std::move(written).error();
  return json_reply(200, scale_of(**written));
}

// Everyone who has the token may do everything.
Api::Answer Api::review(Call& call) {
  json::Document doc;
  KOORD_PASS(read_body(call.request, doc));
  json::Arena& arena = doc.arena();
  const std::string& kind = call.kind->kind;
  if (!doc.is_object()) return bad_request(fmt::format("the body is no {}", kind));
  set_text(doc, "kind", kind, arena);
  set_text(doc, "apiVersion", call.kind->api_version(), arena);
  json::Value status = json::Value::object();
  json::Value user = json::Value::object();
  set(user, "username", json::make_const("admin"), arena);
  json::Value groups = json::Value::array();
  for (const char* group : {"system:masters", "system:authenticated"})
    groups.push_back(json::make_const(group), arena);
  set(user, "groups", std::move(groups), arena);
  if (kind == "TokenReview") {
    bool known = text_at(doc, "spec", "token") == options_.token;
    if (known) {
      set(status, "authenticated", json::Value(true), arena);
      set(status, "user", std::move(user), arena);
    } else {
      set(status, "user", json::Value::object(), arena);
      set(status, "error", json::make_const("invalid bearer token"), arena);
    }
  } else if (kind == "SelfSubjectReview") {
    set(status, "userInfo", std::move(user), arena);
  } else if (kind == "SelfSubjectRulesReview") {
    json::Value rule = json::Value::object();
    for (const char* field : {"verbs", "apiGroups", "resources"}) {
      json::Value all = json::Value::array();
      all.push_back(json::make_const("*"), arena);
      set(rule, field, std::move(all), arena);
    }
    json::Value rules = json::Value::array();
    rules.push_back(std::move(rule), arena);
    set(status, "resourceRules", std::move(rules), arena);
    set(status, "nonResourceRules", json::Value::array(), arena);
    set(status, "incomplete", json::Value(false), arena);
  } else {
    // system:anonymous is the one user who may nothing.
    bool allowed = kind.starts_with("Self") || text_at(doc, "spec", "user") != "system:anonymous";
    set(status, "allowed", json::Value(allowed), arena);
  }
  set(doc, "status", std::move(status), arena);
  return json_reply(201, json::to_text(doc));
}

}  // namespace koord::sandbox
