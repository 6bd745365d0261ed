// World: a cluster of some nodes for some hours, in which koord's scheduler and descheduler work as they do
// in production, on a clock that only the test moves.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/role_rig.hpp"
#include "world/api_server.hpp"
#include "world/random_load.hpp"
#include "world/scheduler_process.hpp"
#include "world/witness.hpp"

namespace koord::descheduler::world {

struct Setting {
  std::uint64_t seed = 1;
  bool deschedules = true;
  int nodes = 8, cores = 32, workloads = 40;
  int fails_each = 0;  // of the descheduler's writes: one in so many, 0: none
  nanoseconds interval = std::chrono::seconds(30);
};

struct Figures {
  std::uint64_t jobs = 0, evictions = 0, refused = 0;
  double hot_minutes = 0;  // of all nodes together, above the high threshold
  double spread = 0;       // of nodes' CPU usage in points of percent: the standard deviation, on the mean
  double highest = 0;      // percent: the most used node, on the mean
  std::size_t pods = 0;
  friend bool operator==(const Figures&, const Figures&) = default;
};

class World : public koord::test::RoleRig {
 public:
  static constexpr int kLow = 50, kHigh = 65;  // percent of CPU

  explicit World(const Setting& setting);
  ~World() override;

  void run(nanoseconds time);
  Figures figures() const;
  std::vector<std::string> wrong() const;

  Result<kube::Client*> client(const runtime::ClientSettings&) override { return &api_; }

 private:
  void each_minute();
  void report();
  void disturb();
  int part_of(const sandbox::Object& pod);
  void look_for_homeless();

  const Setting setting_;
  ApiServer server_;
  DirectTransport& transport_;
  kube::Client api_;
  RandomLoad load_;
  std::unique_ptr<Witness> witness_;
  std::unique_ptr<SchedulerProcess> scheduler_;
  std::unique_ptr<runtime::Role> made_;
  TimerId timer_ = 0;
  MonoTime began_{};
  std::map<std::string, MonoTime> waiting_;  // pods that do not run, since when
  std::vector<std::string> homeless_;
  std::map<std::string, std::map<int, std::string>> parts_;  // of workloads, and which pod has them
  std::uint64_t minutes_ = 0;
  double spread_ = 0, highest_ = 0, hot_ = 0;
};

}  // namespace koord::descheduler::world
