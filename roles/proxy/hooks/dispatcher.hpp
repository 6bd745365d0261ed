// Dispatcher: asks the hook servers of a stage, in the order of their files' names, each with what those
// before it said, and does what their policies say where one does not answer.
#pragma once

#include <bitset>
#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hooks/breaker.hpp"
#include "hooks/hook_servers.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::rpc {
class Channel;
class Engine;
}  // namespace koord::rpc

namespace koord::proxy {

/// Used on the executor's thread. Run follow() in a task group.
class Dispatcher {
 public:
  struct Parts {
    rpc::Engine& engine;
    asio::any_io_executor executor;
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
    std::string folder;
    std::string keep_file;  // where the files' texts are kept for the next process
    nanoseconds timeout;
  };
  static const metrics::Table kMetrics;

  /// Reads what was kept, and the folder, once.
  explicit Dispatcher(Parts parts);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Follows the folder until it is cancelled.
  Task<Result<>> follow();

  /// Whether anybody is asked at this stage, and whether somebody of them must have answered.
  bool asks(rpc::hooks::Stage stage) const { return asked_.test(static_cast<std::size_t>(stage)); }
  bool insists(rpc::hooks::Stage stage) const { return insisted_.test(static_cast<std::size_t>(stage)); }

  /// Lays over `request` what they say. `time_left` of the caller's; nothing: no end. An error: one with the
  /// policy Fail did not answer before what may still be refused; its message is "hook server err: ...", as
  /// the kubelet gets it (Unknown). Code::cancelled: with its coroutine.
  Task<Result<>> ask(rpc::hooks::Stage stage, rpc::hooks::PodRequest& request,
                     std::optional<nanoseconds> time_left);
  Task<Result<>> ask(rpc::hooks::Stage stage, rpc::hooks::ContainerRequest& request,
                     std::optional<nanoseconds> time_left);

  /// What is to be asked and cannot be (its sandbox is not known): nothing happens where nobody insists, else
  /// the error that the request is refused with. Counted, either way.
  Result<> cannot_ask(rpc::hooks::Stage stage, const Error& why);

 private:
  struct Server;
  struct Answer;
  template <class Request, class Decode>
  Task<Result<>> ask_all(rpc::hooks::Stage stage, Request& request, std::optional<nanoseconds> time_left,
                         Decode decode);
  Task<Answer> ask_one(const HookServer& server, rpc::hooks::Stage stage, std::string message,
                       nanoseconds limit);
  std::shared_ptr<Server> server_at(const std::string& endpoint);
  Result<> failed(const HookServer& server, rpc::hooks::Stage stage, const Answer& answer);
  void read_folder();
  void keep();
  void renew(const std::string& endpoint);
  class Watches;

  Parts parts_;
  HookServers servers_;
  std::optional<HookTexts> kept_;                           // as they stand in the file
  bool keeps_ = true;                                       // the last try to keep them worked
  std::shared_ptr<const std::vector<HookServer>> current_;  // servers_.all(), for calls under way
  std::bitset<rpc::hooks::kStages> asked_, insisted_;
  std::map<std::string, std::shared_ptr<Server>, std::less<>> by_endpoint_;
  metrics::Family<metrics::Counter> calls_, unhooked_, refused_;
  metrics::Family<metrics::Histogram> seconds_;
  metrics::Gauge files_, bad_files_;
};

}  // namespace koord::proxy
