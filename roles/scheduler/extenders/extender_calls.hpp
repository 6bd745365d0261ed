// ExtenderCalls: asks HTTP extenders, as kube-scheduler does.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/net/message.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/plugin/extender_talk.hpp"

namespace koord::json {
class Document;
class Value;
}  // namespace koord::json
namespace koord::kube {
class Client;
class Transport;
}  // namespace koord::kube
namespace koord {
class WorkerPool;
}

namespace koord::scheduler {

/// Belongs to the event loop's thread; outlives its tasks. Those that may be ignored are asked last. What one
/// says is bounded and believed only about what it was asked; a slow one holds up nobody but the pods that it
/// is asked about. Questions and answers have the size of the cluster: workers write and read them, one
/// question at a time for each extender, and none is begun while those on their way to it have kMostOnTheWay
/// bytes.
class ExtenderCalls {
 public:
  /// How an extender is reached.
  using MakeTransport = std::function<Result<std::unique_ptr<kube::Transport>>(const scheduling::Extender&)>;
  static constexpr std::size_t kMostOnTheWay = std::size_t{64} << 20;
  /// Those of the configuration, over HTTP or TLS. Errors name what is wrong with the TLS files.
  static Result<std::unique_ptr<ExtenderCalls>> make(asio::any_io_executor executor, Clock& clock, Logger log,
                                                     kube::Client& client, WorkerPool& workers,
                                                     const std::vector<scheduling::Extender>& extenders);
  /// `client`: where pods are read whole, as they go to the extenders.
  static Result<std::unique_ptr<ExtenderCalls>> make(Logger log, kube::Client& client, WorkerPool& workers,
                                                     const std::vector<scheduling::Extender>& extenders,
                                                     const MakeTransport& transport);
  ~ExtenderCalls();

  Task<scheduling::ExtenderAnswer> ask(std::shared_ptr<const api::Pod> pod,
                                       std::shared_ptr<const scheduling::ExtenderQuestion> question);
  /// Pods alone: of an object that stands as a pod its plugin knows how it is bound.
  bool binds(const api::Pod& pod) const;
  /// Absent: none of them binds this pod; or it may be ignored and failed.
  Task<std::optional<Result<>>> bind(std::shared_ptr<const api::Pod> pod, Symbol node,
                                     std::function<bool()> may_go);

 private:
  struct Server;
  struct Asking;
  class OnTheWay;

  ExtenderCalls(Logger log, kube::Client& client, WorkerPool& workers);
  Task<Result<net::Response>> send(const Server& server, std::string verb, std::string body,
                                   std::function<bool()> may_go = {});
  Task<Result<json::Document>> ask(Server& server, std::string verb, std::function<std::string()> write);
  Task<Result<>> filter(Server& server, Asking& asking);
  Task<Result<>> prioritize(Server& server, Asking& asking);
  Task<Result<>> preempt(Server& server, Asking& asking);
  Task<> ask_about_nodes(Asking& asking);
  Task<> ask_about_victims(Asking& asking);
  void skipped(const Server& server, const Error& error) const;

  Logger log_;
  kube::Client& client_;
  WorkerPool& workers_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace koord::scheduler
