// ClaimServer: the API server that has the claims of an engine with DynamicResources, played in memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// kube-scheduler's gates, set so: "A=true,B=false".
FeatureGates gates_of(const std::string& settings);

class ClaimServer {
 public:
  ClaimServer();
  virtual ~ClaimServer() = default;
  ClaimServer(const ClaimServer&) = delete;
  ClaimServer& operator=(const ClaimServer&) = delete;

  /// Written by others, as another version; the engine is told.
  void put_claim(api::ResourceClaim claim);
  void remove_claim(const std::string& name);
  /// What the API server has and the engine was not told of yet.
  void tell();
  /// Whether there is something.
  bool has_news() const;
  /// Another engine was told of nothing.
  void forget_told() { told_.clear(); }

  /// The work of a decision before the binding; what failed, "": nothing.
  std::string prepare(const Decision& decision);

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client client{transport, loop.clock, {.max_retries = 0}};
  std::map<std::string, api::ResourceClaim> claims;  // by name
  std::vector<std::string> writes;  // "PUT NAME", "PUT NAME/status", "PATCH NAME/status BODY"
  std::function<std::optional<Result<net::Response>>(const std::string& write)> refuse;
  bool tells_at_once = true;  // the engine hears of each write

 private:
  virtual Engine& engine() = 0;
  Result<net::Response> answer(const net::Request& request);
  kube::Object find(const kube::ObjectType& type, std::string_view name) const;

  std::map<std::string, std::shared_ptr<const api::ResourceClaim>> told_;  // by name
  std::uint64_t version_ = 100;
};

}  // namespace koord::scheduling::test
