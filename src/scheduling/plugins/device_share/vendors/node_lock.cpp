// NodeLock: see node_lock.hpp.
#include "scheduling/plugins/device_share/vendors/node_lock.hpp"

#include <fmt/format.h>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"

namespace koord::scheduling::device_share {

namespace {

std::string lock_patch(std::string_view key, std::string_view value) {
  std::string body;
  json::Writer json(body);
  json.begin_object().key("metadata").begin_object().key("annotations").begin_object();
  json.member(key, value);
  json.end_object().end_object().end_object();
  return body;
}

}  // namespace

std::string lock_text(WallTime now, LockHolder holder) {
  return fmt::format("{},{},{}", api::Time(now).to_string(), holder.ns, holder.name);
}

Result<> may_lock(std::string_view node, std::string_view value, LockHolder by, WallTime now,
                  const std::function<bool(LockHolder)>& exists) {
  const std::size_t first = value.find(','), second = value.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos ||
      value.find(',', second + 1) != std::string_view::npos)
    return Error(Code::invalid, fmt::format("invalid node lock value {}", quote(value)));
  KOORD_TRY(at, api::Time::parse(value.substr(0, first)));
  const LockHolder holder{value.substr(first + 1, second - first - 1), value.substr(second + 1)};
  if (now - at.wall() > kLockExpires) return {};
  if (holder.ns == by.ns && holder.name == by.name) return {};
  if (!exists(holder)) return {};
  return Error(Code::conflict, fmt::format("node \"{}\" has been locked", node));
}

Task<Status> NodeLock::run(const Context& context) {
  const Result<> taken = co_await take(context);
  if (taken) co_return Status{};
  co_return Status{StatusCode::error, fmt::format("{}{}", before_, taken.error().message())};
}

Task<Result<>> NodeLock::take(const Context& context) {
  const std::string name = context.node.str();
  auto node = std::static_pointer_cast<const api::Node>(context.find(kube::kObjectType<api::Node>, {}, name));
  if (node == nullptr)
    co_return Error(Code::not_found,
                    fmt::format("failed to get node \"{}\": node \"{}\" not found", name, name));
  const LockHolder by{context.pod->metadata.namespace_.view(), context.pod->metadata.name};
  const auto exists = [&context](LockHolder holder) {
    return context.find(kube::kObjectType<api::Pod>, holder.ns, holder.name) != nullptr;
  };
  for (int n = 1;; ++n) {
    if (const Symbol* const value = node->metadata.annotations.find(key_)) {
      const Result<> may = may_lock(name, value->view(), by, context.clock.now(), exists);
      if (!may)
        co_return Error(may.error().code(), fmt::format("failed to lock node: {}", may.error().message()));
    }
    if (!context.may_write()) co_return Error(Code::unavailable, "another scheduler may hold the lease");
    api::Patch guarded =
        api::Patch{.body = lock_patch(key_, lock_text(context.clock.now(), by))}.with_precondition(
            {.resource_version = node->metadata.resource_version});
    const auto patched =
        co_await context.client.patch_raw(api::kind<api::Node>(), {{}, name}, std::move(guarded.body), {});
    if (patched) co_return Result<>();
    if (patched.error().code() != Code::conflict || n == kTries)
      co_return Error(patched.error().code(),
                      fmt::format("failed to patch node \"{}\": {}", name, patched.error().message()));
    KOORD_CO_TRY(now, co_await context.client.get<api::Node>({{}, name}));
    node = std::make_shared<const api::Node>(std::move(now));
  }
}

}  // namespace koord::scheduling::device_share
