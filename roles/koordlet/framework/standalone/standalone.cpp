// Standalone: see standalone.hpp.
#include "framework/standalone/standalone.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "framework/standalone/controllers.hpp"
#include "koord/async/timer.hpp"
#include "koord/host/file.hpp"
#include "koord/host/procfs.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kMaxFile = 1 << 20;
/// Where the kernel tells nothing (network file systems), the file is looked at this often.
constexpr nanoseconds kReadPeriod = std::chrono::seconds(10);
/// Transient units come and go: cgroups are looked for this often.
constexpr nanoseconds kFindPeriod = std::chrono::seconds(1);

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

}  // namespace

Result<Machine> read_machine(const host::Root& root) {
  KOORD_TRY(stat_text, read_file(fmt::format("{}stat", root.proc)));
  host::ProcStat stat;
  if (auto parsed = host::parse_proc_stat(stat_text, stat); !parsed)
    return std::move(parsed).error().context(fmt::format("{}stat", root.proc));
  KOORD_TRY(memory_text, read_file(fmt::format("{}meminfo", root.proc)));
  KOORD_TRY(memory, host::parse_meminfo(memory_text));
  Machine machine;
  for (const auto& cpu : stat.cpus) machine.milli_cpu += cpu ? 1000 : 0;
  machine.memory = static_cast<std::int64_t>(memory.total);
  return machine;
}

Standalone::Standalone(boost::asio::any_io_executor executor, Clock& clock, Logger& log, InventoryHub& hub,
                       std::string file, std::string node_name, host::Root root,
                       const host::CgroupFs& cgroups)
    : executor_(std::move(executor)),
      clock_(clock),
      log_(log),
      hub_(hub),
      file_(std::move(file)),
      node_name_(std::move(node_name)),
      root_(std::move(root)),
      cgroups_(cgroups) {
  status_.name = file_;
}

Result<> Standalone::load() {
  KOORD_TRY(machine, read_machine(root_));
  auto text = read_file(file_, kMaxFile);
  if (!text) return std::move(text).error().context("--standalone-config");
  text_ = std::move(*text);
  KOORD_TRY(config, read_standalone(text_, file_));
  if (config.node_name.empty()) config.node_name = node_name_;
  machine_ = machine;
  config_ = std::move(config);
  found_ = find();
  publish();
  status_.ok = true;
  status_.error.clear();
  status_.last_good = clock_.now();
  return {};
}

std::vector<FoundGroups> Standalone::find() const {
  const auto folder = [this](const std::string& group) {
    return cgroups_.folder(host::Knob::cpu_shares, group);
  };
  return find_groups(
      config_,
      [&](const std::string& group) -> std::optional<std::vector<std::string>> {
        const auto path = folder(group);
        auto names = path ? host::list_folders(*path) : Result<std::vector<std::string>>(path.error());
        return names ? std::optional(std::move(*names)) : std::nullopt;
      },
      [&](const std::string& group) {
        const auto path = folder(group);
        const auto text =
            path ? read_file(fmt::format("{}/cgroup.procs", *path)) : Result<std::string>(path.error());
        return text && !text->empty();
      });
}

void Standalone::publish() {
  hub_.publish(standalone_inventory(config_, machine_, found_));
  tell_absent();
}

void Standalone::look() {
  auto found = find();
  const bool same = found == found_;
  found_ = std::move(found);
  if (same)
    tell_absent();
  else
    publish();
  control();
}

/// Once each time that one goes: systemd makes a slice when the first of its units starts.
void Standalone::tell_absent() {
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const StandaloneGroup& group = config_.groups[i];
    const bool there =
        std::any_of(found_[i].members.begin(), found_[i].members.end(), [this](const auto& member) {
          const auto path = cgroups_.folder(host::Knob::cpu_shares, member);
          return path && host::exists(*path);
        });
    if (there) continue;
    absent.push_back(fmt::format("{} ({})", group.name, group.cgroup_path));
    if (std::find(absent_.begin(), absent_.end(), absent.back()) == absent_.end())
      log_.warn("there is no such cgroup: nothing is measured, protected or held back until it comes",
                kv("group", group.name), kv("cgroup_path", group.cgroup_path));
  }
  absent_ = std::move(absent);
}

std::vector<SourceStatus> Standalone::sources() const {
  std::vector<SourceStatus> all = {status_};
  if (!absent_.empty())
    all.push_back({"cgroups", false, fmt::format("no cgroup yet: {}", fmt::join(absent_, ", ")), {}});
  for (const std::string& problem : uncontrolled_) all.push_back({"controllers", false, problem, {}});
  return all;
}

Result<> Standalone::controllers() const {
  if (uncontrolled_.empty()) return {};
  return Error(Code::unavailable, *uncontrolled_.begin());
}

void Standalone::control() {
  if (cgroups_.version() != host::CgroupVersion::v2) return;
  std::set<std::string> problems;
  bool come = false;
  const ControllerFiles files{.cgroups = root_.cgroup,
                              .systemd = host::exists(fmt::format("{}systemd/system", root_.run)),
                              .transient = fmt::format("{}systemd/transient/", root_.run)};
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const Qos qos = api::parse_koord_qos(config_.groups[i].qos.view());
    const auto need = [&](const std::string& group, bool unit) {
      const auto names = needed_controllers(*hub_.current()->slo, qos, unit);
      const auto enabled = enable_controllers(files, group, names);
      if (!enabled) problems.emplace(enabled.error().message());
      come = come || (enabled && *enabled);
    };
    const std::string& whole = found_[i].whole;
    if (!whole.empty()) need(whole, false);
    for (const std::string& group : found_[i].members)
      if (group != whole) need(group, !whole.empty());
  }
  for (const std::string& problem : problems)
    if (!uncontrolled_.contains(problem))
      log_.error("a group lacks the cgroup controllers that it needs", kv("error", problem));
  for (const std::string& problem : uncontrolled_) come = come || !problems.contains(problem);
  uncontrolled_ = std::move(problems);
  if (come) publish();  // files that were absent are there now, and nobody looks for them within a minute
}

void Standalone::reload() {
  const auto text = read_file(file_, kMaxFile);
  const auto machine = read_machine(root_);  // CPUs come and go
  if (text && *text == text_ && machine && *machine == machine_) return;
  const auto loaded = text ? load() : Result<>(text.error());
  if (loaded) {
    log_.info("the configuration or the machine has changed", kv("file", file_),
              kv("groups", hub_.current()->pods.size()), kv("milli_cpu", machine_.milli_cpu));
    return;
  }
  if (status_.error != loaded.error().message())
    log_.error("the new configuration is bad, the old one stays in effect", kv("error", loaded.error()));
  status_.ok = false;
  status_.error = loaded.error().message();
}

Task<Result<>> Standalone::follow() {
  // The folder, because a file is mostly replaced by another one.
  std::optional<FileWatch> watch;
  if (auto opened = FileWatch::open(executor_))
    if (opened->add(folder_of(file_), IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE))
      watch.emplace(std::move(*opened));
  look();
  for (MonoTime read = clock_.mono();;) {
    bool changed = false;
    if (watch) {
      Task<Result<std::vector<FileEvent>>> next = watch->next();
      const auto events = co_await with_timeout(clock_, kFindPeriod, std::move(next));
      if (!events && events.error().code() == Code::cancelled) co_return events.error();
      if (!events && events.error().code() != Code::timeout) watch.reset();
      changed = events.has_value();
    } else {
      KOORD_CO_CHECK(co_await sleep(clock_, kFindPeriod));
    }
    if (changed || clock_.mono() - read >= kReadPeriod) {
      read = clock_.mono();
      reload();
    }
    look();
  }
}

}  // namespace koord::koordlet
