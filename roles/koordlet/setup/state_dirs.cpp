// Where this agent keeps what the next one needs, best first: see state_dirs.hpp.
#include "setup/state_dirs.hpp"

#include <fmt/format.h>

#include "framework/action/actions.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

/// Where upstream's DaemonSet mounts the host's /var/run/koordlet.
constexpr std::string_view kRunOfPods = "/host-var-run-koordlet";

std::string below(std::string_view folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

}  // namespace

StateDirs find_state_dirs(const runtime::FlagValues& flags, const Place& place) {
  const std::string run = below(place.root.var_run, "koord");
  const std::string& checkpoints = flags.get("prediction-checkpoint-filepath");
  const std::string& database = flags.get("tsdb-path");
  // The default one is a DaemonSet's mount; it is not made on hosts that have none.
  const bool has_database = !database.empty() && (flags.changed("tsdb-path") || host::exists(database));
  std::vector<std::string> journal, state;
  std::string mounts;
  StateDirs dirs;
  if (has_database) state.push_back(database);
  if (place.in_pod) {
    journal = {below(checkpoints, "koord"), below(kRunOfPods, "koord")};
    state.insert(state.end(), journal.begin(), journal.end());
    if (auto text = read_file(below(place.root.proc, "self/mountinfo"))) mounts = std::move(*text);
    dirs.pod = own_pod_uid(mounts);
    dirs.locks.push_back(below(kRunOfPods, "koord.lock"));
  } else {
    dirs.locks.push_back(below(place.root.var_run, "koordlet/koord.lock"));
  }
  journal.push_back(run);
  state.push_back(run);
  if (place.in_pod && has_database) journal.push_back(database);
  dirs.journal = choose_folder(journal, mounts);
  dirs.state = choose_folder(state, mounts);
  if (!dirs.journal.folder.empty()) dirs.locks.push_back(below(dirs.journal.folder, "koord.lock"));
  return dirs;
}

}  // namespace koord::koordlet
