// Health: whether the agent is well: for its health checks, and for systemd's watchdog.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/states/source_status.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/service_manager.hpp"

namespace koord::koordlet {

class Health {
 public:
  /// All outlive it; its functions are called at each question.
  struct Parts {
    Clock& clock;
    Logger log;
    const InventoryHub& hub;
    nanoseconds interval;  // between ticks
    std::function<std::optional<MonoTime>()> last_tick;
    /// When the pods were last listed; never: nobody lists them, or not yet.
    std::function<std::optional<MonoTime>()> pods_listed;
    std::function<std::vector<SourceStatus>()> sources;
  };
  explicit Health(Parts parts);

  /// Ticks come. Code::timeout: none for a while; before the first one nothing is said.
  Result<> ticks() const;
  /// The node's pods are known and were listed not long ago; else Code::unavailable, with what the sources
  /// say.
  Result<> inventory() const;

  /// To systemd, where it started the agent: "READY=1". What cannot be told is logged.
  void tell_service_manager(std::string_view state);
  bool has_watchdog() const { return service_.watchdog().has_value(); }
  /// Until it is cancelled: feeds it while ticks come, so that an agent whose ticks stop is ended and started
  /// again. Only where there is one.
  Task<Result<>> feed_watchdog();

 private:
  Parts parts_;
  ServiceManager service_;
};

}  // namespace koord::koordlet
