// Vendors' programs in a root of their own: found, refused, run.
#include "koord/host/programs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/base/file.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::host {
namespace {

namespace fs = std::filesystem;

void put(const koord::testing::Tree& tree, const std::string& path, const std::string& text,
         mode_t mode = 0755) {
  fs::create_directories(fs::path(tree / path).parent_path());
  koord::testing::Tree::write_to(tree / path, text);
  ::chmod((tree / path).c_str(), mode);
}

TEST_CASE("A program is looked for in the host's folders, and links stay within its root") {
  koord::testing::Tree tree;
  put(tree, "usr/bin/tool", "#!");
  put(tree, "opt/vendor/smi", "#!");
  fs::create_directories(tree / "usr/local/bin");
  fs::create_symlink("/opt/vendor/smi", tree / "usr/local/bin/smi");
  fs::create_symlink("/etc/passwd", tree / "usr/local/bin/outside");
  CHECK(find_program(tree.path(), "tool").value() == "/usr/bin/tool");
  CHECK(find_program(tree.path(), "smi").value() == "/usr/local/bin/smi");
  const auto absent = find_program(tree.path(), "outside");
  REQUIRE(absent.has_error());
  CHECK(absent.error().code() == Code::not_found);
  CHECK_THAT(absent.error().message(), Catch::StartsWith("outside: not in /usr/local/sbin, "));
  put(tree, "usr/bin/text", "no program", 0644);
  CHECK(find_program(tree.path(), "text").error().code() == Code::not_found);
  CHECK(find_program("", "sh").value().ends_with("/sh"));
  CHECK(find_program(tree / "nowhere", "sh").error().code() == Code::not_found);
}

TEST_CASE("A program that others may write is not run") {
  koord::testing::Tree tree;
  put(tree, "usr/bin/tool", "#!", 0757);
  const auto refused = find_program(tree.path(), "tool");
  REQUIRE(refused.has_error());
  CHECK(refused.error().code() == Code::forbidden);
  CHECK_THAT(refused.error().message(),
             Catch::Contains("/usr/bin/tool: not used, for others than root may write this file"));
}

TEST_CASE("Programs run in the host's root, with nothing of this process's") {
  if (::geteuid() != 0 || ::access("/bin/busybox", X_OK) != 0) return;  // the tests' machine has both
  koord::testing::Tree tree;
  fs::create_directories(tree / "bin");
  fs::copy_file("/bin/busybox", tree / "bin/sh");
  put(tree, "usr/bin/tool", "#!/bin/sh\necho \"$0 $* [$HOME] $(pwd)\"; echo * \n");
  put(tree, "usr/bin/slow", "#!/bin/sh\nwhile :; do :; done\n");
  ::setenv("HOME", "/secret", 1);
  test::Loop loop;
  HostPrograms programs(loop.clock, tree.path(), std::chrono::seconds(5));
  const auto said = test::run_task(loop, programs.ask("tool", {"a b", ";", "$HOME"}), true);
  if (!said) FAIL(said.error().message());
  CHECK(*said == "/usr/bin/tool a b ; $HOME [] /\nbin usr\n");
  CHECK(fs::exists("/proc/self"));  // this process's own root is as it was

  // One that hangs costs its limit once in a look.
  const auto hangs = [&]() -> Task<Result<std::string>> { co_return co_await programs.ask("slow", {"1"}); };
  const auto late = test::run_task(loop, hangs());
  REQUIRE(late.has_error());
  CHECK(late.error().code() == Code::timeout);
  CHECK(test::run_task(loop, programs.ask("slow", {"2"}), true).error().code() == Code::unavailable);
  programs.begin();
  CHECK(test::run_task(loop, programs.ask("slow", {"2"})).error().code() == Code::timeout);
}

}  // namespace
}  // namespace koord::host
