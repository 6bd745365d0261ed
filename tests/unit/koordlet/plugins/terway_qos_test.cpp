// Terway's files, with the original's rows: rates, priorities, both texts, and what becomes of the files.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/host/file.hpp"
#include "plugins/terway_qos/terway_files.hpp"
#include "plugins/terway_qos/texts.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::terway_qos {
namespace {

using api::IntOrString;
namespace fs = std::filesystem;

std::string rate(const std::optional<IntOrString>& part, std::uint64_t total) {
  const auto rate = rate_of(part, total);
  return rate ? std::to_string(*rate) : std::string(rate.error().message());
}

api::NodeSloSpec slo_of(std::string_view json) {
  auto spec = api::decode<api::NodeSloSpec>(json);
  REQUIRE(spec.has_value());
  return std::move(*spec);
}

constexpr std::string_view kSlo = R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"terway-qos"},
  "lsClass":{"networkQOS":{"enable":true,"ingressRequest":"10M","ingressLimit":"10M","egressRequest":"10M","egressLimit":"10M"}},
  "beClass":{"networkQOS":{"enable":true,"ingressRequest":"20M","ingressLimit":"20M","egressRequest":"20M","egressLimit":"20M"}}},
  "systemStrategy":{"totalNetworkBandwidth":"100M"}})";

std::shared_ptr<const PodInfo> pod_of(const std::string& uid, std::string_view label,
                                      std::string_view kubernetes, std::string_view annotation = {}) {
  auto object = std::make_shared<api::Pod>();
  if (!label.empty()) object->metadata.labels["koordinator.sh/qosClass"] = Symbol(label);
  if (!annotation.empty()) object->metadata.annotations[api::PodNetworkQos::kAnnotation] = Symbol(annotation);
  object->status.qos_class = Symbol(kubernetes);
  auto pod = std::make_shared<PodInfo>();
  pod->uid = uid;
  pod->ns = "default";
  pod->name = "pod-" + uid;
  pod->group = "kubepods/pod" + uid;
  pod->object = std::move(object);
  return pod;
}

TEST_CASE("A part of the node's bandwidth, as the original's rows have it", "[koordlet][terway]") {
  struct Row {
    std::optional<IntOrString> part;
    std::uint64_t total;
    std::string rate;
  };
  const Row rows[] = {
      {{}, 100, "0"},
      {IntOrString("40"), 100, "5"},
      {IntOrString("808"), 100, "\"808\" is more than the whole bandwidth, 100"},
      // The original says 50, which are bits.
      {IntOrString(50), 100, "6"},
      {IntOrString("10M"), 100'000'000, "1250000"},
      {IntOrString(100), 100'000'000, "12500000"},
      {IntOrString(0), 100, "0"},
      {IntOrString(101), 100, "101: expected 0 to 100 percent"},
      {IntOrString(-1), 100, "-1: expected 0 to 100 percent"},
      {IntOrString("-8"), 100, "\"-8\": expected bits a second, as 10M"},
      {IntOrString("50%"), 100, "\"50%\": expected bits a second, as 10M"},
      {IntOrString(100), UINT64_MAX, std::to_string(UINT64_MAX / 8)},
  };
  for (const Row& row : rows) CHECK(rate(row.part, row.total) == row.rate);
}

TEST_CASE("The node's rates, as the original's rows have them", "[koordlet][terway]") {
  CHECK(*node_rates(slo_of("{}")) == NodeRates{});
  const auto rates = node_rates(slo_of(kSlo));
  REQUIRE(rates.has_value());
  CHECK(rates->rx == 12'500'000);
  CHECK(rates->tx == 12'500'000);
  CHECK(rates->ls.tx_min == 1'250'000);
  CHECK(rates->be.tx_min == 2'500'000);
  CHECK(rates->ls.tx_max == 1'250'000);
  CHECK(rates->be.tx_max == 2'500'000);
  // A class without a word, or that is off.
  CHECK(*node_rates(slo_of(R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{}},
      "beClass":{"networkQOS":{"enable":false,"ingressLimit":"1Z"}}}})")) == NodeRates{});
  const auto wrong = node_rates(slo_of(R"({"resourceQOSStrategy":{"lsClass":{"networkQOS":{"enable":true,
      "ingressLimit":"200M"}}},"systemStrategy":{"totalNetworkBandwidth":"100M"}})"));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(std::string(wrong.error().message()) ==
        "lsClass.networkQOS: \"200M\" is more than the whole bandwidth, 100000000");
  CHECK_FALSE(node_rates(slo_of(R"({"systemStrategy":{"totalNetworkBandwidth":"-1"}})")).has_value());
}

TEST_CASE("The node's text, as the original's rows have it", "[koordlet][terway]") {
  const auto text = [](const NodeRates& rates) { return to_text(rates); };
  CHECK(text({.tx = 100, .rx = 200, .ls = {300, 400, 500, 600}, .be = {700, 800, 900, 1000}}) ==
        "hw_tx_bps_max 100\nhw_rx_bps_max 200\noffline_l1_tx_bps_min 300\noffline_l1_tx_bps_max 400\n"
        "offline_l1_rx_bps_min 500\noffline_l1_rx_bps_max 600\noffline_l2_tx_bps_min 700\n"
        "offline_l2_tx_bps_max 800\noffline_l2_rx_bps_min 900\noffline_l2_rx_bps_max 1000\n");
  CHECK(text({}) ==
        "hw_tx_bps_max 0\nhw_rx_bps_max 0\noffline_l1_tx_bps_min 0\noffline_l1_tx_bps_max 0\n"
        "offline_l1_rx_bps_min 0\noffline_l1_rx_bps_max 0\noffline_l2_tx_bps_min 0\n"
        "offline_l2_tx_bps_max 0\noffline_l2_rx_bps_min 0\noffline_l2_rx_bps_max 0\n");
  CHECK(text({.tx = 100, .ls = {.tx_min = 300}, .be = {.rx_max = 1000}}) ==
        "hw_tx_bps_max 100\nhw_rx_bps_max 0\noffline_l1_tx_bps_min 300\noffline_l1_tx_bps_max 0\n"
        "offline_l1_rx_bps_min 0\noffline_l1_rx_bps_max 0\noffline_l2_tx_bps_min 0\n"
        "offline_l2_tx_bps_max 0\noffline_l2_rx_bps_min 0\noffline_l2_rx_bps_max 1000\n");
}

TEST_CASE("A pod's priority, as the original's rows have it", "[koordlet][terway]") {
  struct Row {
    std::string_view label, kubernetes;
    int priority;
  };
  const Row rows[] = {{"BE", "", 2},
                      {"", "Guaranteed", 1},
                      {"", "Burstable", 1},
                      {"", "BestEffort", 2},
                      {"", "", 0},
                      {"SYSTEM", "", 0},
                      {"LSE", "", 1},
                      {"LSR", "", 1},
                      {"LS", "BestEffort", 1},
                      {"nonsense", "BestEffort", 2}};
  for (const Row& row : rows)
    CHECK(priority(*pod_of("u", row.label, row.kubernetes)->object) == row.priority);
}

TEST_CASE("What pods may send and get; a pod that cannot be read keeps its priority", "[koordlet][terway]") {
  struct Row {
    std::string_view annotation, limits;
    bool warns;
  };
  const Row rows[] = {
      {R"({"IngressLimit": "1000", "EgressLimit": "2000"})",
       R"({"ingressBandwidth":125,"egressBandwidth":250})", false},
      {R"({"IngressLimit": "invalid", "EgressLimit": "2000"})",
       R"({"ingressBandwidth":0,"egressBandwidth":0})", true},
      {"", R"({"ingressBandwidth":0,"egressBandwidth":0})", false},
      {R"({"egressLimit":"20M"})", R"({"ingressBandwidth":0,"egressBandwidth":2500000})", false},
      {R"({"egressLimit":"-20M"})", R"({"ingressBandwidth":0,"egressBandwidth":0})", true},
      {"{", R"({"ingressBandwidth":0,"egressBandwidth":0})", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.annotation);
    Inventory inventory;
    inventory.slo = std::make_shared<const api::NodeSloSpec>(slo_of(kSlo));
    inventory.slo_known = inventory.pods_known = true;
    inventory.all_pods = {pod_of("u1", "BE", "Burstable", row.annotation)};
    std::string error;
    const auto texts = texts_of(inventory, error);
    REQUIRE(texts.has_value());
    CHECK(texts->warnings.size() == (row.warns ? 1 : 0));
    CHECK(texts->pods ==
          fmt::format(R"({{"u1":{{"podName":"pod-u1","podNamespace":"default","podUID":"u1","prio":2,)"
                      R"("cgroupDir":"/sys/fs/cgroup/net_cls/kubepods/podu1","qosConfig":{}}}}})",
                      row.limits));
  }
}

TEST_CASE("When Terway is told, and when it is told nothing more", "[koordlet][terway]") {
  Inventory inventory;
  std::string error;
  CHECK_FALSE(texts_of(inventory, error).has_value());  // nobody has said anything yet
  inventory.slo_known = true;
  CHECK_FALSE(texts_of(inventory, error)->wanted);  // there is no NodeSLO
  inventory.slo = std::make_shared<const api::NodeSloSpec>(
      slo_of(R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"tc"}}})"));
  CHECK_FALSE(texts_of(inventory, error)->wanted);
  inventory.slo = std::make_shared<const api::NodeSloSpec>(
      slo_of(R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"terway-qos"}}})"));
  CHECK_FALSE(texts_of(inventory, error).has_value());  // its pods are not known
  inventory.pods_known = true;
  const auto texts = texts_of(inventory, error);
  REQUIRE(texts.has_value());
  CHECK(texts->wanted);
  CHECK(texts->pods == "{}");
  CHECK(error.empty());
  inventory.slo = std::make_shared<const api::NodeSloSpec>(
      slo_of(R"({"resourceQOSStrategy":{"policies":{"netQOSPolicy":"terway-qos"},
      "lsClass":{"networkQOS":{"enable":true,"ingressLimit":101}}},"systemStrategy":{"totalNetworkBandwidth":"1M"}})"));
  CHECK_FALSE(texts_of(inventory, error).has_value());
  CHECK(error == "lsClass.networkQOS: 101: expected 0 to 100 percent");
}

/// Whether anything was changed, by what is told to the audit; nothing went wrong.
bool changed(const Round& round) {
  INFO(round.wrong);
  CHECK(round.wrong.empty());
  return !round.done.empty();
}

TEST_CASE("Files are renamed into place, left alone while they are right, and go", "[koordlet][terway]") {
  koord::testing::Tree tree;
  tree.write("var/lib/", "");
  const std::string folder = tree / "var/lib/terway/qos";
  const Texts texts{.wanted = true, .node = "a 1\n", .pods = "{}", .warnings = {}};
  const BootFile::Place mark{.path = tree / "journal/terway"};
  const auto keep = [&mark](const std::string& where, const Texts& what) {
    return changed(terway_qos::keep(where, what, mark));
  };
  CHECK(keep(folder, texts));
  CHECK(*read_file(folder + "/global_bps_config") == "a 1\n");
  CHECK(*read_file(folder + "/pod.json") == "{}");
  const auto written = fs::last_write_time(folder + "/pod.json");
  CHECK_FALSE(keep(folder, texts));
  CHECK(fs::last_write_time(folder + "/pod.json") == written);
  // What another agent, or nobody, made of it is put right.
  koord::testing::Tree::write_to(folder + "/pod.json", "{\"half");
  koord::testing::Tree::write_to(folder + "/pod.json.new", "left behind");
  CHECK(keep(folder, texts));
  CHECK(*read_file(folder + "/pod.json") == "{}");
  CHECK_FALSE(host::exists(folder + "/pod.json.new"));
  tree.write("var/lib/terway/qos/others", "stays");
  CHECK(keep(folder, {}));
  CHECK_FALSE(host::exists(folder + "/pod.json"));
  CHECK_FALSE(host::exists(folder + "/global_bps_config"));
  CHECK(host::exists(folder + "/others"));
  CHECK_FALSE(keep(folder, {}));
  CHECK_FALSE(changed(remove(folder)));
  CHECK_FALSE(changed(remove(tree / "nowhere/terway/qos")));
  // Nobody could read it there.
  const Round vain = terway_qos::keep(tree / "nowhere/terway/qos", texts, mark);
  CHECK(vain.done.empty());
  CHECK(vain.wrong.find("nowhere/terway") != std::string::npos);
  // A link is nobody's to write through.
  fs::create_symlink(tree / "elsewhere", folder + "/pod.json");
  const Round half = terway_qos::keep(folder, texts, mark);
  CHECK(half.done == std::vector<std::string>{fmt::format("{}/global_bps_config written", folder)});
  CHECK(half.wrong.find("pod.json") != std::string::npos);
  CHECK_FALSE(host::exists(tree / "elsewhere"));
}

TEST_CASE("Files that an agent of this host has not written stay, its own go with their mark",
          "[koordlet][terway]") {
  koord::testing::Tree tree;
  tree.write("var/lib/terway/qos/pod.json", "upstream's");
  const std::string folder = tree / "var/lib/terway/qos";
  const BootFile::Place mark = mark_at({.path = tree / "journal/terway", .boot_id = "boot"});
  CHECK(mark_at({.path = "x", .boot_id = "another"}).boot_id == mark.boot_id);  // they outlast a boot
  CHECK_FALSE(changed(withdraw(folder, mark)));
  CHECK(*read_file(folder + "/pod.json") == "upstream's");
  const Texts texts{.wanted = true, .node = "a 1\n", .pods = "{}", .warnings = {}};
  CHECK(changed(keep(folder, texts, mark)));
  CHECK(host::exists(mark.path));
  // In a pod where the folder is not mounted nothing can be said of it.
  CHECK_FALSE(changed(withdraw(tree / "host-var-lib/terway/qos", mark)));
  REQUIRE(host::exists(mark.path));
  // An agent of another pod kept the mark elsewhere.
  const BootFile::Place moved{.path = tree / "other/terway", .older = {mark.path}};
  CHECK(changed(withdraw(folder, moved)));
  CHECK_FALSE(host::exists(mark.path));
  CHECK_FALSE(host::exists(folder + "/pod.json"));
  CHECK_FALSE(host::exists(folder + "/global_bps_config"));
  // Once: what comes then is somebody else's.
  tree.write("var/lib/terway/qos/pod.json", "upstream's");
  CHECK_FALSE(changed(withdraw(folder, moved)));
  CHECK(host::exists(folder + "/pod.json"));
  // Another policy is a word of the one who owns them now.
  CHECK(changed(keep(folder, texts, mark)));
  CHECK(changed(keep(folder, {}, mark)));
  CHECK_FALSE(host::exists(mark.path));
  CHECK_FALSE(host::exists(folder + "/pod.json"));
}

TEST_CASE("Each file that is written or removed is an event of the audit, one that is right is none",
          "[koordlet][terway]") {
  koord::testing::Tree tree;
  tree.write("var/lib/", "");
  ManualClock clock;
  CapturedLog log;
  Auditor auditor({.log_dir = tree / "audit"}, clock, Logger(log, clock));
  const std::string folder = tree / "var/lib/terway/qos";
  const BootFile::Place mark{.path = tree / "journal/terway"};
  const Texts texts{.wanted = true, .node = "a 1\n", .pods = "{}", .warnings = {}};
  audit(nullptr, keep(folder, texts, mark));
  koord::testing::Tree::write_to(folder + "/pod.json", "else");
  audit(&auditor, keep(folder, texts, mark));
  audit(&auditor, keep(folder, texts, mark));
  audit(&auditor, withdraw(folder, mark));
  const std::string events = auditor.answer("", "", true).body;
  const auto event = [&](std::string_view what) {
    const std::string text = fmt::format(R"("reason":"TerwayQoS","message":"{}/{}")", folder, what);
    const std::size_t at = events.find(text);
    return at != std::string::npos && events.find(text, at + 1) == std::string::npos;
  };
  CHECK(event("pod.json written"));
  CHECK(event("pod.json removed"));
  CHECK(event("global_bps_config removed"));
  CHECK(events.find("global_bps_config written") == std::string::npos);
}

/// 0: where nothing can be written what is not there is not missed, and what is there is an error; 77: this
/// machine mounts nothing.
int remove_read_only(const std::string& folder) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
    return 77;
  const Round absent = remove(folder + "/qos");
  if (!absent.wrong.empty() || !absent.done.empty()) return 1;
  return remove(folder + "/held").wrong.empty() ? 2 : 0;
}

TEST_CASE("A file system that cannot be written refuses nothing where there is nothing",
          "[koordlet][terway]") {
  koord::testing::Tree tree;
  tree.write("terway/qos/", "");
  tree.write("terway/held/pod.json", "{}");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(remove_read_only(tree / "terway"));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    WARN("nothing can be mounted here");
  else
    CHECK(status == 0);
}

}  // namespace
}  // namespace koord::koordlet::terway_qos
