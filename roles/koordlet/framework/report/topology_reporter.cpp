// TopologyReporter: see topology_reporter.hpp.
#include "framework/report/topology_reporter.hpp"

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

kube::Scope own(const std::string& node) {
  kube::Scope scope;
  scope.fields = fmt::format("metadata.name={}", node);
  return scope;
}

bool is_worth_another_try(Code code) {
  return code == Code::conflict || code == Code::too_many_requests || code == Code::already_exists ||
         code == Code::not_found;
}

}  // namespace

TopologyReporter::TopologyReporter(Parts parts, Settings settings)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      nodes_(parts_.informers.informer<api::Node>(parts_.client, own(settings_.node))),
      topologies_(parts_.informers.informer<api::NodeResourceTopology>(parts_.client, own(settings_.node))) {}

Task<Result<>> TopologyReporter::run() {
  KOORD_CO_CHECK(co_await nodes_.wait_synced());
  KOORD_CO_CHECK(co_await topologies_.wait_synced());
  for (;;) {
    const Result<> done = co_await look();
    if (!done && done.error().code() == Code::cancelled) co_return done;
    if (!done && !failing_)
      parts_.log.warn("the NodeResourceTopology could not be written", kv("error", done.error()));
    if (done && failing_) parts_.log.info("the NodeResourceTopology can be written again");
    failing_ = !done;
    KOORD_CO_CHECK(co_await sleep(parts_.clock, settings_.interval));
  }
}

bool TopologyReporter::ready(const Seen& now) const {
  return now.facts && now.node && now.inventory->pods_known &&
         (now.inventory->kubelet || !settings_.with_kubelet);
}

Task<Result<>> TopologyReporter::look() {
  if (topologies_.undefined() != nullptr) co_return Result<>();
  Seen now{parts_.hub.current(), parts_.facts(), nodes_.get("", settings_.node),
           topologies_.get("", settings_.node)};
  if (!ready(now) || now == right_) co_return Result<>();
  const NodeTopology wanted = node_topology(*now.facts, *now.inventory, *now.node);
  if (now.topology) {
    const std::string_view stale = stale_part(*now.topology, wanted);
    if (stale.empty()) {
      right_ = std::move(now);
      co_return Result<>();
    }
    parts_.log.v(4, "writing the NodeResourceTopology", kv("stale", stale));
  }
  auto written = co_await write(wanted, *now.node, now.topology != nullptr);
  if (!written)
    co_return std::move(written).error().context(fmt::format("NodeResourceTopology {}", settings_.node));
  co_return Result<>();
}

Task<Result<>> TopologyReporter::write(const NodeTopology& wanted, const api::Node& node, bool exists) {
  Backoff backoff({.initial = std::chrono::milliseconds(10), .factor = 5.0, .jitter = 0.1});
  for (int tries = 1;; ++tries) {
    const Result<> done = exists ? co_await update(wanted) : co_await create(wanted, node);
    if (done || !is_worth_another_try(done.error().code()) || tries == kTries) co_return done;
    if (done.error().code() == Code::already_exists) exists = true;
    if (done.error().code() == Code::not_found) exists = false;
    KOORD_CO_CHECK(co_await sleep(parts_.clock, backoff.next()));
  }
}

Task<Result<>> TopologyReporter::create(const NodeTopology& wanted, const api::Node& node) {
  const auto created = co_await parts_.client.create_raw(api::kind<api::NodeResourceTopology>(), "",
                                                         new_topology(wanted, node));
  if (!created) co_return created.error();
  co_return Result<>();
}

Task<Result<>> TopologyReporter::update(const NodeTopology& wanted) {
  const api::Kind& kind = api::kind<api::NodeResourceTopology>();
  kube::ObjectKey key{"", settings_.node};
  KOORD_CO_TRY(text, co_await parts_.client.get_raw(kind, key));
  KOORD_CO_TRY(document, json::parse(text));
  KOORD_CO_TRY(before, json::parse(text));
  write_topology(document, wanted);
  if (document == before) co_return Result<>();  // the informer is behind
  const auto written = co_await parts_.client.update_raw(kind, std::move(key), json::to_text(document));
  if (!written) co_return written.error();
  co_return Result<>();
}

}  // namespace koord::koordlet
