// NVML's helper as a process, with a driver's library of the tests: cards, faults, and everything that a
// driver does to whoever asks it.
#include "koord/host/nvml.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "koord/async/system_clock.hpp"
#include "koord/base/file.hpp"
#include "support/tree.hpp"

namespace koord::host {
namespace {

using koord::testing::Tree;
using namespace std::chrono_literals;

constexpr std::string_view kA100 = "0 GPU-a 00000000:3B:00.0 85899345920 0 NVIDIA A100-SXM4-80GB\n";

TEST_CASE("Answers are read, or make no sense", "[nvml]") {
  const auto whole = parse_gpu_answer(
      "driver\t535.104.05\ncard\t0\t3\tGPU-a\t00000000:3B:00.0\t8000\t0\tTesla T4\nbad\t1\tGPU is lost\n"
      "card\t2\t5\tGPU-c\t00000000:5E:00.0\t8000\t1\tNVIDIA "
      "A100\nxid\t00000000:3B:00.0\t79\nunwatched\t00000000:5E:00.0\n"
      "usage\t2\t77\t50\t20\nprocess\t0\t4711\t35\t1024\ncost\t1500\t6000\nend\n");
  REQUIRE(whole.has_value());
  CHECK(whole->driver == "535.104.05");
  REQUIRE(whole->cards.size() == 2);
  CHECK(whole->cards[0].minor == 3);
  CHECK(whole->cards[0].bus_id == "0000:3b:00.0");
  CHECK(whole->cards[0].model == "Tesla T4");
  CHECK(whole->cards[1].mig);
  CHECK_FALSE(whole->cards[1].crowded);
  CHECK(whole->bad == std::vector<std::string>{"GPU 1: GPU is lost"});
  REQUIRE(whole->faults.size() == 2);
  CHECK(whole->faults[0].xid == 79);
  CHECK(whole->faults[1].xid == 0);
  REQUIRE(whole->processes.size() == 1);
  CHECK(whole->processes[0].cores == 35);
  CHECK(whole->cards[1].used == 77);
  CHECK(whole->cards[1].cores == 50);
  CHECK(whole->cards[1].memory_controller == 20);
  CHECK(whole->cpu_us == 1500);
  CHECK(whole->memory_kib == 6000);
  CHECK(parse_gpu_answer("error\tDriver Not Loaded\nend\n").error().message() == "Driver Not Loaded");
  for (const std::string_view text :
       {"", "driver\t1\n", "card\t0\nend\n", "card\tx\t0\tGPU\t00000000:3B:00.0\t1\t0\tT4\nend\n",
        "card\t0\t0\tGPU\tnowhere\t1\t0\tT4\nend\n", "card\t0\t0\t\t00000000:3B:00.0\t1\t0\tT4\nend\n",
        "card\t0\t0\tGPU\t00000000:3B:00.0\t18446744073709551615\t0\tT4\nend\n", "process\t0\t0\t1\t1\nend\n",
        "xid\t00000000:3B:00.0\tmany\nend\n", "crowded\t0\nend\n", "usage\t0\t1\t2\t3\nend\n", "cost\t1\n",
        "cost\t-1\t1\nend\n", "what\nend\n"}) {
    INFO(text);
    REQUIRE_FALSE(parse_gpu_answer(text).has_value());
    CHECK(parse_gpu_answer(text).error().code() == Code::invalid);
  }
}

struct Rig {
  Tree tree;
  boost::asio::io_context loop;
  SystemClock clock{loop.get_executor()};
  std::optional<NvmlProcess> helper;

  explicit Rig(nanoseconds limit = 20s) {
    std::filesystem::copy_file(std::getenv("KOORD_FAKE_NVML"), tree / "nvml.so");
    helper.emplace(clock, NvmlProcess::Options{.root = {}, .limit = limit, .library = tree / "nvml.so"});
  }
  void say(std::string_view text) { tree.write("nvml.so.say", std::string(text)); }
};

TEST_CASE("Cards come, get lost and are cut, beside one another", "[nvml]") {
  Rig rig;
  rig.say(std::string(kA100) +
          "lost\n2 GPU-c 00000000:5E:00.0 85899345920 1 NVIDIA A100\n1 GPU-d 00000000:60:00.0 1024 0 Old\n");
  auto answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  REQUIRE(answer->cards.size() == 3);
  CHECK(answer->cards[0].uuid == "GPU-a");
  CHECK(answer->cards[0].memory == 85'899'345'920);
  CHECK(answer->cards[0].model == "NVIDIA A100-SXM4-80GB");
  CHECK(answer->cards[1].mig);
  CHECK(answer->bad == std::vector<std::string>{"GPU 1: GPU is lost"});
  REQUIRE(answer->faults.size() == 1);
  CHECK(answer->faults[0].bus_id == "0000:60:00.0");
  REQUIRE(answer->processes.size() == 3);
  CHECK(answer->processes[0].cores == 40);  // the newest sample
  CHECK(answer->cpu_us > 0);
  CHECK(answer->memory_kib > 0);
  const pid_t pid = rig.helper->pid();
  rig.say(std::string(kA100) + "process 0 7 60 1000 0\nprocess 0 8 60 1000 60\nusage 0 4000 61 9\n");
  answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  CHECK(answer->cards[0].used == 4000);
  CHECK(answer->cards[0].cores == 61);
  REQUIRE(answer->processes.size() == 2);
  CHECK(answer->processes[0].cores == 60);
  CHECK(answer->processes[1].cores == 0);  // what it did a minute ago it does not do any more
  // Whose sum is not known is not idle; 9 cards with 1,024 each are more than an answer has room for.
  rig.say(std::string(kA100) + "2 GPU-c 00000000:5E:00.0 1 0 A\ncrowd 0 1025\ncrowd 1 1024\n");
  answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  CHECK(answer->cards[0].crowded);
  CHECK_FALSE(answer->cards[1].crowded);
  CHECK(answer->processes.size() == 1024);
  std::string nine;
  for (int i = 0; i < 9; ++i)
    nine += fmt::format("{} GPU-{} 00000000:{}0:00.0 1 0 A\ncrowd {} 1024\n", i, i, i + 1, i);
  rig.say(nine);
  answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  REQUIRE(answer->cards.size() == 9);
  CHECK_FALSE(answer->cards[7].crowded);
  CHECK(answer->cards[8].crowded);
  rig.say(std::string(kA100) + "xid 00000000:3B:00.0 79\n");
  answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  CHECK(answer->cards.size() == 1);
  REQUIRE(answer->faults.size() == 1);
  CHECK(answer->faults[0].xid == 79);
  CHECK(rig.helper->pid() == pid);  // the same one goes on
  rig.say("lost\nlostxid 0 79\n");  // it does not say any more where it is
  answer = rig.helper->ask();
  REQUIRE(answer.has_value());
  REQUIRE(answer->faults.size() == 1);
  CHECK(answer->faults[0].bus_id == "0000:3b:00.0");
  rig.say("");
  REQUIRE(rig.helper->ask().has_value());
  CHECK(rig.helper->ask()->cards.empty());
  rig.helper.reset();
  CHECK(::kill(pid, 0) != 0);  // nothing is left
}

TEST_CASE("A driver that hangs or crashes costs an answer", "[nvml]") {
  for (const std::string_view what : {"hang\n", "crash\n"}) {
    INFO(what);
    Rig rig(what == "hang\n" ? nanoseconds(500ms) : nanoseconds(20s));
    rig.say(what);
    REQUIRE_FALSE(rig.helper->ask().has_value());
    CHECK(rig.helper->pid() == 0);
    rig.say(kA100);
    // A busy machine may need more than half a second for it; the breaker opens at the third failure.
    rig.helper.emplace(rig.clock,
                       NvmlProcess::Options{.root = {}, .limit = 20s, .library = rig.tree / "nvml.so"});
    const auto answer = rig.helper->ask();
    REQUIRE(answer.has_value());
    CHECK(answer->cards.size() == 1);
    const pid_t pid = rig.helper->pid();
    ::kill(pid, SIGKILL);  // somebody ends it
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) == 0);
    CHECK_FALSE(rig.helper->ask().has_value());
    CHECK(rig.helper->ask().has_value());
  }
}

TEST_CASE("It runs in another root, with that one's loader and driver", "[nvml]") {
#if defined(__aarch64__)
  const std::string loader = "/lib/ld-linux-aarch64.so.1", libraries = "/lib/aarch64-linux-gnu/";
#else
  const std::string loader = "/lib64/ld-linux-x86-64.so.2", libraries = "/lib/x86_64-linux-gnu/";
#endif
  if (::geteuid() != 0 || !std::filesystem::exists(loader)) return;
  Rig rig;
  for (const std::string& folder : {loader.substr(0, loader.rfind('/') + 1), libraries, std::string("/dev/")})
    rig.tree.write("root" + folder, "");
  std::filesystem::copy_file(std::filesystem::canonical(loader), rig.tree / ("root" + loader));
  for (const char* const name : {"libc.so.6", "libdl.so.2"})
    std::filesystem::copy_file(std::filesystem::canonical(libraries + name),
                               rig.tree / ("root" + libraries + name));
  std::filesystem::copy_file(rig.tree / "nvml.so", rig.tree / ("root" + libraries + "libnvidia-ml.so.1"));
  rig.tree.write("root" + libraries + "libnvidia-ml.so.1.say", std::string(kA100));
  NvmlProcess helper(rig.clock, {.root = rig.tree / "root", .limit = 20s});
  const auto answer = helper.ask();
  REQUIRE(answer.has_value());
  CHECK(answer->cards.size() == 1);
}

TEST_CASE("Without a library, a root or a loader there is an error, and it is not tried all the time",
          "[nvml]") {
  boost::asio::io_context loop;
  SystemClock clock(loop.get_executor());
  NvmlProcess none(clock, {.root = {}, .library = "/nowhere/libnvidia-ml.so.1"});
  for (int i = 0; i < 5; ++i) {
    const auto answer = none.ask();
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code() == Code::not_found);
    CHECK(answer.error().message() == "the driver's library libnvidia-ml.so.1 is not there");
    CHECK(none.pid() == 0);
  }
  NvmlProcess nowhere(clock, {.root = "/nowhere/at/all"});
  CHECK_FALSE(nowhere.ask().has_value());
  const Tree empty{{"root/", ""}};
  NvmlProcess no_loader(clock, {.root = empty / "root"});
  const auto answer = no_loader.ask();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code() == (::geteuid() == 0 ? Code::not_found : Code::forbidden));
}

}  // namespace
}  // namespace koord::host
