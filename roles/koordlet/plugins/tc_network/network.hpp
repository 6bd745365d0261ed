// Network: what shaping reads of the host's network and does to it, so that tests can answer for the kernel.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/host/address_marks.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/group_classes.hpp"
#include "koord/host/root.hpp"
#include "koord/host/traffic_control.hpp"
#include "plugins/tc_network/class_files.hpp"
#include "plugins/tc_network/shaping.hpp"

namespace koord::koordlet::tc_network {

class Network {
 public:
  virtual ~Network() = default;
  struct Seen {
    Observed observed;
    std::string missing;  // what this kernel or these rights do not let koord have; empty: nothing
  };
  virtual Result<Seen> observe(const Wanted& wanted) = 0;
  virtual Result<> run(const Step& step) = 0;
};

/// What failed is tried again ten minutes later.
class Pause {
 public:
  void begin(MonoTime now) { over_ = now + std::chrono::minutes(10); }
  bool is_over(MonoTime now) const { return !over_ || now >= *over_; }

 private:
  std::optional<MonoTime> over_;
};

/// The host's own, as this thread sees it. On one thread at a time.
class HostNetwork final : public Network {
 public:
  /// A filter that the kernel refuses is loaded again after a pause by that clock, which outlives it; null:
  /// at each look.
  HostNetwork(host::Root root, host::CgroupVersion version, const Clock* clock = nullptr);
  Result<Seen> observe(const Wanted& wanted) override;
  Result<> run(const Step& step) override;
  /// Whether anything of koord's is there, as far as that can be told without rights.
  Result<bool> has_any();

 private:
  struct Group {
    std::uint64_t number = 0;
    host::TcHandle of_class = 0;
  };
  Result<> open();
  Result<> look_at_link(const Wanted& wanted, Seen& seen);
  void load_groups();
  void look_at_marks(const Wanted& wanted, Seen& seen);
  Result<host::AddressMarks::State> read_marks();
  Result<> look_at_groups(const Wanted& wanted, Seen& seen);
  void see_groups(const Wanted& wanted, Observed& observed);
  Result<> put_group(const std::string& group, host::TcHandle of_class);
  Result<> forget_group(const std::string& group);

  host::Root root_;
  host::CgroupVersion version_;
  const Clock* clock_;
  Pause pause_;
  std::optional<host::TrafficControl> traffic_;
  std::optional<host::AddressMarks> marks_;
  std::unique_ptr<host::GroupClasses> groups_;
  std::string no_groups_;                  // why there are none
  ClassFiles files_;                       // of cgroup v1
  std::map<std::string, Group> numbered_;  // of v2: what the filter was told
};

}  // namespace koord::koordlet::tc_network
