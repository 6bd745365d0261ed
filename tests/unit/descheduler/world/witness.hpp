// Witness: sees all that the descheduler asks for at the moment at which it asks, and says what of it must
// not be. What it knows of limits it reckons itself, from the objects as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "world/api_server.hpp"

namespace koord::descheduler::world {

/// As configured. 0: none.
struct Limits {
  int per_pass_and_node = 2, per_pass_and_namespace = 3, per_pass = 4;
  int migrating_per_node = 2, migrating_per_namespace = 4;
  nanoseconds limiter = std::chrono::minutes(5);  // of a workload
  /// For so long no pod may come to a node that one of its workload has left.
  nanoseconds stays_away{0};
};

class Witness final : sandbox::Observer {
 public:
  Witness(ApiServer& server, Clock& clock, Limits limits);
  ~Witness() override;
  /// Requests of this client are the descheduler's. One in so many of its writes fails, unless that is 0.
  void follow(DirectTransport& client, int fails_each);

  std::vector<std::string> wrong;
  std::uint64_t jobs = 0, evictions = 0, refused = 0;

 private:
  /// A pod that is asked to go.
  struct Leaving {
    std::string workload, app, node;
  };
  struct Left {
    std::string node;
    MonoTime at;
  };
  void on_change(sandbox::Collection& collection, const sandbox::Change& change) override;
  void arrived(const sandbox::Object& pod, std::string_view node);
  void judge_eviction(const std::string& ns, const std::string& name);
  void judge_budgets(const sandbox::Object& pod);
  void judge_room(const sandbox::Object& pod);
  void evicted();
  void judge_job(const std::string& body);
  void judge_limits(const std::string& body);
  void blame(std::string what);
  int replicas(const std::string& ns, const std::string& app) const;

  ApiServer& server_;
  Clock& clock_;
  const Limits limits_;
  Leaving leaving_;
  std::map<std::string, std::vector<Left>, std::less<>> left_, came_;  // by the workload's uid
  MonoTime pass_{};
  std::map<std::string, int> in_pass_;  // "node X", "namespace X", ""
};

}  // namespace koord::descheduler::world
