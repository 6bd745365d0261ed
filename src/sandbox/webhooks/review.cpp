// Writing the question, reading the answer.
#include "sandbox/webhooks/review.hpp"

#include <fmt/format.h>

#include "koord/base/base64.hpp"
#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

struct Version {
  std::string_view group, version;
};
Version split_version(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

void write_kind(json::Writer& out, std::string_view member, const Subject& subject, const Kind& form) {
  const std::string own = form.api_version();
  const Version version = split_version(subject.is_own_object() ? own : subject.object_version);
  out.key(member).begin_object().member("group", version.group).member("version", version.version);
  out.member("kind", subject.is_own_object() ? std::string_view(form.kind) : subject.object_kind);
  out.end_object();
}

void write_resource(json::Writer& out, std::string_view member, const Subject& subject, const Kind& form) {
  out.key(member).begin_object().member("group", form.group).member("version", form.version);
  out.member("resource", subject.resource).end_object();
}

void write_object(json::Writer& out, std::string_view member, bool there, const Subject& subject,
                  const Kind& form, const json::Document& doc) {
  out.key(member);
  if (!there) {
    out.null();
    return;
  }
  json::Document shown = json::clone(doc);
  to_form(subject, form, shown);
  out.value(static_cast<const json::Value&>(shown));
}

// Reads members of one object as Go's decoder does: null and absent are nothing, another type is an error.
class Fields {
 public:
  Fields(const json::Value& object, std::string_view type, std::string_view path)
      : object_(object), type_(type), path_(path) {}

  const json::Value* of(std::string_view name, json::Type type, std::string_view go_type) {
    const json::Value* value = find(object_, name);
    if (!value || value->is_null()) return nullptr;
    if (value->type() == type) return value;
    if (error.empty())
      error = fmt::format("json: cannot unmarshal {} into Go struct field {}.{}.{} of type {}",
                          type_name(*value), type_, path_, name, go_type);
    return nullptr;
  }
  std::string_view text(std::string_view name, std::string_view go_type = "string") {
    const json::Value* value = of(name, json::Type::string, go_type);
    return value ? value->text() : std::string_view();
  }
  std::string error;

 private:
  const json::Value& object_;
  std::string_view type_, path_;
};

// A metav1.Status.
Failure read_status(const json::Value& status, std::string& error) {
  Failure failure;
  Fields fields(status, "Status", "status");
  failure.message = fields.text("message");
  failure.reason = fields.text("reason", "v1.StatusReason");
  const json::Value* code = fields.of("code", json::Type::number, "int32");
  failure.code = static_cast<int>(code ? std::clamp<std::int64_t>(code->to_int().value_or(0), 0, 999) : 0);
  if (const json::Value* details = fields.of("details", json::Type::object, "v1.StatusDetails")) {
    Fields more(*details, "StatusDetails", "details");
    failure.name = more.text("name");
    failure.group = more.text("group");
    failure.kind = more.text("kind");
    failure.uid = more.text("uid");
    const json::Value* retry = more.of("retryAfterSeconds", json::Type::number, "int32");
    failure.retry_after_seconds =
        static_cast<int>(retry ? std::clamp<std::int64_t>(retry->to_int().value_or(0), 0, 86'400) : 0);
    if (const json::Value* causes = more.of("causes", json::Type::array, "[]v1.StatusCause"))
      for (const json::Value& cause : causes->elements())
        failure.causes.push_back({std::string(text_at(cause, "reason")),
                                  std::string(text_at(cause, "message")),
                                  std::string(text_at(cause, "field"))});
    if (fields.error.empty()) fields.error = more.error;
  }
  error = fields.error;
  return failure;
}

// What client-go makes of a status that is no success, if the body does not say it better.
std::string error_of_status(const net::Response& response) {
  json::Document doc;
  if (doc.read(response.body) && text_at(doc, "kind") == "Status" && text_at(doc, "status") != "Success" &&
      !text_at(doc, "message").empty())
    return std::string(text_at(doc, "message"));
  std::string_view said = response.body;
  const bool text = response.content_type.starts_with("text/") || response.content_type.empty();
  while (!said.empty() && std::string_view(" \t\r\n").find(said.back()) != std::string_view::npos)
    said.remove_suffix(1);
  while (!said.empty() && std::string_view(" \t\r\n").find(said.front()) != std::string_view::npos)
    said.remove_prefix(1);
  constexpr std::size_t kMostSaid = 2048;
  std::string words(text ? utf8_prefix(said, kMostSaid) : "unknown");
  switch (response.status) {
    case 400: return "the server rejected our request for an unknown reason";
    case 401: return "the server has asked for the client to provide credentials";
    case 403:
    case 415: return words;
    case 404: return "the server could not find the requested resource";
    case 405: return "the server does not allow this method on the requested resource";
    case 406:
      return words.empty() || words == "unknown"
                 ? "the server was unable to respond with a content type that the client supports"
                 : words;
    case 409: return "the server reported a conflict";
    case 422: return "the server rejected our request due to an error in our request";
    case 429: return "the server has received too many requests and has asked us to try again later";
    case 503: return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be processing "
             "the request";
    default: break;
  }
  if (response.status >= 500)
    return fmt::format("an error on the server ({}) has prevented the request from succeeding", quote(words));
  return fmt::format("the server responded with the status code {} but did not return more information",
                     response.status);
}

Error not_called(std::string_view why) {
  return Error(Code::invalid, fmt::format("failed to call webhook: {}", why));
}
Error not_valid(std::string_view why) {
  return Error(Code::invalid, fmt::format("received invalid webhook response: {}", why));
}

}  // namespace

std::string_view type_name(const json::Value& value) {
  switch (value.type()) {
    case json::Type::null: return "null";
    case json::Type::boolean: return "bool";
    case json::Type::number: return "number";
    case json::Type::string: return "string";
    case json::Type::array: return "array";
    case json::Type::object: return "object";
  }
  return {};
}

std::string_view operation_name(Operation operation) {
  constexpr std::string_view kNames[] = {"CREATE", "UPDATE", "DELETE", "CONNECT"};
  return kNames[static_cast<std::size_t>(operation)];
}

const std::string& Subject::request_ns() const {
  return kind->resource == "namespaces" && kind->group.empty() ? name : ns;
}

void to_form(const Subject& subject, const Kind& form, json::Document& doc) {
  if (!subject.is_own_object() || !doc.is_object()) return;
  if (form.from_stored) form.from_stored(doc, doc.arena());
  set_text(doc, "apiVersion", form.api_version(), doc.arena());
}

void from_form(const Subject& subject, const Kind& form, json::Document& doc) {
  if (!subject.is_own_object() || !doc.is_object()) return;
  if (form.to_stored) form.to_stored(doc, doc.arena());
  set_text(doc, "apiVersion", subject.kind->api_version(), doc.arena());
}

std::string review_text(std::string_view version, std::string_view uid, const Subject& subject,
                        const Kind& form) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("kind", "AdmissionReview");
  out.member("apiVersion", fmt::format("admission.k8s.io/{}", version));
  out.key("request").begin_object().member("uid", uid);
  write_kind(out, "kind", subject, form);
  write_resource(out, "resource", subject, form);
  out.member_if("subResource", subject.subresource);
  write_kind(out, "requestKind", subject, *subject.asked);
  write_resource(out, "requestResource", subject, *subject.asked);
  out.member_if("requestSubResource", subject.subresource);
  out.member_if("name", subject.name).member_if("namespace", subject.request_ns());
  out.member("operation", operation_name(subject.operation));
  out.key("userInfo").begin_object().member("username", "admin").key("groups").begin_array();
  out.value("system:masters").value("system:authenticated").end_array().end_object();
  write_object(out, "object", subject.has_object, subject, form, subject.object);
  write_object(out, "oldObject", subject.has_old, subject, form, subject.old);
  out.member("dryRun", subject.dry_run).key("options").raw(subject.options);
  out.end_object().end_object();
  return text;
}

Result<Verdict> read_verdict(const net::Response& response, std::string_view version, std::string_view uid,
                             bool mutating) {
  if (response.status < 200 || response.status > 206) return not_called(error_of_status(response));
  if (response.body.empty())
    return not_called(fmt::format("0-length response with status code: {} and content type: {}",
                                  response.status, response.content_type));
  // Whatever its content type says: kube-apiserver tries JSON, and YAML for what does not look like it.
  json::Document doc;
  const auto read = doc.read(response.body);
  if (!read && response.body.find('{') == response.body.find_first_not_of(" \t\r\n"))
    return not_called(fmt::format("couldn't get version/kind; json parse error: {}", read.error().message()));
  if (!doc.is_object())
    return not_called(
        fmt::format("couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go "
                    "value of type struct {{ APIVersion string {}; Kind string {} }}",
                    read ? type_name(doc) : "string", quote("json:\"apiVersion,omitempty\""),
                    quote("json:\"kind,omitempty\"")));
  const std::string_view api_version = text_at(doc, "apiVersion"), kind = text_at(doc, "kind");
  const std::string expected = fmt::format("admission.k8s.io/{}", version);
  if (kind == "Status" && text_at(doc, "status") != "Success") return not_called(text_at(doc, "message"));
  const json::Value* answer = find(doc, "response");
  if (answer && answer->is_null()) answer = nullptr;
  if (answer && !answer->is_object())
    return not_called(
        fmt::format("json: cannot unmarshal {} into Go struct field AdmissionReview.response of "
                    "type {}.AdmissionResponse",
                    type_name(*answer), version));
  Verdict verdict;
  std::string said_uid;
  if (answer) {
    Fields fields(*answer, "AdmissionResponse", "response");
    said_uid = fields.text("uid", "types.UID");
    const json::Value* allowed = fields.of("allowed", json::Type::boolean, "bool");
    verdict.allowed = allowed && allowed->is_true();
    const std::string_view patch = fields.text("patch", "[]uint8");
    const json::Value* patch_type = fields.of("patchType", json::Type::string, "PatchType");
    if (const json::Value* warnings = fields.of("warnings", json::Type::array, "[]string"))
      for (const json::Value& warning : warnings->elements())
        if (warning.is_string()) verdict.warnings.emplace_back(warning.text());
    if (const json::Value* status = fields.of("status", json::Type::object, "v1.Status")) {
      std::string error;
      verdict.status = read_status(*status, error);
      if (fields.error.empty()) fields.error = error;
    }
    if (!fields.error.empty()) return not_called(fields.error);
    if (!patch.empty()) {
      auto decoded = decode_base64(patch);
      if (!decoded) return not_called("illegal base64 data in response.patch");
      verdict.patch = std::move(*decoded);
    }
    if (patch_type) verdict.patch_type = patch_type->text();
    const bool typed = patch_type != nullptr;
    if (version == "v1") {
      if (said_uid != uid)
        return not_valid(fmt::format("expected response.uid={}, got {}", quote(uid), quote(said_uid)));
      if (api_version != expected || kind != "AdmissionReview") {
        const auto shown = [](std::string_view of_version, std::string_view of_kind) {
          const Version parts = split_version(of_version);
          return fmt::format("{}/{}, Kind={}", parts.group, parts.version, of_kind);
        };
        return not_valid(fmt::format("expected webhook response of {}, got {}",
                                     shown(expected, "AdmissionReview"), shown(api_version, kind)));
      }
      if (!mutating && !verdict.patch.empty())
        return not_valid("validating webhook may not return response.patch");
      if (!mutating && typed) return not_valid("validating webhook may not return response.patchType");
      if (!verdict.patch.empty() && !typed)
        return not_valid("webhook returned response.patch but not response.patchType");
      if (verdict.patch.empty() && typed)
        return not_valid("webhook returned response.patchType but not response.patch");
      if (typed && verdict.patch_type.empty())
        return not_valid("webhook returned invalid response.patchType of \"\"");
    } else {
      // v1beta1 never looked at uid, kind and type of patch.
      verdict.patch_type = verdict.patch.empty() ? "" : "JSONPatch";
      if (!mutating) verdict.patch.clear();
    }
    return verdict;
  }
  return not_valid("webhook response was absent");
}

Failure refusal(std::string_view webhook, std::optional<Failure> status) {
  constexpr int kLeast = 400;
  Failure failure = status ? std::move(*status) : Failure();
  if (!status || failure.code < kLeast) failure.code = kLeast;
  const std::string denied = fmt::format("admission webhook {} denied the request", quote(webhook));
  if (!failure.message.empty())
    failure.message = fmt::format("{}: {}", denied, failure.message);
  else if (!failure.reason.empty())
    failure.message = fmt::format("{}: {}", denied, failure.reason);
  else
    failure.message = fmt::format("{} without explanation", denied);
  return failure;
}

std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) out += c;
  }
  out += '"';
  return out;
}

}  // namespace koord::sandbox
