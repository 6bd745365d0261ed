// What an agent leaves for the next one: in which folder, and that there is only one agent.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "framework/keep/host_lock.hpp"
#include "framework/keep/state_dirs.hpp"
#include "framework/qos/journal.hpp"
#include "framework/states/kept_objects.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/host/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;

/// Of a pod of upstream's DaemonSet: /host-var-run is a part of the host's tree, /metric-data an emptyDir.
constexpr std::string_view kDaemonSet =
    "1 0 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/l\n"
    "2 1 0:22 / /host-run rw - tmpfs tmpfs rw,size=1k\n"
    "3 1 0:22 / /host-var-run ro - tmpfs tmpfs rw,size=1k\n"
    "4 1 0:22 /koordlet /host-var-run-koordlet rw,relatime shared:5 - tmpfs tmpfs rw\n"
    "5 1 0:22 /koordlet/prediction-checkpoints /prediction-checkpoints rw shared:5 - tmpfs tmpfs rw\n"
    "6 1 254:1 /var/lib/kubelet/pods/u/volumes/kubernetes.io~empty-dir/metric-db-path /metric-data rw - ext4 "
    "/dev/vda1 rw\n"
    "7 1 0:60 / /in-memory rw,relatime - tmpfs tmpfs rw,size=153600k\n"
    "8 1 254:1 /srv/metrics /srv rw,relatime - ext4 /dev/vda1 rw\n"
    "9 8 0:61 / /srv/scratch rw - tmpfs tmpfs rw\n"
    "garbage\n\n - \n";

TEST_CASE("What outlives a pod", "[koordlet][keep]") {
  struct Row {
    const char* folder;
    bool lasts;
  };
  for (const Row& row : {
           Row{"/host-var-run-koordlet", true},
           {"/host-var-run-koordlet/koord", true},
           {"/prediction-checkpoints/", true},
           {"/prediction-checkpoints-of-mine", false},  // the container's own layer
           {"/metric-data/", false},
           {"/metric-data/below/", false},
           {"/in-memory", false},
           {"/srv", true},
           {"/srv/data", true},
           {"/srv/scratch/x", false},
           {"/", false},
           {"/var/lib/koord", false},
       }) {
    CAPTURE(row.folder);
    CHECK(outlives_pod(row.folder, kDaemonSet) == row.lasts);
  }
  CHECK(outlives_pod("/x", ""));
}

TEST_CASE("The first folder that can be written and lasts", "[koordlet][keep]") {
  Tree tree{{"disk/file", ""}, {"pod/file", ""}, {"file", ""}};
  const auto at = [&](const char* name) { return tree / name; };
  const std::string mounts =
      "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:1 /kubelet/volumes/kubernetes.io~empty-dir/x " + at("pod") +
      " rw - ext4 /dev/a rw\n";
  struct Row {
    const char* name;
    std::vector<std::string> candidates;
    std::string_view mounts;
    std::string folder;
    bool lasts;
  };
  const std::vector<Row> rows{
      {"the first", {at("disk/koord"), at("disk")}, mounts, at("disk/koord/"), true},
      {"one that lasts before one of the pod's", {at("pod"), at("disk")}, mounts, at("disk/"), true},
      {"one of the pod's where nothing lasts",
       {at("none/koord"), at("pod/koord")},
       mounts,
       at("pod/koord/"),
       false},
      {"without a pod all last", {at("pod"), at("disk")}, "", at("pod/"), true},
      {"no folder", {at("file"), at("none/koord"), at("file/koord")}, mounts, "", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const StateDir chosen = choose_folder(row.candidates, row.mounts);
    CHECK(chosen.folder == row.folder);
    CHECK(chosen.lasts == row.lasts);
    CHECK(chosen.others.size() == row.candidates.size() - (row.folder.empty() ? 0 : 1));
    CHECK((chosen.folder.empty() || host::exists(chosen.folder)));
  }
  CHECK_FALSE(host::exists(at("none")));
}

TEST_CASE("A journal in an older place is taken over, and goes", "[koordlet][keep]") {
  const std::string text = "koord-journal 1 b\ncpu.cfs_quota_us\tx\t0\t0\t-1\tg\n";
  Tree tree{{"old/throttled", text}, {"new/", ""}};
  const std::vector<std::string> older{tree / "none/throttled", tree / "old/throttled"};
  {
    Journal journal({.path = tree / "new/throttled", .older = older, .boot_id = "b"});
    REQUIRE(journal.load().has_value());
    CHECK(journal.entries().size() == 1);
    REQUIRE(journal.save().has_value());
    CHECK(read_file(tree / "new/throttled").value() == text);
    CHECK_FALSE(host::exists(tree / "old/throttled"));
    journal.erase(host::Knob::cpu_quota, "g");
    REQUIRE(journal.save().has_value());
    CHECK_FALSE(host::exists(tree / "new/throttled"));
  }
  // One that stays (a folder that is read-only) is outdated by an empty one; a folder cannot be unlinked
  // either.
  tree.write("old/throttled/file", "");
  Journal journal({.path = tree / "new/throttled", .older = older, .boot_id = "b"});
  journal.note({host::Knob::cpu_quota, "h", 0, 0, std::int64_t{-1}, "x"});
  REQUIRE(journal.save().has_value());
  journal.erase(host::Knob::cpu_quota, "h");
  REQUIRE(journal.save().has_value());
  CHECK(read_file(tree / "new/throttled").value() == "koord-journal 1 b\n");
  Journal next({.path = tree / "new/throttled", .older = older, .boot_id = "b"});
  REQUIRE(next.load().has_value());
  CHECK(next.entries().empty());
}

TEST_CASE("One agent a host, and the second says who the first is", "[koordlet][keep]") {
  Tree tree;
  const std::string path = tree / "run/koord.lock";
  tree.write("run/", "");
  const std::string me = "pid " + std::to_string(::getpid());
  constexpr nanoseconds kNone{0};
  {
    const auto first = HostLock::take(path, "node n1", kNone);
    REQUIRE(first.has_value());
    const auto second = HostLock::take(path, "node n2", kNone);
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().code() == Code::already_exists);
    CHECK_THAT(second.error().message(), Catch::Contains(me + ", node n1") && Catch::Contains(path));
    CHECK(read_file(path).value() == me + ", node n1\n");
    tree.write("run/koord.lock", "\x1b[2J\n");
    CHECK_THAT(HostLock::take(path, "x", kNone).error().message(), !Catch::Contains("\x1b"));
  }
  const auto third = HostLock::take(path, "node n3", kNone);  // the first has ended
  REQUIRE(third.has_value());
  CHECK(read_file(path).value() == me + ", node n3\n");
  CHECK_FALSE(HostLock::take(tree / "no/such/folder/lock", "x", kNone).has_value());
}

TEST_CASE("An agent that was killed is waited for", "[koordlet][keep]") {
  const Tree tree;
  const std::string path = tree / "koord.lock";
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto held = HostLock::take(path, "the child", nanoseconds(0));
    (void)!::write(told[1], held ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(told[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  REQUIRE(::kill(child, SIGKILL) == 0);
  CHECK(HostLock::take(path, "the next one", std::chrono::seconds(20)).has_value());
  CHECK(::waitpid(child, nullptr, 0) == child);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_CASE("What the API server said is kept, and of no use once it is garbled", "[koordlet][keep]") {
  Tree tree;
  const std::string path = tree / "kept";
  CHECK(read_kept(path, "n1").error().code() == Code::not_found);
  api::Node node;
  node.metadata.name = "n1";
  node.metadata.annotations["a"] = "b";
  node.metadata.labels["l"] = "not needed";
  node.status.addresses.push_back({Symbol("InternalIP"), "10.0.0.1"});
  node.status.daemon_endpoints.kubelet_endpoint.port = 10251;
  api::NodeSlo slo;
  slo.metadata.name = "n1";
  slo.spec.resource_used_threshold_with_be.emplace().enable = true;
  const std::string text = api::encode(kept_objects(node, &slo));
  REQUIRE(write_kept(path, text).has_value());
  struct stat made {};
  REQUIRE(::stat(path.c_str(), &made) == 0);
  CHECK((made.st_mode & 0777) == 0600);

  const auto kept = read_kept(path, "n1");
  REQUIRE(kept.has_value());
  CHECK(kept->node->status.daemon_endpoints.kubelet_endpoint.port == 10251);
  CHECK(kept->node->metadata.annotations == node.metadata.annotations);
  CHECK(kept->node->metadata.labels.empty());
  CHECK(kept->node_slo->spec == slo.spec);
  CHECK(api::encode(*kept) == text);

  CHECK_FALSE(read_kept(path, "n2").has_value());
  const std::string huge(std::size_t{3} << 20, ' ');
  for (const std::string& bad : {std::string(), std::string("{"), text.substr(0, text.size() / 2),
                                 std::string("[]"), std::string("{}"), std::string("\0\0\0", 3), huge}) {
    tree.write("kept", bad);
    CHECK_FALSE(read_kept(path, "n1").has_value());
  }
  CHECK(write_kept(path, huge).error().code() == Code::too_large);
  CHECK_FALSE(host::exists(path));  // what is not true any more is not kept

  const auto without = kept_objects(node, nullptr);
  REQUIRE(write_kept(path, api::encode(without)).has_value());
  CHECK_FALSE(read_kept(path, "n1")->node_slo);
}

}  // namespace
}  // namespace koord::koordlet
