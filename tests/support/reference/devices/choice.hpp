// Which of a machine's devices a pod gets, for the scheduler's oracle: all ways are looked at.
#pragma once

#include "support/reference/devices/machine.hpp"

namespace koord::reference {

/// Of one pod on one machine.
class DeviceChoice {
 public:
  /// `reserving`: also what can wait until a node is chosen. What it refers to outlives it.
  DeviceChoice(const DeviceArgs& args, const DeviceRequest& asks, const DeviceMachine& machine,
               bool reserving);

  struct Why {
    std::string text;  // empty: it can be had
    bool unresolvable = false;
    bool refused() const { return !text.empty(); }
  };
  /// Nothing of it is left where it is refused.
  Why choose();
  const std::map<std::string, std::vector<api::AllocatedDevice>>& chosen() const { return chosen_; }
  std::int64_t score() const;

 private:
  using One = DeviceMachine::One;
  struct Group {  // GPUs near to one another
    std::vector<int> minors;
    int depth = 1;
    std::vector<std::vector<int>> on_the_way;  // the groups that it is in, and itself
  };

  bool looks_for(const std::string& type) const;
  std::int64_t count(const std::string& type) const;
  const std::map<int, One>& listed(const std::string& type) const;
  bool allowed(const std::string& type, int minor, const One& one) const;
  DeviceAmounts free(const std::string& type, int minor, const One& one) const;
  bool fits(const std::string& type, int minor, const One& one) const;
  bool in_use(int minor, const One& one) const;  // of GPUs
  std::int64_t score(const std::string& type, const DeviceAmounts& total, const DeviceAmounts& free) const;
  const DeviceMachine::Function* function(const std::string& type, int minor, const One& one) const;
  Why lacks() const;
  Why choose_jointly();
  Why choose_of(const std::string& type, std::int64_t count, const std::set<std::string>& switches);
  Why choose_gpus(bool& by_score);
  Why choose_partition();
  Why choose_group(bool& by_score);
  std::int64_t left_whole(const std::set<int>& taken) const;
  std::vector<Group> groups() const;
  void choose_by_score(const std::string& type, std::int64_t most, const std::set<std::string>& switches);
  void take(const std::string& type, int minor, const DeviceMachine::Function* function);
  std::set<std::string> switches_of(const std::string& type) const;

  const DeviceArgs& args_;
  const DeviceRequest& asks_;
  const DeviceMachine& machine_;
  bool reserving_;
  std::string of_template_;
  /// What it may have of devices: type, minor.
  std::map<std::string, std::map<int, DeviceAmounts>> within_;
  std::map<std::string, std::map<int, std::set<std::string>>> buses_;
  Why again_lacks_;
  std::map<std::string, std::vector<api::AllocatedDevice>> chosen_;
};

}  // namespace koord::reference
