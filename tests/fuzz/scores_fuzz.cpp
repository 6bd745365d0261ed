// The files of scores and of cookies: taken over whole or not at all; what was taken over is given back to
// nobody but the processes that it names, and is saved and read again.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/action/cookie_book.hpp"
#include "framework/action/process_book.hpp"
#include "scratch_folder.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

/// One process, that no input knows by its start.
class OneProcess final : public ProcessFiles {
 public:
  Result<std::vector<Process>> processes(const ProcessKind&, const std::string&) override {
    return std::vector{process};
  }
  std::optional<Process> find(const ProcessKind&, pid_t pid) override {
    return pid == process.pid ? std::optional(process) : std::nullopt;
  }
  Result<> set(const ProcessKind& kind, const Process& whose, std::int64_t score) override {
    check(whose.pid == process.pid && whose.start == process.start);
    check(score >= kind.least && score <= kind.most);
    process.value = score;
    return {};
  }
  Result<> available(const ProcessKind&) override { return {}; }
  Result<> bear(const std::function<void(CookieBearer&)>&) override { return {}; }  // nobody takes it away
  Process process{.pid = 12, .start = 0xfeedfacecafe, .parent = 7, .value = -5};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Most inputs are of this boot, so that the rows are reached.
  const bool whole = size > 0 && data[0] == 'k';
  kFolder.write("scores", whole ? std::string(text) : "koord-scores 1 boot\n" + std::string(text));
  const BootFile::Place place{.path = kFolder / "scores", .boot_id = "boot"};
  OneProcess processes;
  ProcessBook book(kOomScoreAdjKind, place, processes);
  const bool loaded = book.load().has_value();
  check(loaded || book.empty());
  const std::vector<ProcessSetting> settings = {{.kind = &kOomScoreAdjKind,
                                                 .pod = std::make_shared<PodInfo>(),
                                                 .container = "c",
                                                 .group = "g",
                                                 .value = 400}};
  check(book.pass(settings).containers.front().set == 1 && processes.process.value == 400);
  ProcessBook next(kOomScoreAdjKind, place, processes);
  check(next.load().has_value() && !next.empty());
  check(next.pass({}).containers.empty() && next.empty());

  kFolder.write("cookies", whole ? std::string(text) : fmt::format("koord-cookies 1 boot\n{}", text));
  processes.process.value = 7;
  CookieBook cookies(kCoreCookieKind, {.path = kFolder / "cookies", .boot_id = "boot"}, processes);
  check(cookies.load().has_value() || cookies.empty());
  check(cookies.pass({}).containers.empty() && cookies.empty());
  return 0;
}
