// The node's own objects: see node_object.hpp.
#include "framework/report/node_object.hpp"

#include <fmt/format.h>

#include "koord/async/backoff.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {

namespace {

/// Of one write that others' come in between of.
constexpr int kTries = 4;

bool is_worth_another_try(Code code) {
  return code == Code::conflict || code == Code::too_many_requests || code == Code::already_exists ||
         code == Code::not_found;
}

/// Code::not_found: there is none.
Task<Result<>> update(kube::Client& client, const api::Kind& kind, kube::ObjectKey key,
                      const NodeObjectEdit& edit) {
  KOORD_CO_TRY(text, co_await client.get_raw(kind, key));
  KOORD_CO_TRY(document, json::parse(text));
  KOORD_CO_TRY(before, json::parse(text));
  KOORD_CO_CHECK(edit.change(document));
  if (document == before) co_return Result<>();  // the informer is behind
  const auto written = co_await client.update_raw(kind, std::move(key), json::to_text(document));
  if (!written) co_return written.error();
  co_return Result<>();
}

/// Code::already_exists: there is one.
Task<Result<>> create(kube::Client& client, const api::Kind& kind, const NodeObjectEdit& edit) {
  const auto created = co_await client.create_raw(kind, "", edit.make());
  if (!created) co_return created.error();
  co_return Result<>();
}

}  // namespace

kube::Scope scope_of_node(const std::string& node) {
  kube::Scope scope;
  scope.fields = fmt::format("metadata.name={}", node);
  return scope;
}

void write_owned_metadata(json::Writer& json, const api::Node& node, std::string_view managed_by) {
  const std::string& name = node.metadata.name;
  json.key("metadata").begin_object().member("name", name);
  if (!managed_by.empty())
    json.key("labels").begin_object().member("app.kubernetes.io/managed-by", managed_by).end_object();
  json.key("ownerReferences")
      .begin_array()
      .begin_object()
      .member("apiVersion", "v1")
      .member("kind", "Node")
      .member("name", name)
      .member("uid", node.metadata.uid)
      .member("controller", true)
      .member("blockOwnerDeletion", true)
      .end_object()
      .end_array()
      .end_object();
}

Task<Result<>> write_node_object(kube::Client& client, Clock& clock, const api::Kind& kind,
                                 const std::string& name, const NodeObjectEdit& edit, bool exists) {
  Backoff backoff({.initial = std::chrono::milliseconds(10), .factor = 5.0, .jitter = 0.1});
  for (int tries = 1;; ++tries) {
    const Result<> done =
        exists ? co_await update(client, kind, {"", name}, edit) : co_await create(client, kind, edit);
    if (done || !is_worth_another_try(done.error().code()) || tries == kTries) co_return done;
    if (done.error().code() == Code::already_exists) exists = true;
    if (done.error().code() == Code::not_found) exists = false;
    KOORD_CO_CHECK(co_await sleep(clock, backoff.next()));
  }
}

}  // namespace koord::koordlet
