// Services: what the scheduler tells of itself over HTTP: /apis/v1/... and /debug/flags.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drive/engine_thread.hpp"
#include "koord/base/log.hpp"
#include "koord/net/message.hpp"
#include "koord/runtime/serving.hpp"
#include "koord/scheduling/engine/attempt_log.hpp"

namespace koord::scheduler {

/// What is logged of attempts, as --debug-* say it and PUT to /debug/flags/{s,f,d,db} changes it.
struct DebugFlags {
  std::int64_t scores = 0;  // of so many of the best nodes; 0: none
  bool filters = false;     // which nodes refused a pod
  bool diagnosis = false;   // attempts that failed, as JSON
  bool blocking = false;    // taken for the original's sake: logging is asynchronous and bounded
};

/// The event loop's thread. What the engine knows is asked of its thread, in its turn.
class Services {
 public:
  struct Parts {
    std::function<EngineThread*()> engine;  // nullptr: it does not run yet
    std::function<bool()> leading;
    const scheduling::AttemptLog& attempts;
    Clock& clock;
    Logger log;
    DebugFlags flags;
    std::vector<std::string> plugin_paths;  // what ServicePlugins serve, whole
  };
  explicit Services(Parts parts) : parts_(std::move(parts)) {}

  void add_to(runtime::Routes& routes);
  /// Tells the engine what it is to tell.
  void apply_flags();
  /// Logs what the flags ask for.
  void log_attempt(const scheduling::Decision& decision) const;
  const DebugFlags& flags() const { return parts_.flags; }

 private:
  Task<net::Response> answer(net::Request request);
  Task<net::Response> flag(net::Request request);
  Task<net::Response> ask(std::string key, EngineThread::Question question);
  std::string list() const;
  Result<std::string> set(std::string_view name, const std::string& value);
  std::optional<std::string> get(std::string_view name) const;

  Parts parts_;
};

/// The paths of all ServicePlugins of these profiles: "/apis/v1/plugins/NAME/...".
std::vector<std::string> service_paths(std::span<const scheduling::Profile> profiles);

}  // namespace koord::scheduler
