// Processes: see processes.hpp.
#include "framework/action/processes.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxGroups = 4096;

/// The folders of a group and of those below it.
void add_folders(const std::string& folder, int depth, std::vector<std::string>& all) {
  all.push_back(folder);
  if (depth == kMaxDepth) return;
  const auto below = host::list_folders(folder);
  if (!below) return;
  for (const std::string& name : *below) {
    if (all.size() >= kMaxGroups) return;
    add_folders(fmt::format("{}/{}", folder, name), depth + 1, all);
  }
}

}  // namespace

ProcessFolder::ProcessFolder(const std::string& proc, pid_t pid)
    : pid_(pid),
      path_(fmt::format("{}{}", proc, pid)),
      fd_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}  // NOLINT: open(2) is variadic

Result<std::string> ProcessFolder::read(const char* name) const {
  if (!fd_) return errno_error(ENOENT, path_);
  const Fd file(::openat(fd_.get(), name, O_RDONLY | O_CLOEXEC));  // NOLINT: the same
  std::array<char, 8192> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size < 0) return failed(name);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

Result<> ProcessFolder::write(const char* name, std::string_view text) const {
  const Fd file(::openat(fd_.get(), name, O_WRONLY | O_CLOEXEC));  // NOLINT: the same
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) return failed(name);
  return {};
}

Result<Process> ProcessFolder::process(const ProcessKind& kind) const {
  KOORD_TRY(stat, read("stat"));
  KOORD_TRY(process, parse_stat(stat));
  KOORD_TRY(value, kind.read(*this));
  process.value = value;
  return process;
}

/// One that has ended has no such files, or says that there is no such process.
Error ProcessFolder::failed(const char* name) const {
  return errno_error(errno == ESRCH ? ENOENT : errno, fmt::format("{}/{}", path_, name));
}

std::vector<pid_t> pids_below(const std::string& folder) {
  std::vector<std::string> folders;
  add_folders(folder, 0, folders);
  std::vector<pid_t> pids;
  for (const std::string& one : folders) {
    host::ReadBuffer buffer;
    host::HeldFile file(fmt::format("{}/cgroup.procs", one));
    const auto text = file.read(buffer);
    if (!text) continue;
    std::string_view rest = *text;
    std::string_view line;
    pid_t pid = 0;
    while (host::next_line(rest, line))
      if (host::to_number(host::trimmed(line), pid) && pid >= kForeignPid) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

Result<Process> parse_stat(std::string_view text) {
  // "PID (COMMAND) STATE PPID ...": a command may have blanks and brackets in it. The start is the 22nd
  // field.
  constexpr int kParent = 4, kStart = 22;
  Process process;
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");
  bool whole = open != std::string_view::npos && close != std::string_view::npos && open < close &&
               host::to_number(text.substr(0, open), process.pid) && process.pid > 0;
  std::string_view rest = whole ? host::trimmed(text.substr(close + 2)) : std::string_view{};
  for (int field = 3; whole && field <= kStart; ++field) {
    const std::string_view word = host::next_word(rest);
    if (field == kParent) whole = host::to_number(word, process.parent);
    if (field == kStart) whole = host::to_number(word, process.start);
  }
  if (whole) return process;
  return Error(Code::parse, fmt::format("/proc/PID/stat: cannot read \"{}\"", text.substr(0, 64)));
}

Result<std::vector<Process>> KernelProcesses::processes(const ProcessKind& kind, const std::string& group) {
  if (group.empty()) return Error(Code::invalid, "the root of a hierarchy is nobody's");
  KOORD_TRY(folder, fs_.folder(host::Knob::procs, group));
  if (!host::exists(folder)) return Error(Code::not_found, fmt::format("{}: it does not exist", folder));
  std::vector<pid_t> pids = pids_below(folder);
  const bool foreign = !pids.empty() && pids.front() == kForeignPid;
  std::erase_if(pids, [](pid_t pid) { return pid == kForeignPid || pid == 1 || pid == ::getpid(); });
  std::vector<Process> all;
  std::optional<Error> unreadable;
  each_member(
      folder, pids, [this](pid_t pid) { return ProcessFolder(proc_, pid); },
      [&](pid_t, const ProcessFolder& one) {
        auto process = one.process(kind);
        if (process)
          all.push_back(*process);
        else
          unreadable = std::move(process).error();
      });
  if (!all.empty()) return all;
  if (foreign) return Error(Code::unsupported, fmt::format("{}: {}", group, kForeign));
  // One that ended at this moment is gone when the next pass looks.
  if (unreadable)
    return Error(Code::unavailable,
                 fmt::format("{}: none of its processes can be read: {}", group, unreadable->message()));
  return all;
}

std::optional<Process> KernelProcesses::find(const ProcessKind& kind, pid_t pid) {
  const auto process = ProcessFolder(proc_, pid).process(kind);
  return process ? std::optional(*process) : std::nullopt;
}

Result<> KernelProcesses::set(const ProcessKind& kind, const Process& process, std::int64_t value) {
  const ProcessFolder folder(proc_, process.pid);
  KOORD_TRY(now, folder.process(kind));
  if (now.start != process.start)
    return Error(Code::not_found, fmt::format("process {} has gone", process.pid));
  return kind.write(folder, value);
}

Result<> KernelProcesses::available(const ProcessKind& kind) {
  return kind.available == nullptr ? Result<>() : kind.available();
}

}  // namespace koord::koordlet
