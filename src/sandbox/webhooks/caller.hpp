// Caller: the way to a webhook.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "koord/net/pool.hpp"
#include "sandbox/store/store.hpp"
#include "sandbox/webhooks/hooks.hpp"

namespace koord::sandbox {

class Caller {
 public:
  virtual ~Caller() = default;
  /// Posts the review. Whatever the webhook answers is a response; an error's message is why there is none,
  /// as Go's client words it. Ends when `timeout` has passed.
  virtual Task<Result<net::Response>> post(HookPtr hook, std::string body, std::chrono::seconds timeout) = 0;
};

/// What a webhook's clientConfig leads to.
struct HookAddress {
  std::string shown;  // the URL, for messages
  net::Url url;
  std::string server_name;  // what its certificate must be for
  std::string target;       // path, with the timeout as a parameter
};
/// A service is looked up in the store: its port's targetPort, if that is a number, else the port itself, on
/// loopback. An error is worded as kube-apiserver's resolver words it.
Result<HookAddress> resolve_hook(const HookClient& client, const Collection& services,
                                 std::chrono::seconds timeout);

/// Over verified TLS, with connections that are kept. One thread.
class PoolCaller final : public Caller {
 public:
  PoolCaller(asio::any_io_executor executor, Clock& clock, const Collection& services);
  ~PoolCaller() override;
  Task<Result<net::Response>> post(HookPtr hook, std::string body, std::chrono::seconds timeout) override;

 private:
  Result<std::shared_ptr<net::Pool>> pool(const HookAddress& address, const std::string& ca_pem);

  asio::any_io_executor executor_;
  Clock& clock_;
  const Collection& services_;
  std::list<std::pair<std::string, std::shared_ptr<net::Pool>>> pools_;  // the last used ones first
};

}  // namespace koord::sandbox
