// Plugins and evictors that do what a test says, under names of its own, and what became of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/schema.hpp"

namespace koord::descheduler::test {

struct ScriptedArgs {
  std::int64_t count = 0;
  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(ScriptedArgs);
};

/// One at a time; plugins find it by themselves.
class Script {
 public:
  Script();
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  static Script& now();

  // What they shall do. Keys are "profile/plugin/point".
  std::map<std::string, std::vector<std::string>> wants;  // pods that they want to go, by name
  std::map<std::string, std::string> fails;               // and end with that error
  bool asks_filters = false;                              // before they want a pod to go
  std::map<std::string, std::string> keeps;               // "filter/pod": why not
  std::function<Task<Result<>>(const api::Pod&)> evict;   // the evictor's; empty: it succeeds
  std::function<Result<>(const api::Pod&)> rehearse;      // the same in a dry run
  std::string make_error;                                 // of every plugin

  // What became of it.
  std::vector<std::string> asked;               // keys, in order
  std::vector<std::size_t> nodes;               // how many nodes they saw, with each
  std::vector<bool> results;                    // of what they wanted
  std::vector<std::string> evicted;             // "profile/plugin/pod: reason", as evictors were asked
  int made = 0, started = 0, stopped = 0;       // evictors
  bool saw_snapshot = false, saw_pass = false;  // evictors, meanwhile
  std::vector<bool> checked;                    // plugins that were made without a cluster
};

/// MigrationController and OtherEvictor evict; Chooser deschedules and balances, Balancer balances; they take
/// ScriptedArgs, but OtherEvictor.
PluginTable scripted_table();

}  // namespace koord::descheduler::test
