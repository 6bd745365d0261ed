// The scheduler's flags: those of both originals are taken.
#include "options/flags.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "koord/scheduling/config/gates.hpp"
#include "support/tsv.hpp"

namespace koord::scheduler::test {
namespace {

TEST_CASE("every flag of kube-scheduler and koord-scheduler is taken") {
  std::ifstream list(koord::test::golden("scheduler/flags.txt"));
  // These are the process's, whatever roles it runs.
  const std::set<std::string> process{"feature-gates", "help", "kubeconfig", "v", "version"};
  std::string name;
  int count = 0;
  while (std::getline(list, name)) {
    if (name.empty() || name.starts_with('#')) continue;
    ++count;
    INFO(name);
    const auto all = flags();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& flag) { return flag.name == name; });
    CHECK((found != all.end() || process.contains(name)));
    // What has no effect says so when it is used, and does not clutter --help.
    if (found != all.end() && !found->deprecated.empty()) CHECK(found->hidden);
  }
  CHECK(count > 80);
}

TEST_CASE("flags without effect are taken with a warning") {
  const std::vector<runtime::FlagOwner> owners{{"scheduler", flags()}};
  const auto line = runtime::parse_flags(
      std::vector<std::string>{"--enable-workload-auditor=true", "--logging-format=json", "--seed=1"},
      {"", {}}, owners);
  REQUIRE(line.has_value());
  REQUIRE(line->warnings.size() == 2);
  CHECK(line->warnings[0].find("it comes with the workload auditor") != std::string::npos);
  CHECK(line->warnings[1].find("without effect") != std::string::npos);
}

TEST_CASE("kube-scheduler's feature gates are taken") {
  struct Row {
    const char* text;
    const char* error;  // "": none
  };
  const Row rows[] = {
      {"SchedulerPopFromBackoffQ=false,OpportunisticBatching=true,ResizePod=true", ""},
      {"AllAlpha=true,AllBeta=false", ""},
      {"SchedulerQueueingHints=true", ""},
      {"SchedulerQueueingHints=false",
       "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"},
      {"SchedulerQueueingHint=true",
       "unrecognized feature gate: SchedulerQueueingHint; did you mean SchedulerQueueingHints?"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    FeatureGates gates(scheduling::gates());
    const Result<> set = gates.set(row.text);
    CHECK((set ? "" : set.error().message()) == std::string(row.error));
  }
  CHECK(FeatureGates(scheduling::gates()).list().size() > 200);
}

}  // namespace
}  // namespace koord::scheduler::test
