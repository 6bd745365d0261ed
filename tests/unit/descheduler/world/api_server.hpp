// ApiServer: a Kubernetes API in this process, without sockets, on the test's clock: the sandbox's objects,
// controllers and kubelets, and a transport for each of those who talk to it.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "koord/async/event.hpp"
#include "koord/kube/transport.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/controllers/disruptions.hpp"
#include "sandbox/controllers/garbage.hpp"
#include "sandbox/controllers/stateful_sets.hpp"
#include "sandbox/controllers/workloads.hpp"
#include "sandbox/crd/registrar.hpp"
#include "sandbox/nodes/kubelets.hpp"

namespace koord::descheduler::world {

/// Of one client. Answers take no time.
class DirectTransport final : public kube::Transport {
 public:
  /// `open`: all streams that are open, who is told of the time.
  DirectTransport(sandbox::Api& api, Clock& clock, std::list<sandbox::Watch*>& open)
      : api_(api), clock_(clock), open_(open) {}

  /// Asked before a request is answered; an answer of its own is the request's.
  std::function<std::optional<net::Response>(const net::Request&)> before;
  /// Told of each answer, once what was asked for is done.
  std::function<void(const net::Request&, const net::Response&)> after;

  Task<Result<net::Response>> send(const net::Request& request) override;
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override;

 private:
  sandbox::Reply ask(const net::Request& request);

  sandbox::Api& api_;
  Clock& clock_;
  std::list<sandbox::Watch*>& open_;
};

class ApiServer {
 public:
  ApiServer(Clock& clock, std::uint64_t seed);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  /// Lives as long as the server.
  DirectTransport& connect();
  /// Of a manifest as JSON; the test fails where it is refused.
  void create(const std::string& json);
  /// An edit of somebody's, as `kubectl edit` makes them.
  void edit(std::string_view resource, std::string_view ns, std::string_view name,
            const std::function<void(json::Document&)>& change);

  sandbox::Verbs& verbs() { return verbs_; }
  sandbox::Store& store() { return store_; }
  /// Of "pods", "podmigrationjobs.scheduling.koordinator.sh", ...
  const sandbox::Collection::Map& objects(const std::string& collection) {
    return store_.collection(collection).objects();
  }

 private:
  void tick();

  Clock& clock_;
  sandbox::Store store_{2'000, 100};
  sandbox::Registry registry_{store_};
  sandbox::Verbs verbs_;
  sandbox::Api api_;
  sandbox::Registrar registrar_;
  sandbox::Garbage garbage_;
  sandbox::Workloads workloads_;
  sandbox::StatefulSets stateful_sets_;
  sandbox::Disruptions disruptions_;
  sandbox::Kubelets kubelets_;
  std::list<sandbox::Watch*> open_;
  std::deque<DirectTransport> transports_;
  TimerId timer_ = 0;
};

}  // namespace koord::descheduler::world
