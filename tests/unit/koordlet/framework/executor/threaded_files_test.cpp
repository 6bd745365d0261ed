// Writes on threads of their own: the verdict comes to the loop, and what does not end is left behind.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "framework/executor/threaded_files.hpp"
#include "koord/base/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

TEST_CASE("A write off the loop tells the loop how it ended", "[koordlet][executor]") {
  testing::Tree tree;
  tree.write("memory.high", "max");
  boost::asio::io_context loop;
  ThreadedFiles files(loop.get_executor());
  const auto write = [&](const std::string& path) {
    std::optional<Result<>> verdict;
    std::thread::id on;
    const auto guard = boost::asio::make_work_guard(loop);
    files.write_later(path, "4096", [&](const Result<>& result) {
      verdict = result;
      on = std::this_thread::get_id();
      loop.stop();
    });
    CHECK(!verdict.has_value());  // not before it returns
    loop.restart();
    loop.run();
    CHECK(on == std::this_thread::get_id());
    return *verdict;
  };
  CHECK(write(tree / "memory.high").has_value());
  CHECK(*read_file(tree / "memory.high") == "4096");
  CHECK(write(tree / "none").error().code() == Code::not_found);
}

TEST_CASE("A write that does not end holds nobody up", "[koordlet][executor]") {
  testing::Tree tree;
  const std::string path = tree / "memory.high";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);  // opening it for writing waits for a reader
  boost::asio::io_context loop;
  bool called = false;
  {
    ThreadedFiles files(loop.get_executor());
    files.write_later(path, "4096", [&](const Result<>&) { called = true; });
  }
  const Fd reader(::open(path.c_str(), O_RDONLY));  // lets the thread go on, and end
  char text[8];
  CHECK(::read(reader.get(), text, sizeof text) == 4);
  loop.run();
  CHECK(!called);
}

}  // namespace
}  // namespace koord::koordlet
