// nvidia-smi in the library's place: what it prints, as cards and processes.
#include "koord/host/nvidia/nvidia_smi.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <map>

#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::host {
namespace {

constexpr const char* kCards = "index,uuid,gpu_name,memory.total,pci.bus_id,driver_version";
constexpr const char* kTwo =
    "0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 00000000:3B:00.0, 535.104.05\n"
    "1, GPU-b, NVIDIA A100-SXM4-80GB, 81920, 00000000:5E:00.0, 535.104.05\n";

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
  Smi old;
  old.answers = {{kCards, kTwo}, {"query-compute-apps", ""}};
  const auto answer = ask(old);
  REQUIRE(answer.has_value());
  CHECK(answer->cards.size() == 2);
  CHECK(answer->processes.empty());
  CHECK(old.asked.size() == 3);  // nobody computes: nobody is watched
  struct Row {
    std::string_view line;
  };
  for (const std::string_view line :
       {"Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost",
        "0, GPU-a, x, 1, nowhere, 1", "x, GPU-a, x, 1, 00000000:3B:00.0, 1", "0, , x, 1, 00000000:3B:00.0, 1",
        "0, GPU-a, x, [N/A], 00000000:3B:00.0, 1", "0, GPU-a, x, 18446744073709551615, 00000000:3B:00.0, 1",
        "0, GPU-a, x, 1, 00000000:3B:00.0, 1, more"}) {
    CAPTURE(line);
    Smi smi;
    smi.answers = {{kCards, fmt::format("{}\n{}", line, kTwo)}, {"query-compute-apps", ""}};
    const auto said = ask(smi);
    REQUIRE(said.has_value());
    CHECK(said->cards.size() == 2);
    REQUIRE(said->bad.size() == 1);
    CHECK(said->bad[0].starts_with("nvidia-smi: no card: \""));
  }
  Smi none;
  CHECK(ask(none).error().code() == Code::io);
}

}  // namespace
}  // namespace koord::host
