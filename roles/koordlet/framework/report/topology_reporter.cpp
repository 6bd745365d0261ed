// TopologyReporter: see topology_reporter.hpp.
#include "framework/report/topology_reporter.hpp"

#include <fmt/format.h>

#include "framework/report/node_object.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {

TopologyReporter::TopologyReporter(Parts parts, Settings settings)
    : parts_(std::move(parts)),
      settings_(std::move(settings)),
      nodes_(parts_.informers.informer<api::Node>(parts_.client, scope_of_node(settings_.node))),
      topologies_(parts_.informers.informer<api::NodeResourceTopology>(parts_.client,
                                                                       scope_of_node(settings_.node))) {}

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
  NodeObjectEdit edit;
  edit.change = [&wanted](json::Document& document) -> Result<> {
    write_topology(document, wanted);
    return {};
  };
  edit.make = [&] { return new_topology(wanted, node); };
  co_return co_await write_node_object(parts_.client, parts_.clock, api::kind<api::NodeResourceTopology>(),
                                       settings_.node, edit, exists);
}

}  // namespace koord::koordlet
