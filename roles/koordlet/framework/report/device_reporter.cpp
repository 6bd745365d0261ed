// DeviceReporter: see device_reporter.hpp.
#include "framework/report/device_reporter.hpp"

#include <fmt/format.h>

#include "framework/report/node_devices.hpp"
#include "framework/report/node_object.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"

namespace koord::koordlet {

DeviceReporter::DeviceReporter(Parts parts, std::string node, nanoseconds interval)
    : parts_(parts),
      node_(std::move(node)),
      interval_(interval),
      nodes_(parts_.informers.informer<api::Node>(parts_.client, scope_of_node(node_))),
      objects_(parts_.informers.informer<api::Device>(parts_.client, scope_of_node(node_))) {}

Task<Result<>> DeviceReporter::run() {
  KOORD_CO_CHECK(co_await nodes_.wait_synced());
  KOORD_CO_CHECK(co_await objects_.wait_synced());
  for (;;) {
    const Result<> done = co_await look();
    if (!done && done.error().code() == Code::cancelled) co_return done;
    if (!done && !failing_) parts_.log.warn("the Device could not be written", kv("error", done.error()));
    if (done && failing_) parts_.log.info("the Device can be written again");
    failing_ = !done;
    KOORD_CO_CHECK(co_await sleep(parts_.clock, interval_));
  }
}

Task<Result<>> DeviceReporter::look() {
  if (objects_.undefined() != nullptr) co_return Result<>();
  const auto devices = parts_.watch.current();
  const auto node = nodes_.get("", node_);
  const auto object = objects_.get("", node_);
  if (!node || !devices || (devices == right_ && object == right_object_)) co_return Result<>();
  if (object) {
    const api::Device wanted = wanted_device(*devices, *object, api::Time(parts_.clock.now()));
    if (says(*object, wanted)) {
      right_ = devices;
      right_object_ = object;
      co_return Result<>();
    }
  }
  auto written = co_await write(*devices, *node, object != nullptr);
  if (!written) co_return std::move(written).error().context(fmt::format("Device {}", node_));
  co_return Result<>();
}

Task<Result<>> DeviceReporter::write(const NodeDevices& devices, const api::Node& node, bool exists) {
  const api::Time now(parts_.clock.now());
  NodeObjectEdit edit;
  edit.change = [&](json::Document& document) -> Result<> {
    KOORD_TRY(object, api::decode<api::Device>(document));
    write_device(document, wanted_device(devices, object, now));
    return {};
  };
  edit.make = [&] { return new_device(wanted_device(devices, api::Device(), now), node); };
  co_return co_await write_node_object(parts_.client, parts_.clock, api::kind<api::Device>(), node_, edit,
                                       exists);
}

}  // namespace koord::koordlet
