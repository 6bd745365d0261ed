// Rows for tests of plugins: nodes and pods in a line each, what an evictor lets go, and who went.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin_table.hpp"
#include "unit/descheduler/framework/fake_pass.hpp"

namespace koord::descheduler::test {

/// Nodes: "NAME [cpu=MILLI] [memory=N] [pods=N] [RESOURCE=N] [cordoned] [notready] [label:K=V]
/// [taint:K=V:EFFECT]"; 2000, 3000 and 10 where nothing is said.
/// Pods: "NAME NODE [cpu=MILLI] [memory=N] [RESOURCE=N] [ns=X] [owner=KIND/NAME] [prio=N] [label:K=V]
/// [annotation:K=V] [select:K=V] [tolerates:K=V:EFFECT] [apart:K=V@TOPOLOGY] [mirror] [local] [pvc]
/// [terminating] [guaranteed] [besteffort] [age=SECONDS] [phase=X] [reason=X] [image=X] [container=IMAGE]
/// [[init.|ephemeral.]waits=REASON|ends=REASON|exit=N|restarts=N] [{JSON of a Pod}]"; cpu=100, memory=0,
/// an owner of kind Pod, age 0 where nothing is said; "bare" has no owner. JSON is the last word.
/// What holds: "[nodefit] [local] [system] [node=N] [ns=N] [total=N]": the evictor's node fit and what it
/// lets go beside others; limits of the pass.
struct Rows {
  std::vector<std::string> nodes, pods;
  std::string holds = {};
};

constexpr WallTime kRowsNow{std::chrono::seconds{1'700'000'000}};

std::shared_ptr<const api::Node> node_of(const std::string& row);
PodPtr pod_of(const std::string& row);

/// A pass over the rows with sigs' evictor and its node fit.
std::unique_ptr<FakePass> pass_of(const Rows& rows);

/// The plugin made with these arguments (JSON), as a configuration would; throws where they are refused.
std::unique_ptr<Plugin> make_plugin(const PluginEntry& entry, std::string_view args);
/// Why a configuration with them is refused; empty: it is not.
std::string why_refused(const PluginEntry& entry, std::string_view args);
/// Everything it does in one pass; throws where it fails.
void run(Plugin& plugin, FakePass& pass);

/// Who goes, by name without the namespace, in order: "p1 p2".
std::string gone(const PluginEntry& entry, std::string_view args, const Rows& rows);
/// How many go.
std::size_t count_gone(const PluginEntry& entry, std::string_view args, const Rows& rows);

}  // namespace koord::descheduler::test
