// DeviceWatch: see device_watch.hpp.
#include "framework/devices/device_watch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "koord/async/timer.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kCount{.name = "koordlet_devices",
                                 .type = metrics::Type::gauge,
                                 .help = "Devices of the node, by type and whether they work.",
                                 .labels = {"type", "healthy"}};

}  // namespace

const metrics::Table DeviceWatch::kMetrics = {&kCount};

DeviceWatch::DeviceWatch(Sources sources, Logger& log, metrics::Registry& metrics)
    : sources_(std::move(sources)), log_(log), count_(metrics.gauges(kCount)) {}

DeviceWatch::Look DeviceWatch::look() const {
  Look look;
  NodeDevices& all = look.devices;
  const auto add = [&](DeviceReading reading, bool& complete) {
    if (std::ranges::any_of(reading.devices, [](const auto& device) { return device.type == kGpuType; }))
      all.gpus = std::move(reading.gpus);
    std::ranges::move(reading.devices, std::back_inserter(all.devices));
    std::ranges::move(reading.problems, std::back_inserter(look.problems));
    all.verbs.merge(reading.verbs);
    complete = complete && reading.complete;
  };
  if (sources_.files) add(sources_.files(), all.gpus_complete);
  if (sources_.gpus && all.devices.empty()) add(sources_.gpus(), all.gpus_complete);
  if (sources_.rdma) add(sources_.rdma(), all.rdma_complete);
  if (sources_.cdi) all.cdi = sources_.cdi(look.problems);
  if (sources_.isolation) all.isolation = sources_.isolation();
  return look;
}

void DeviceWatch::take(Look look) {
  std::set<std::string> now(std::make_move_iterator(look.problems.begin()),
                            std::make_move_iterator(look.problems.end()));
  for (const std::string& problem : now)
    if (!told_.contains(problem))
      log_.warn("devices are not reported as their source has them", kv("problem", problem));
  told_ = std::move(now);
  if (current_ != nullptr && *current_ == look.devices) return;
  for (const std::string_view type : {kGpuType, kRdmaType})
    for (const bool healthy : {true, false}) {
      const auto count = std::ranges::count_if(look.devices.devices, [&](const api::DeviceInfo& device) {
        return device.type == type && device.health == healthy;
      });
      count_.with({type, healthy ? "true" : "false"}).set(static_cast<double>(count));
    }
  current_ = std::make_shared<const NodeDevices>(std::move(look.devices));
}

Task<Result<>> DeviceWatch::run(WorkerPool& workers, Clock& clock, nanoseconds interval) {
  for (;;) {
    std::function<Result<Look>()> read = [this]() -> Result<Look> { return look(); };
    KOORD_CO_TRY(seen, co_await offload(workers, std::move(read)));
    take(std::move(seen));
    KOORD_CO_CHECK(co_await sleep(clock, interval));
  }
}

}  // namespace koord::koordlet
