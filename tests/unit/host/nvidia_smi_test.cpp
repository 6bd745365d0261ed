// nvidia-smi in the library's place: what it prints, as cards and processes.
#include "koord/host/nvidia/nvidia_smi.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>

#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::host {
namespace {

constexpr const char* kCards = "index,uuid,gpu_name,memory.total,pci.bus_id,driver_version";
constexpr const char* kTwo =
    "0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 00000000:3B:00.0, 535.104.05\n"
    "1, GPU-b, NVIDIA A100-SXM4-80GB, 81920, 00000000:5E:00.0, 535.104.05\n";

constexpr const char* kUse = "GPU-a, Disabled, 1024, 55, 7\nGPU-b, [N/A], 0, 0, 0\n";

/// Answers by what is asked; what is not there fails as a program does that does not know it.
struct Smi final : Programs {
  Task<Result<std::string>> ask(std::string_view program, std::vector<std::string> arguments) override {
    asked.push_back(fmt::format("{}", fmt::join(arguments, " ")));
    if (program != "nvidia-smi") co_return Error(Code::not_found, "no such program");
    for (const auto& [what, said] : answers)
      if (asked.back().find(what) != std::string::npos) co_return said;
    co_return Error(Code::io, "nvidia-smi: it ended with status 2");
  }
  std::map<std::string, std::string> answers;
  std::vector<std::string> asked;
};

Result<GpuAnswer> ask(Smi& smi, const std::string& root = "/nowhere") {
  test::Loop loop;
  return test::run_task(loop, ask_nvidia_smi(smi, root));
}

TEST_CASE("nvidia-smi: cards, what is used of them, by whom", "[smi]") {
  const testing::Tree tree{{"proc/driver/nvidia/gpus/0000:3b:00.0/information",
                            "Model: \t\t NVIDIA A100\nDevice Minor: \t 3\nGPU Excluded:\t No\n"}};
  Smi smi;
  smi.answers = {
      {kCards, kTwo},
      {"mig.mode.current",
       "GPU-a, Disabled, 1024, 55, 7\nGPU-b, Enabled, 0, [N/A], [N/A]\nGPU-x, Enabled, 1, 1, 1\n"},
      {"query-compute-apps", "GPU-a, 4711, 1000\nGPU-a, 4712, [N/A]\nGPU-x, 1, 1\nGPU-a, -1, 1\nnonsense\n"},
      {"pmon",
       "# gpu        pid  type    sm   mem   enc   dec   command\n# Idx          #   C/G     %     %     %   "
       "  %   "
       "name\n    0       4711     C    42    11     -     -   python\n    0       4712     C     -     -    "
       " "
       "-     -   python\n    1          -     -     -     -     -     -   -\n"}};
  const auto answer = ask(smi, tree.path());
  REQUIRE(answer.has_value());
  CHECK(answer->driver == "535.104.05");
  REQUIRE(answer->cards.size() == 2);
  const GpuCard& card = answer->cards[0];
  CHECK(card.minor == 3);
  CHECK(card.uuid == "GPU-a");
  CHECK(card.bus_id == "0000:3b:00.0");
  CHECK(card.memory == 85'899'345'920);
  CHECK(card.used == 1'073'741'824);
  CHECK(card.cores == 55);
  CHECK(card.memory_controller == 7);
  CHECK_FALSE(card.mig);
  CHECK(answer->cards[1].minor == 1);  // the driver does not say: as it counts
  CHECK(answer->cards[1].mig);
  REQUIRE(answer->processes.size() == 2);
  CHECK(answer->processes[0].pid == 4711);
  CHECK(answer->processes[0].cores == 42);
  CHECK(answer->processes[0].memory == 1'048'576'000);
  CHECK(answer->processes[1].cores == 0);
  CHECK(answer->processes[1].memory == 0);
  CHECK(smi.asked.size() == 4);
}

TEST_CASE("nvidia-smi: old versions, nonsense, and one that is not there", "[smi]") {
  Smi idle;
  idle.answers = {{kCards, kTwo}, {"mig.mode.current", kUse}, {"query-compute-apps", ""}};
  const auto answer = ask(idle);
  REQUIRE(answer.has_value());
  CHECK(answer->cards.size() == 2);
  CHECK(answer->processes.empty());
  CHECK(idle.asked.size() == 3);  // nobody computes: nobody is watched
  for (const std::string_view line :
       {"Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost",
        "0, GPU-a, x, 1, nowhere, 1", "x, GPU-a, x, 1, 00000000:3B:00.0, 1", "0, , x, 1, 00000000:3B:00.0, 1",
        "0, GPU-a, x, [N/A], 00000000:3B:00.0, 1", "0, GPU-a, x, 18446744073709551615, 00000000:3B:00.0, 1",
        "0, GPU-a, x, 1, 00000000:3B:00.0, 1, more"}) {
    CAPTURE(line);
    Smi smi;
    smi.answers = {
        {kCards, fmt::format("{}\n{}", line, kTwo)}, {"mig.mode.current", kUse}, {"query-compute-apps", ""}};
    const auto said = ask(smi);
    REQUIRE(said.has_value());
    CHECK(said->cards.size() == 2);
    REQUIRE(said->bad.size() == 1);
    CHECK(said->bad[0].starts_with("nvidia-smi: no card: \""));
  }
  Smi none;
  CHECK(ask(none).error().code() == Code::io);
}

TEST_CASE("nvidia-smi: a card of which it is not said whether it is cut is none", "[smi]") {
  for (const std::string_view use :
       {"", "GPU-a, Enabled, 1, 2, 3\n", "GPU-a, Disabled, 1, 2, 3\nGPU-b, [Unknown Error], 1, 2, 3\n",
        "GPU-a, Disabled, 1, 2, 3\nGPU-b, 1, 2, 3\n"}) {
    CAPTURE(use);
    Smi smi;
    smi.answers = {{kCards, kTwo}, {"mig.mode.current", std::string(use)}, {"query-compute-apps", ""}};
    const auto said = ask(smi);
    REQUIRE(said.has_value());
    CHECK(said->cards.size() == (use.empty() ? 0 : 1));
    REQUIRE(said->bad.size() == (use.empty() ? 2 : 1));
    CHECK(said->bad.back().starts_with("nvidia-smi: GPU GPU-b: whether it is cut by MIG: "));
  }
}

TEST_CASE("nvidia-smi of the host: one that knows no MIG goes on being asked, and another's failure is told",
          "[smi]") {
  if (::geteuid() != 0 || ::access("/bin/busybox", X_OK) != 0) return;  // the tests' machine has both
  struct Row {
    const char* driver;
    bool answers;
  };
  const Row row = GENERATE(Row{"440.33.01", true}, Row{"450.51", false}, Row{"535.104.05", false});
  INFO(row.driver);
  const testing::Tree tree;
  std::filesystem::create_directories(tree / "bin");
  std::filesystem::create_directories(tree / "usr/bin");
  std::filesystem::copy_file("/bin/busybox", tree / "bin/sh");
  testing::Tree::write_to(tree / "usr/bin/nvidia-smi",
                          fmt::format("#!/bin/sh\ncase \"$1\" in\n*mig.mode*) exit 2;;\n"
                                      "*index*) echo '0, GPU-a, Tesla V100, 16384, 00000000:3B:00.0, {}';;\n"
                                      "*utilization*) echo 'GPU-a, 1024, 55, 7';;\nesac\n",
                                      row.driver));
  REQUIRE(::chmod((tree / "usr/bin/nvidia-smi").c_str(), 0755) == 0);
  test::Loop loop;
  HostPrograms programs(loop.clock, tree.path(), std::chrono::seconds(60));
  for (int i = 0; i < 5; ++i) {
    programs.begin();
    const auto said = test::run_task(loop, ask_nvidia_smi(programs, tree.path()), true);
    REQUIRE(said.has_value() == row.answers);
    if (!row.answers) continue;
    REQUIRE(said->cards.size() == 1);
    CHECK(said->cards[0].used == 1'073'741'824);
    CHECK(said->cards[0].cores == 55);
    CHECK_FALSE(said->cards[0].mig);
    CHECK(said->bad.empty());
  }
}

}  // namespace
}  // namespace koord::host
