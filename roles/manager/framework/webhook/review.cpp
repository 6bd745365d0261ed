// The codec of AdmissionReview. Fields stand in the order in which Go writes them.
#include "framework/webhook/review.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

namespace {

constexpr std::string_view kV1 = "admission.k8s.io/v1", kV1Beta1 = "admission.k8s.io/v1beta1",
                           kKind = "AdmissionReview";

Error bad(std::string message) { return Error(Code::bad_request, std::move(message)); }

std::optional<Operation> operation_of(std::string_view text) {
  for (const Operation each : {Operation::create, Operation::update, Operation::remove, Operation::connect})
    if (to_string(each) == text) return each;
  return std::nullopt;
}

/// Taken out of the request: what lies below it stays where it is.
json::Value take(json::Value& request, std::string_view name) {
  json::Value* value = json::find(request, name);
  return value ? std::move(*value) : json::Value();
}

void write_status(json::Writer& json, const Verdict& verdict) {
  json.key("status").begin_object().key("metadata").begin_object().end_object();
  json.member_if("message", verdict.message).member_if("reason", verdict.reason);
  if (verdict.retry_after > 0)
    json.key("details").begin_object().member("retryAfterSeconds", verdict.retry_after).end_object();
  json.member("code", verdict.code).end_object();
}

}  // namespace

Result<Review> read_review(std::string_view body) {
  if (body.empty()) return bad("request body is empty");
  Review review;
  if (auto read = review.document.read(body); !read) return bad(read.error().message());
  json::Value& root = review.document;
  if (!root.is_object()) return bad("an AdmissionReview is an object");
  const std::string_view kind = json::text_at(root, "kind");
  review.api_version = json::text_at(root, "apiVersion");
  if (review.api_version.empty() && kind.empty())
    review.api_version = kV1;
  else if (kind != kKind || (review.api_version != kV1 && review.api_version != kV1Beta1))
    return bad(fmt::format("kind \"{:.64}\" of \"{:.64}\" is not {} of {} or {}", kind, review.api_version,
                           kKind, kV1, kV1Beta1));
  json::Value* asked = json::find(root, "request");
  if (!asked || !asked->is_object()) return bad("the review has no request");
  AdmissionRequest& request = review.request;
  request.uid = json::text_at(*asked, "uid");
  if (request.uid.empty()) return bad("the review's request has no uid");
  const std::string_view operation = json::text_at(*asked, "operation");
  const auto known = operation_of(operation);
  if (!known)
    return bad(fmt::format("operation \"{:.64}\" is not CREATE, UPDATE, DELETE or CONNECT", operation));
  request.operation = *known;
  request.group = json::text_at(*asked, "resource", "group");
  request.version = json::text_at(*asked, "resource", "version");
  request.resource = json::text_at(*asked, "resource", "resource");
  request.subresource = json::text_at(*asked, "subResource");
  request.name = json::text_at(*asked, "name");
  request.ns = json::text_at(*asked, "namespace");
  request.username = json::text_at(*asked, "userInfo", "username");
  if (const json::Value* const groups = json::find(*asked, "userInfo", "groups");
      groups != nullptr && groups->is_array())
    for (const json::Value& group : groups->elements())
      if (!group.text().empty()) request.groups.push_back(group.text());
  request.user_uid = json::text_at(*asked, "userInfo", "uid");
  if (json::Value* const user = json::find(*asked, "userInfo"); user != nullptr && user->is_object())
    request.extra = take(*user, "extra");
  request.dry_run = json::true_at(*asked, "dryRun");
  request.object = take(*asked, "object");
  request.old_object = take(*asked, "oldObject");
  return review;
}

std::string write_answer(const Review& review, const Verdict& verdict, std::string_view patch) {
  std::string out;
  out.reserve(256 + patch.size() * 4 / 3);
  json::Writer json(out);
  json.begin_object().member("kind", kKind).member("apiVersion", review.api_version).key("response");
  json.begin_object().member("uid", review.request.uid).member("allowed", verdict.allowed);
  write_status(json, verdict);
  if (verdict.allowed && !patch.empty())
    json.member("patch", encode_base64(patch)).member("patchType", "JSONPatch");
  json.end_object().end_object();
  return out;
}

std::string write_refusal(int code, std::string_view message) {
  std::string out;
  json::Writer json(out);
  json.begin_object().key("response").begin_object().member("uid", "").member("allowed", false);
  write_status(json, Verdict::error(code, std::string(message)));
  json.end_object().end_object();
  return out;
}

}  // namespace koord::manager
