// Looks: see look.hpp.
#include "passes/look.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/host/pci.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

using metrics::Metric;
using metrics::Type;

const Metric kDevices{.name = "koord_device_daemon_devices",
                      .type = Type::gauge,
                      .help = "Accelerators in the file, by vendor and by whether they are healthy.",
                      .labels = {"vendor", "healthy"}};
const Metric kFailures{.name = "koord_device_daemon_failures_total",
                       .help = "What a vendor's tool did not say of its cards: of all of them, or of one.",
                       .labels = {"vendor"}};
const Metric kDuration{.name = "koord_device_daemon_look_duration_seconds",
                       .type = Type::gauge,
                       .help = "How long the last look took."};
const Metric kLast{.name = "koord_device_daemon_last_look_timestamp_seconds",
                   .type = Type::gauge,
                   .help = "When the last look ended."};

}  // namespace

const metrics::Table Looker::kMetrics = {&kDevices, &kFailures, &kDuration, &kLast};

Looker::Looker(Parts parts)
    : parts_(std::move(parts)),
      found_(parts_.metrics.gauges(kDevices)),
      failures_(parts_.metrics.counters(kFailures)),
      duration_(parts_.metrics.gauge(kDuration)),
      last_(parts_.metrics.gauge(kLast)) {}

Task<Result<bool>> Looker::look(const Settings& settings) {
  const MonoTime begun = parts_.clock.mono();
  if (!programs_)
    programs_ = std::make_unique<HostPrograms>(parts_.clock, settings.host_root, settings.command_timeout);
  programs_->begin();
  const Machine machine{*programs_, settings.host_root, settings.sys_root};
  KOORD_CO_TRY(on_bus, co_await offload(parts_.workers, [&] { return host::scan_pci(settings.sys_root); }));
  bool well = true;
  for (const Vendor& vendor : all_vendors()) {
    const bool wanted =
        std::find(settings.vendors.begin(), settings.vendors.end(), vendor.name) != settings.vendors.end();
    if (!wanted || std::none_of(on_bus.begin(), on_bus.end(), vendor.owns)) {
      ledger_.absent(vendor.name);
      continue;
    }
    KOORD_CO_TRY(fine, co_await look_for(vendor, machine));
    well = well && fine;
  }
  show(settings, begun);
  co_return well;
}

Task<Result<bool>> Looker::look_for(const Vendor& vendor, const Machine& machine) {
  auto found = co_await vendor.look(machine);
  if (!found) {
    if (found.error().code() == Code::cancelled) co_return std::move(found).error();
    parts_.log.error("a vendor's accelerators are not known", kv("vendor", vendor.name),
                     kv("error", found.error()));
    failures_.with({vendor.name}).add(1);
    ledger_.failed(vendor.name, found.error().message());
    co_return false;
  }
  for (const std::string& failure : found->failures) {
    parts_.log.error("an accelerator is left out", kv("vendor", vendor.name), kv("error", failure));
    failures_.with({vendor.name}).add(1);
  }
  const bool well = found->failures.empty();
  ledger_.found(vendor.name, std::move(found->devices));
  co_return well;
}

void Looker::show(const Settings& settings, MonoTime begun) {
  for (const std::string& vendor : settings.vendors) {
    const auto [healthy, unhealthy] = ledger_.count(vendor);
    found_.with({vendor, "true"}).set(healthy);
    found_.with({vendor, "false"}).set(unhealthy);
  }
  const MonoTime now = parts_.clock.mono();
  duration_.set(std::chrono::duration<double>(now - begun).count());
  last_.set(std::chrono::duration<double>(parts_.clock.now().time_since_epoch()).count());
}

}  // namespace koord::device_daemon
