// Births: containers that are being made with values of hooks, until the agent knows them: what they were
// given, and what each would have had otherwise. In a file, for the next agent.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/keep/boot_file.hpp"
#include "framework/model/inventory.hpp"
#include "framework/qos/ahead.hpp"

namespace koord::koordlet {

/// An agent that dies before it knows a container leaves it as it was born, and the next one could not say
/// what it goes back to. On the event loop's thread.
class Births {
 public:
  struct Value {
    host::Knob knob{};
    KnobValue given, free;
    std::string strategy;
  };
  explicit Births(BootFile::Place place);

  /// What an earlier agent of this boot left. After an error there is none of it.
  Result<> load(MonoTime now);
  /// The container of that name of the pod is being made. Of so many that a runtime makes nothing of what it
  /// asks all are forgotten.
  void add(const Inventory& inventory, std::string_view uid, std::string_view container,
           std::vector<Value> values, MonoTime now);
  /// Of those that the inventory knows by now; each once, and none after ten minutes.
  std::vector<Ahead::Given> known(const std::shared_ptr<const Inventory>& inventory, MonoTime now);
  /// Whether the file says something else.
  bool is_changed() const { return changed_ || file_.is_stale(); }
  /// Nothing to do if nothing has changed. None: no file.
  Result<> save();

 private:
  struct Birth {
    std::vector<Value> values;
    std::string before;  // the id of the container of that name that there was
    MonoTime at{};
  };
  bool take_row(std::string_view row, MonoTime now);

  BootFile file_;
  std::map<std::pair<std::string, std::string>, Birth> births_;  // by the pod's uid and the container's name
  std::shared_ptr<const Inventory> looked_at_;                   // by known()
  bool changed_ = false;
};

}  // namespace koord::koordlet
