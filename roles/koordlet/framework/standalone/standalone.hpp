// Standalone: the inventory from a file and the machine, read again whenever one of them changes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/standalone/config.hpp"
#include "framework/states/source_status.hpp"
#include "koord/async/file_watch.hpp"
#include "koord/base/log.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// The number of online CPUs and the memory. Code::parse or Code::io where they cannot be read.
Result<Machine> read_machine(const host::Root& root);

/// The event loop's thread.
class Standalone {
 public:
  Standalone(boost::asio::any_io_executor executor, Clock& clock, Logger& log, InventoryHub& hub,
             std::string file, std::string node_name, host::Root root, const host::CgroupFs& cgroups);

  /// Reads and publishes; an error is the machine's or the file's.
  Result<> load();
  /// Follows the file until it is cancelled. A bad new file is named in the log, the old one stays in effect.
  Task<Result<>> follow();
  std::vector<SourceStatus> sources() const;
  /// Code::unavailable while a group's controllers are missing (cgroup v2): the strategies have no effect
  /// there.
  Result<> controllers() const;

 private:
  void reload();
  /// Which cgroups the groups stand for now; what is new is published.
  void look();
  void publish();
  void tell_absent();
  std::vector<FoundGroups> find() const;
  /// Sees to the controllers of all groups.
  void control();

  boost::asio::any_io_executor executor_;
  Clock& clock_;
  Logger& log_;
  InventoryHub& hub_;
  std::string file_, node_name_;
  host::Root root_;
  Machine machine_;
  std::string text_;  // what was read last, good or bad
  SourceStatus status_;
  const host::CgroupFs& cgroups_;
  StandaloneConfig config_;  // in effect
  std::vector<FoundGroups> found_;
  std::vector<std::string> absent_;     // names of groups
  std::set<std::string> uncontrolled_;  // what is wrong with groups' controllers
};

}  // namespace koord::koordlet
