// The host's programs: see koord/host/programs.hpp.
#include "koord/host/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "koord/base/file.hpp"
#include "koord/base/ownership.hpp"

namespace koord::host {

namespace {

/// Of a host's programs, in the order of a usual PATH; the last ones are where vendors' installers put
/// theirs.
constexpr std::array<std::string_view, 9> kFolders = {
    "/usr/local/sbin",      "/usr/local/bin",         "/usr/sbin",        "/usr/bin", "/sbin", "/bin",
    "/usr/local/corex/bin", "/usr/local/neuware/bin", "/opt/mxdriver/bin"};
constexpr std::size_t kMostOutput = std::size_t{1} << 20, kMostRunners = 4096;

/// A program that somebody else may write would run as whoever this daemon is: root.
Result<> check_program(int fd, std::string_view path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno_error(errno, path);
  if (!S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
    return Error(Code::not_found, fmt::format("{}: no program", path));
  return check_ownership(status, path);
}

}  // namespace

Result<std::string> find_program(const std::string& root, std::string_view name) {
  const Fd top(::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error(errno, root);
  for (const std::string_view folder : kFolders) {
    std::string path = fmt::format("{}/{}", folder, name);
    open_how how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_IN_ROOT};
    const Fd found(static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str() + 1, &how, sizeof how)));
    if (!found) continue;
    const auto checked = check_program(found.get(), fmt::format("{}{}", root, path));
    if (checked) return path;
    if (checked.error().code() != Code::not_found) return checked.error();
  }
  return Error(Code::not_found, fmt::format("{}: not in {} below {}", name, fmt::join(kFolders, ", "),
                                            root.empty() ? "/" : root));
}

Task<Result<std::string>> HostPrograms::ask(std::string_view program, std::vector<std::string> arguments) {
  if (hung_.contains(program))
    co_return Error(Code::unavailable, fmt::format("{}: not asked again: it just took too long", program));
  KOORD_CO_TRY(path, find_program(root_, program));
  arguments.insert(arguments.begin(), std::move(path));
  if (runners_.size() >= kMostRunners) runners_.clear();
  const auto [runner, added] = runners_.try_emplace(
      arguments, clock_,
      Command{.arguments = arguments, .root = root_, .limit = timeout_, .most_output = kMostOutput});
  auto printed = co_await runner->second.run();
  if (!printed && printed.error().code() == Code::timeout) hung_.emplace(program);
  co_return printed;
}

}  // namespace koord::host
