// Settings: see settings.hpp.
#include "options/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/suggest.hpp"
#include "koord/base/text.hpp"
#include "koord/runtime/config.hpp"
#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kOwn = "koord's own", kHostRoot = "/hostfs", kHostSys = "/host-sys";
constexpr nanoseconds kLeastInterval = std::chrono::seconds(1), kLeastTimeout = std::chrono::seconds(1),
                      kMostTimeout = std::chrono::minutes(10);

constexpr std::array<Flag, 10> kFlags = {{
    {"oneshot", FlagType::boolean, "false",
     "Look once, write the file, end, and leave the file. Variable: KDD_ONESHOT."},
    {"no-timestamp", FlagType::boolean, "false",
     "Accepted: there is no time in the file. Variable: KDD_NO_TIMESTAMP."},
    {"sleep-interval", FlagType::duration, "900s",
     "How long it waits from one look to the next. Variable: KDD_SLEEP_INTERVAL."},
    {"prints-output-file", FlagType::text, "/var/run/koordlet/xpu-device-infos/ic-device",
     "The file that it writes for the node agent. Empty: nothing is written. Variables: "
     "KDD_PRINTS_OUTPUT_FILE, PRINTS_OUTPUT_FILE."},
    {"config-file", FlagType::text, "",
     "A file, YAML or JSON, that says what flags and variables do not: version: v1, and below flags.kdd "
     "oneshot, sleepInterval, printsOutputFile. Read again at SIGHUP. Variables: KDD_CONFIG_FILE, "
     "CONFIG_FILE."},
    {"addr", FlagType::text, "0",
     "Where /metrics, /healthz and /readyz are served as plain HTTP: ADDRESS:PORT, as 127.0.0.1:9332; \"0\" "
     "serves nothing.",
     0, kOwn},
    {"host-root", FlagType::text, "",
     "The host's root, where vendors' programs are looked for and run. Empty: /hostfs where that is a "
     "folder, as in a DaemonSet's pod, else /.",
     0, kOwn},
    {"sys-root-dir", FlagType::text, "",
     "Where sysfs is. Empty: /host-sys/ where that is a folder, else /sys/.", 0, kOwn},
    {"vendors", FlagType::list, "huawei,cambricon,baidu,metax,iluvatar",
     "Whose accelerators it looks for; nvidia, too. A node agent that reads a file with devices does not ask "
     "NVIDIA's library itself.",
     0, kOwn},
    {"command-timeout", FlagType::duration, "30s",
     "How long a vendor's program may take before it is ended, with all that it started.", 0, kOwn},
}};

/// The file: flags.kdd.
struct FileFlags {
  std::optional<bool> oneshot;
  std::optional<api::Duration> sleep_interval;
  std::optional<std::string> prints_output_file;
  KOORD_STRUCT(FileFlags);
};
struct FileGroups {
  api::Box<FileFlags> kdd;
  KOORD_STRUCT(FileGroups);
};
struct File {
  std::string version;
  api::Box<FileGroups> flags;
  KOORD_STRUCT(File);
};

KOORD_SCHEMA(FileFlags, ROW(oneshot), ROW(sleep_interval), ROW(prints_output_file));
KOORD_SCHEMA(FileGroups, ROW(kdd));
KOORD_SCHEMA(File, ROW(version), ROW(flags));

Error wrong(std::string_view where, std::string_view what) {
  return Error(Code::invalid, fmt::format("{}: {}", where, what));
}

Result<FileFlags> read_file_flags(const std::string& path) {
  if (path.empty()) return FileFlags();
  KOORD_TRY(file, runtime::load_config<File>(path));
  if (!file.version.empty() && file.version != "v1")
    return wrong(path, fmt::format("version: {} is not v1", quote(utf8_prefix(file.version, 64))));
  return file.flags && file.flags->kdd ? *file.flags->kdd : FileFlags();
}

/// One setting's three places, the first of which that says something counts.
class Chosen {
 public:
  Chosen(const runtime::FlagValues& flags, const GetEnv& env, std::string_view flag,
         std::initializer_list<const char*> variables)
      : flags_(flags), flag_(flag), where_(fmt::format("--{}", flag)) {
    if (flags.changed(flag)) return;
    // As upstream's library does: a variable that is empty says nothing.
    for (const char* variable : variables)
      if (const auto value = env(variable); value && !value->empty() && !said_) {
        said_ = *value;
        where_ = variable;
      }
  }

  /// Where it is said: "--oneshot", "KDD_ONESHOT".
  const std::string& where() const { return where_; }

  Result<bool> truth(const std::optional<bool>& in_file) const {
    if (said_) {
      const auto value = parse_bool(*said_);
      return value ? Result<bool>(*value) : wrong(where_, fmt::format("{} is no boolean", quote(*said_)));
    }
    return in_file && !flags_.changed(flag_) ? *in_file : flags_.get_bool(flag_);
  }
  Result<nanoseconds> duration(const std::optional<api::Duration>& in_file) const {
    if (said_) {
      const auto value = api::Duration::parse(*said_);
      return value ? Result<nanoseconds>(value->value)
                   : wrong(where_, fmt::format("{} is no duration, such as 15m", quote(*said_)));
    }
    return in_file && !flags_.changed(flag_) ? in_file->value : flags_.get_duration(flag_);
  }
  std::string text(const std::optional<std::string>& in_file = std::nullopt) const {
    if (said_) return *said_;
    return in_file && !flags_.changed(flag_) ? *in_file : flags_.get(flag_);
  }

 private:
  const runtime::FlagValues& flags_;
  std::string_view flag_;
  std::string where_;
  std::optional<std::string> said_;  // by a variable
};

bool is_folder(std::string_view path) { return ::access(fmt::format("{}/.", path).c_str(), F_OK) == 0; }

Result<> check_vendors(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Vendor& vendor : all_vendors()) known.push_back(vendor.name);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, known);
      return wrong("--vendors",
                   fmt::format("{} is none of {}{}", quote(utf8_prefix(name, 64)), fmt::join(known, ", "),
                               near ? fmt::format("; did you mean {}?", *near) : std::string()));
    }
  return {};
}

}  // namespace

std::span<const Flag> flags() { return kFlags; }

Result<Settings> read_settings(const runtime::FlagValues& flags, const GetEnv& env) {
  Settings settings;
  const std::string path = Chosen(flags, env, "config-file", {"KDD_CONFIG_FILE", "CONFIG_FILE"}).text();
  KOORD_TRY(file, read_file_flags(path));
  const Chosen oneshot(flags, env, "oneshot", {"KDD_ONESHOT"});
  KOORD_TRY(once, oneshot.truth(file.oneshot));
  settings.oneshot = once;
  const Chosen interval(flags, env, "sleep-interval", {"KDD_SLEEP_INTERVAL"});
  KOORD_TRY(between, interval.duration(file.sleep_interval));
  if (between < kLeastInterval)
    return wrong(interval.where(), "less than 1s: vendors' programs take longer than that");
  settings.interval = between;
  const Chosen output(flags, env, "prints-output-file", {"KDD_PRINTS_OUTPUT_FILE", "PRINTS_OUTPUT_FILE"});
  settings.output_file = output.text(file.prints_output_file);
  if (!settings.output_file.empty() &&
      (settings.output_file.front() != '/' || settings.output_file.back() == '/'))
    return wrong(output.where(), "not the absolute path of a file");
  settings.host_root = flags.get("host-root");
  if (settings.host_root.empty() && is_folder(kHostRoot)) settings.host_root = kHostRoot;
  if (!settings.host_root.empty() && !settings.host_root.starts_with('/'))
    return wrong("--host-root", "not an absolute path");
  while (settings.host_root.ends_with('/')) settings.host_root.pop_back();
  settings.sys_root = flags.get("sys-root-dir");
  if (settings.sys_root.empty()) settings.sys_root = is_folder(kHostSys) ? kHostSys : "/sys";
  if (!settings.sys_root.ends_with('/')) settings.sys_root += '/';
  settings.vendors = flags.get_list("vendors");
  KOORD_CHECK(check_vendors(settings.vendors));
  settings.command_timeout = flags.get_duration("command-timeout");
  if (settings.command_timeout < kLeastTimeout || settings.command_timeout > kMostTimeout)
    return wrong("--command-timeout", "not between 1s and 10m");
  return settings;
}

}  // namespace koord::device_daemon
