// OOM scores: what processes are given, with the original's rows, and what they get back.
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "framework/action/process_book.hpp"
#include "framework/audit/auditor.hpp"
#include "koord/host/file.hpp"
#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using koord::testing::Tree;
using testing::FakeProcesses;
using testing::HooksRig;
using Scores = std::map<pid_t, std::int64_t>;

class Rig : public HooksRig {
 public:
  explicit Rig(std::string journal = {}) : HooksRig(CgroupVersion::v1, std::move(journal)) { gate(true); }
  /// Another agent, with or without.
  void gate(bool on) {
    if (!gates.set(on ? "OOMScoreAdj=true" : "OOMScoreAdj=false")) throw std::runtime_error("no such gate");
    only({"OOMScoreAdj"});
  }
  static HookTerms terms(std::optional<std::int64_t> score,
                         std::map<std::string, std::optional<std::int64_t>, std::less<>> scores = {}) {
    HookTerms terms;
    terms.oom_score = score;
    terms.oom_scores = std::move(scores);
    return terms;
  }
  void says(PodInfo& pod, std::optional<std::int64_t> score) {
    pod.terms.put(std::make_shared<const HookTerms>(terms(score)));
    ++inventory.generation;
  }
  std::string gauges() const {
    std::string lines;
    const std::string text = metrics->exposition();
    for (std::size_t at = text.find("koordlet_container_oom_score_adj{"); at != std::string::npos;
         at = text.find("koordlet_container_oom_score_adj{", at + 1))
      lines += text.substr(at, text.find('\n', at) - at + 1);
    return lines;
  }
};

TEST_CASE("Processes get what their pod says, as the original's rows have it", "[koordlet][oom]") {
  struct Row {
    const char* what;
    HookTerms terms;
    Scores before, after;  // 12 and 13 are the container's, 14 and 15 another one's and the sandbox's
  };
  const Row rows[] = {
      {"nothing is said", {}, {{12, 0}, {13, 0}}, {{12, 0}, {13, 0}}},
      {"of all containers",
       Rig::terms(-500),
       {{12, 0}, {13, -500}, {14, 7}},
       {{12, -500}, {13, -500}, {14, -500}}},
      {"of one that is named", Rig::terms(-500, {{"c1", 200}}), {{12, 0}, {14, 0}}, {{12, 200}, {14, -500}}},
      {"of another", Rig::terms({}, {{"c2", 100}}), {{12, 0}, {14, 0}}, {{12, 0}, {14, 100}}},
      {"nonsense of one", Rig::terms(-500, {{"c1", {}}}), {{12, 0}, {14, 0}}, {{12, 0}, {14, -500}}},
      {"there is nobody", Rig::terms(-500), {}, {}},
      {"the sandbox is the runtime's", Rig::terms(-500), {{12, 0}, {15, -998}}, {{12, -500}, {15, -998}}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    PodInfo& pod = rig.pod("p", Qos::ls, {{"c1"}, {"c2"}}, row.terms);
    pod.sandbox_group = pod.group + "/sandbox";
    for (const auto& [pid, score] : row.before)
      rig.processes.born(pid, pod.group + (pid == 14 ? "/c2" : pid == 15 ? "/sandbox" : "/c1"), score);
    rig.ticks(1);
    CHECK(rig.processes.scores() == row.after);
    const std::size_t written = rig.processes.written;
    rig.ticks(20);
    CHECK(rig.processes.written == written);
  }
}

TEST_CASE("One process that refuses stops no other, and is named once", "[koordlet][oom]") {
  Rig rig;
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c"}}, Rig::terms(-500));
  rig.processes.born(12, pod.group + "/c", 0).least = 0;
  rig.processes.born(13, pod.group + "/c", 0);
  rig.ticks(60);
  CHECK(rig.processes.scores() == Scores{{12, 0}, {13, -500}});
  const auto lines = rig.log.lines();
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("CAP_SYS_RESOURCE") != std::string::npos;
        }) == 1);
}

TEST_CASE("Who comes later is found within ten seconds; a container that comes, in the next tick",
          "[koordlet][oom]") {
  Rig rig;
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c"}}, Rig::terms(300));
  rig.processes.born(12, pod.group + "/c", 0);
  rig.ticks(1);
  rig.processes.born(13, pod.group + "/c", 0);
  rig.ticks(10);
  CHECK(rig.processes.scores() == Scores{{12, 300}, {13, 300}});
  rig.run(pod, {"d"});
  rig.processes.born(14, pod.group + "/d", 0);
  rig.ticks(1);
  CHECK(rig.processes.scores().at(14) == 300);
  CHECK(rig.gauges().find(R"(pod_name="p",pod_namespace="ns",pod_uid="p",container_name="c"} 300)") !=
        std::string::npos);
  // Between two passes nothing is asked.
  rig.ticks(1);
  const std::size_t reads = rig.processes.reads;
  rig.ticks(5);
  CHECK(rig.processes.reads == reads);
  rig.says(pod, {});
  rig.ticks(2);
  CHECK(rig.gauges().empty());
}

TEST_CASE("What is not wanted any more goes back to each process that still has it", "[koordlet][oom]") {
  Tree tree;
  Rig rig(tree / "journal");
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c"}}, Rig::terms(300));
  const std::string group = pod.group + "/c";
  FakeProcesses& processes = rig.processes;
  processes.born(12, group, 0);
  processes.born(13, group, 985);
  processes.born(14, group, 300);  // had it before
  processes.born(15, group, 7);
  processes.born(16, group, 0);
  rig.ticks(1);
  processes.fork(13, 20);  // as its parent
  processes.fork(14, 21);
  processes.all.at(15).score = 8;  // by its own hand: then it is given what is wanted, as all others
  processes.all.erase(16);
  rig.ticks(11);
  processes.all.at(12).score = -3;             // by its own hand, and nobody has looked since
  processes.born(16, "somebody else's", 300);  // and the number of one that has gone
  SECTION("the annotation has gone") { rig.says(pod, {}); }
  SECTION("the pod has gone") {
    rig.inventory.all_pods.clear();
    ++rig.inventory.generation;
  }
  SECTION("the gate is off in the next agent") { rig.gate(false); }
  SECTION("an agent that knows nothing of pods yet waits") {
    rig.start();
    rig.inventory.pods_known = false;
    rig.ticks(20);
    CHECK(processes.scores().at(13) == 300);
    rig.inventory.pods_known = true;
    rig.says(pod, {});
  }
  SECTION("it is only told what would be done") {
    rig.dry_run = {"OOMScoreAdj"};
    rig.start();
  }
  SECTION("--cleanup") {
    rig.start();
    CHECK(rig.manager->cleanup(rig.inventory).value() == 3);
  }
  rig.says(pod, {});
  rig.ticks(1);
  CHECK(processes.scores() ==
        Scores{{12, -3}, {13, 985}, {14, 300}, {15, 7}, {16, 300}, {20, 985}, {21, 300}});
  CHECK(read_file(tree / "journal-scores").value() == "koord-scores 1 boot\n");
}

TEST_CASE("What the kernel refused, however often, is nobody else's score", "[koordlet][oom]") {
  FakeProcesses processes;
  ProcessBook book(kOomScoreAdjKind, {}, processes);
  const auto wish = [&](std::int64_t score) {
    const ProcessSetting settings[] = {
        {.kind = &kOomScoreAdjKind, .pod = nullptr, .container = "c", .group = "g", .value = score}};
    return book.pass(settings).containers[0];
  };
  processes.born(12, "g", 0);
  CHECK(wish(300).set == 1);
  processes.all.at(12).least = 300;
  for (const std::int64_t lower : {200, 100, 50}) CHECK(wish(lower).refused.has_value());
  processes.all.at(12).least = -1000;
  (void)book.pass({});
  CHECK(processes.scores() == Scores{{12, 0}});
}

TEST_CASE("Who was given what, and has it back, is in the audit", "[koordlet][oom]") {
  Tree tree;
  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  FakeProcesses processes;
  Auditor auditor({.log_dir = tree / "audit"}, clock, Logger(log, clock));
  ProcessSettings scores(
      kOomScoreAdjKind, {.book = {.boot_id = "b"}}, processes,
      [](const std::function<void()>& work, const std::function<void()>& done) { work(), done(); }, clock,
      Logger(log, clock), metrics, &auditor);
  const auto audit = [&] { return auditor.answer("", "", false).body; };
  auto pod = std::make_shared<PodInfo>();
  pod->ns = "ns";
  pod->name = "p";
  const ProcessSetting wish{
      .kind = &kOomScoreAdjKind, .pod = pod, .container = "c", .group = "pod/c", .value = 300};
  for (const pid_t pid : {12, 13}) processes.born(pid, "pod/c", 0);
  const auto pass = [&](std::span<const ProcessSetting> wishes) {
    scores.want(wishes);
    scores.tick();
    clock.advance(std::chrono::seconds(10));
  };
  pass({&wish, 1});
  const std::string set = audit();
  CHECK_THAT(set, Catch::Contains(R"("namespace":"ns","name":"p","container":"c","reason":"OOMScoreAdj")") &&
                      Catch::Contains("oom_score_adj of 2 processes set to 300"));
  pass({&wish, 1});  // they have it: nothing is done, and nothing told
  CHECK(audit() == set);
  processes.born(14, "pod/c", 0).least = 1000;
  pass({&wish, 1});  // refused: nothing was set
  CHECK(audit() == set);
  pass({});
  CHECK_THAT(audit(), Catch::Contains("pod/c") && Catch::Contains("2 processes have back what they had"));
}

TEST_CASE("Pods that nothing may end keep their own scores", "[koordlet][oom]") {
  Rig rig;
  PodInfo& pod = rig.pod("p", Qos::system, {{"c"}}, Rig::terms(1000));
  pod.never_stop = "it is critical";
  rig.processes.born(12, pod.group + "/c", -997);
  rig.ticks(2);
  CHECK(rig.processes.scores() == Scores{{12, -997}});
  const auto strategies = rig.manager->strategies();
  CHECK(strategies.front().status.summary.find("1 pods that nothing may end") != std::string::npos);
}

TEST_CASE("A group that cannot be read lets nobody go", "[koordlet][oom]") {
  Rig rig;
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c"}}, Rig::terms(300));
  rig.processes.born(12, pod.group + "/c", 0);
  rig.ticks(1);
  rig.processes.fault = Error(Code::io, "it cannot be read");
  rig.ticks(30);
  CHECK(rig.processes.scores() == Scores{{12, 300}});
  rig.processes.fault.reset();
  rig.says(pod, {});
  rig.ticks(1);
  CHECK(rig.processes.scores() == Scores{{12, 0}});
}

TEST_CASE("Scores go back over a kill between any two writes", "[koordlet][oom][crash]") {
  const bool cleanup = GENERATE(false, true);
  PodInfo* pod = nullptr;
  Scores before;
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        pod = &rig->pod("p", Qos::ls, {{"c"}, {"d"}}, Rig::terms(300));
        for (const pid_t pid : {12, 13, 14}) rig->processes.born(pid, pod->group + "/c", pid);
        rig->processes.born(15, pod->group + "/d", -5);
        before = rig->processes.scores();
        return rig;
      },
      [&](Rig& rig) {
        for (const std::optional<std::int64_t> score : {std::optional<std::int64_t>(300),
                                                        std::optional<std::int64_t>(-200),
                                                        {},
                                                        std::optional<std::int64_t>(400)}) {
          rig.says(*pod, score);
          rig.ticks(2);
        }
      },
      [&](Rig& rig, const std::string&, std::size_t) {
        rig.gate(false);
        if (cleanup)
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        else
          rig.ticks(1);
        REQUIRE(rig.processes.scores() == before);
      });
  CHECK(writes == 16);
}

TEST_CASE("The file of scores: what is garbled is named, another boot's is of no use", "[koordlet][oom]") {
  Tree tree;
  FakeProcesses processes;
  const auto load = [&](const std::string& text) {
    tree.write("scores", text);
    ProcessBook book(kOomScoreAdjKind, {.path = tree / "scores", .boot_id = "b"}, processes);
    const auto loaded = book.load();
    return loaded ? std::string(book.empty() ? "nobody" : "somebody") : loaded.error().message();
  };
  CHECK(load("koord-scores 1 b\n") == "nobody");
  CHECK(load("koord-scores 1 other\nnonsense\n") == "nobody");
  CHECK(load("koord-scores 1 b\n12\t99\t0\t300\t0\ta/b c\n") == "somebody");
  for (const char* line : {"", "1\t9\t0\t0\t0\tg", "-2\t9\t0\t0\t0\tg", "x\t9\t0\t0\t0\tg",
                           "2\t-9\t0\t0\t0\tg", "2\t9\t0\t1001\t0\tg", "2\t9\t-1001\t0\t0\tg",
                           "2\t9\t0\t0\t\tg", "2\t9\t0\t0\t0\t", "2\t9\t0\t0\t0\tg\n2\t9\t0\t0\t0\tg"})
    CHECK(load(fmt::format("koord-scores 1 b\n{}\n", line)).find("cannot read this process") !=
          std::string::npos);
  CHECK(load("koord-scores 1 b").find("not a file of scores") != std::string::npos);
}

TEST_CASE("A process as /proc/PID/stat has it", "[koordlet][oom]") {
  const std::string rest = " 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 123 4";
  const auto process = parse_stat("12 (a (b) c) S 7" + rest);
  REQUIRE(process.has_value());
  CHECK(process->pid == 12);
  CHECK(process->parent == 7);
  CHECK(process->start == 4711);
  for (const char* text : {"", "12", "12 (a)", "12 (a) S", "12 (a) S 7 1 1", "x (a) S 7 1", ") 12 ("})
    CHECK_FALSE(parse_stat(text).has_value());
}

TEST_CASE("Processes of a group and of those below it, if they are still there", "[koordlet][oom]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Tree tree;
  const std::string cpu = version == CgroupVersion::v1 ? "cg/cpu/" : "cg/";
  tree.write(cpu + "pod/c/cgroup.procs", fmt::format("1\n12\n14\n0\n{}\n", ::getpid()));
  tree.write(cpu + "pod/c/nested/cgroup.procs", "15\n");
  const auto says = [&](pid_t pid, int score) {
    const std::string folder = fmt::format("proc/{}/", pid);
    tree.write(folder + "stat",
               fmt::format("{} (c) S 7 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {} 0\n", pid, 1000 + pid));
    tree.write(folder + "oom_score_adj", fmt::format("{}\n", score));
  };
  says(1, 0);
  says(::getpid(), 0);
  says(12, 5);
  says(15, -5);
  const auto fs = host::CgroupFs::open({.cgroup = tree / "cg/"}, version);
  REQUIRE(fs.has_value());
  KernelProcesses processes(*fs, tree / "proc/");
  const auto found = processes.processes(kOomScoreAdjKind, "pod/c");
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 2);
  CHECK(found->at(0).pid == 12);
  CHECK(found->at(0).start == 1012);
  CHECK(found->at(1).pid == 15);
  CHECK(found->at(1).value == -5);
  CHECK(processes.set(kOomScoreAdjKind, found->at(0), 77).has_value());
  CHECK(read_file(tree / "proc/12/oom_score_adj").value().starts_with("77"));
  Process another = found->at(0);
  ++another.start;
  CHECK(processes.set(kOomScoreAdjKind, another, 78).error().code() == Code::not_found);
  CHECK(processes.processes(kOomScoreAdjKind, "pod/gone").error().code() == Code::not_found);
  CHECK(processes.processes(kOomScoreAdjKind, "").error().code() == Code::invalid);
  CHECK_FALSE(processes.find(kOomScoreAdjKind, 14).has_value());
}

TEST_CASE("The kernel takes a score for a process that lives, and none for one that has gone",
          "[koordlet][oom]") {
  Tree tree;
  tree.write("cg/x", "");
  const auto fs = host::CgroupFs::open({.cgroup = tree / "cg/"}, CgroupVersion::v2);
  REQUIRE(fs.has_value());
  KernelProcesses processes(*fs, "/proc/");
  char name[] = "sleep";
  char seconds[] = "1000";
  char* const arguments[] = {name, seconds, nullptr};
  pid_t pid = 0;
  REQUIRE(::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ) == 0);
  const auto process = processes.find(kOomScoreAdjKind, pid);
  bool raised = false;
  if (process)
    raised = processes.set(kOomScoreAdjKind, *process, 900).has_value() &&
             processes.find(kOomScoreAdjKind, pid)->value == 900;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  REQUIRE(process.has_value());
  CHECK(process->parent == ::getpid());
  CHECK(raised);
  CHECK(processes.set(kOomScoreAdjKind, *process, 900).error().code() == Code::not_found);
  CHECK_FALSE(processes.find(kOomScoreAdjKind, pid).has_value());
}

}  // namespace
}  // namespace koord::koordlet
