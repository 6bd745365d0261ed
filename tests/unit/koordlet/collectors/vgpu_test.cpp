// Virtual GPUs: HAMi-core's folders, and what is shown of what lies in them.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <filesystem>

#include "collectors.hpp"
#include "framework/audit/auditor.hpp"
#include "framework/devices/device_terms.hpp"
#include "framework/devices/vgpu_folders.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "rigs/fake_node.hpp"
#include "support/vgpu_file.hpp"

namespace koord::koordlet {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
constexpr std::string_view kLibrary = "/usr/local/vgpu/libvgpu.so";
const std::string kHome = "proc/1/root/usr/local/vgpu", kAll = kHome + "/containers";

TEST_CASE("Names of folders, and where they may lie") {
  CHECK(vgpu_home(kLibrary) == "/usr/local/vgpu");
  for (const std::string_view shared : {"libvgpu.so", "/libvgpu.so", "/usr/lib/libvgpu.so", "/etc/x",
                                        "/usr/local/../x/y", "/usr//lib/x", "/opt/x", ""})
    CHECK(vgpu_home(shared).empty());
  CHECK(vgpu_folder_name("0f3c-1", "main") == "0f3c-1_main");
  for (const std::string_view name : {"", "..", "a/b", "a b", ".x", "a_b"}) {
    CHECK(vgpu_folder_name(name, "main").empty());
    CHECK(vgpu_folder_name("u1", name).empty());
  }
}

TEST_CASE("A container's folder is made for all, without what was kept there, and nothing is followed") {
  koord::testing::Tree tree;
  const VgpuFolders folders(host::Root::below(tree.path()), kLibrary);
  CHECK_FALSE(folders.make("u1_c0").has_value());  // HAMi-core is not there
  tree.write(kHome + "/libvgpu.so", "");
  REQUIRE(folders.make("u1_c0").has_value());
  struct stat status {};
  REQUIRE(::stat((tree / (kAll + "/u1_c0")).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0777);
  // What lies above is root's alone, also where somebody has made it before.
  const auto mode_of_all = [&] {
    REQUIRE(::stat((tree / kAll).c_str(), &status) == 0);
    return status.st_mode & 07777;
  };
  CHECK(mode_of_all() == 0700);
  REQUIRE(::chmod((tree / kAll).c_str(), 0755) == 0);
  REQUIRE(folders.make("u1_c0").has_value());
  CHECK(mode_of_all() == 0700);
  tree.write(kAll + "/u1_c0/u1_c0.cache", "of an earlier one");
  tree.write(kAll + "/u1_c0/other", "");
  REQUIRE(folders.make("u1_c0").has_value());
  CHECK_FALSE(fs::exists(tree / (kAll + "/u1_c0/u1_c0.cache")));
  CHECK(fs::exists(tree / (kAll + "/u1_c0/other")));
  tree.write("secret/x", "");
  ::chmod((tree / "secret").c_str(), 0700);
  fs::create_symlink(tree / "secret", tree / (kAll + "/u2_c0"));
  CHECK_FALSE(folders.make("u2_c0").has_value());
  REQUIRE(::stat((tree / "secret").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("What a container puts there is read as it is, or not at all") {
  koord::testing::Tree tree;
  tree.write(kAll + "/", "");
  const VgpuFolders folders(host::Root::below(tree.path()), kLibrary);
  koord::testing::VgpuFile file;
  file.device(0, "GPU-a", 1000, 50);
  const auto put = [&](const std::string& path, const std::string& text) {
    tree.write(kAll + "/" + path, text);
  };
  CHECK(folders.read("none_c0").error().code() == Code::not_found);
  put("empty_c0/", "");
  CHECK(folders.read("empty_c0").error().code() == Code::not_found);
  put("lib_c0/libvgpu.so.cache", file.bytes);
  CHECK(folders.read("lib_c0").error().code() == Code::not_found);
  put("good_c0/good_c0.cache", file.bytes);
  REQUIRE(folders.read("good_c0").has_value());
  CHECK(folders.read("good_c0")->devices[0].uuid == "GPU-a");
  put("short_c0/x.cache", "short");
  CHECK(folders.read("short_c0").error().code() == Code::invalid);
  // Links, pipes and folders of that name: none is opened, waited for, or followed.
  for (const char* const name : {"link_c0", "pipe_c0", "dir_c0"}) put(std::string(name) + "/", "");
  fs::create_symlink(tree / (kAll + "/good_c0/good_c0.cache"), tree / (kAll + "/link_c0/x.cache"));
  REQUIRE(::mkfifo((tree / (kAll + "/pipe_c0/x.cache")).c_str(), 0666) == 0);
  put("dir_c0/x.cache/", "");
  for (const char* const name : {"link_c0", "pipe_c0", "dir_c0"}) {
    INFO(name);
    CHECK_FALSE(folders.read(name).has_value());
    CHECK(folders.read(name).error().code() != Code::not_found);
  }
  fs::create_symlink(tree / (kAll + "/good_c0"), tree / (kAll + "/linked_c0"));
  CHECK_FALSE(folders.read("linked_c0").has_value());
  put("huge_c0/x.cache", file.bytes);
  fs::resize_file(tree / (kAll + "/huge_c0/x.cache"), std::uintmax_t{4} << 30);  // a hole
  CHECK(folders.read("huge_c0").has_value());
}

TEST_CASE("Folders of pods that have gone go, later; others stay") {
  koord::testing::Tree tree;
  const std::string gone = "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f6_c0",
                    still = "0123456789abcdef0123456789abcdef_main.1",  // a static pod's
      here = "11111111-1b2c-4d5e-8f90-a1b2c3d4e5f6_c0", deep = "22222222-1b2c-4d5e-8f90-a1b2c3d4e5f6_c0";
  for (const std::string& name : {gone, still, here})
    tree.write(fmt::format("{}/{}/x.cache", kAll, name), "");
  tree.write(fmt::format("{}/{}/a/b", kAll, deep), "");
  const std::string others[] = {"others",
                                "my_data",
                                "gone_c0",
                                "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f6",
                                "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f6_",
                                "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f6_a_b",
                                "0F3C2A10-1B2C-4D5E-8F90-A1B2C3D4E5F6_c0",
                                "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f_c0",
                                "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5g6_c0",
                                "0123456789abcdef-123456789abcdef_c0"};
  for (const std::string& name : others) tree.write(fmt::format("{}/{}/x", kAll, name), "");
  const VgpuFolders folders(host::Root::below(tree.path()), kLibrary);
  const auto is_there = [](std::string_view uid) { return uid.starts_with("11111111-"); };
  const auto exists = [&](const std::string& path) {
    return fs::exists(tree / fmt::format("{}/{}", kAll, path));
  };
  const WallTime now{std::chrono::system_clock::now().time_since_epoch()};
  CHECK(folders.sweep(is_there, now).empty());  // of this minute
  CHECK(exists(gone));
  auto taken = folders.sweep(is_there, now + std::chrono::minutes(6));
  std::ranges::sort(taken);
  CHECK(taken == std::vector<std::string>{still, gone});
  CHECK_FALSE(exists(gone));
  CHECK_FALSE(exists(still));
  CHECK(exists(here + "/x.cache"));
  CHECK(exists(deep + "/a/b"));
  for (const std::string& name : others) {
    INFO(name);
    CHECK(exists(name + "/x"));
  }
}

struct Rig {
  testing::FakeNode node{host::CgroupVersion::v2};
  boost::asio::io_context loop;
  SystemClock clock{loop.get_executor()};
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  host::CgroupFs fs = node.cgroups();
  WorkerPool workers{1};
  TaskGroup tasks{loop.get_executor()};
  Auditor auditor{{.log_dir = node.tree() / "audit"}, clock, Logger(log, clock)};
  std::optional<Sampler> sampler;
  std::shared_ptr<Inventory> now = testing::inventory({testing::pod("u1", Qos::ls, 2)});
  MonoTime at = clock.mono();

  explicit Rig(bool on = true) {
    SamplerConfig config;
    config.hami_library = kLibrary;
    config.is_on = [on](std::string_view gate) { return on && gate == "HamiCoreVGPUMonitor"; };
    sampler.emplace(config, collector_table(), fs, node.root(), series, registry, Logger(log, clock),
                    KernelCounters{}, CollectorLoop{&tasks, &clock, &workers, nullptr, &auditor});
  }
  ~Rig() {
    asio::co_spawn(loop, tasks.stop(clock, seconds(1)), [](std::exception_ptr) {});
    loop.restart();
    loop.run();
  }
  /// A tick that asks, and the one that has the answer.
  void ask() {
    for (int i = 0; i < 2; ++i) {
      at += seconds(10);
      sampler->tick(now, at, clock.now());
      loop.restart();
      while (tasks.size() > 0) loop.run_one();
    }
  }
  bool shows(std::string_view line) const { return registry.exposition().find(line) != std::string::npos; }
};

TEST_CASE("A folder that was taken away is an event of the audit") {
  Rig rig;
  const std::string gone = "0f3c2a10-1b2c-4d5e-8f90-a1b2c3d4e5f6_c0";
  rig.node.tree().write(fmt::format("{}/{}/x.cache", kAll, gone), "");
  const std::string folder = rig.node.tree() / fmt::format("{}/{}", kAll, gone);
  rig.ask();
  CHECK(fs::exists(folder));
  CHECK(rig.auditor.answer("", "", true).body.find(gone) == std::string::npos);
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(6));
  rig.ask();
  CHECK_FALSE(fs::exists(folder));
  rig.ask();
  const std::string events = rig.auditor.answer("", "", true).body;
  const std::string text = fmt::format(
      R"("reason":"HamiCoreVGPUMonitor","message":"/usr/local/vgpu/containers/{} removed: its pod has gone")",
      gone);
  REQUIRE(events.find(text) != std::string::npos);
  CHECK(events.find(text) == events.rfind(text));
}

TEST_CASE("What containers use of their parts, under the names of HAMi's monitor") {
  Rig rig;
  koord::testing::VgpuFile file;
  file.device(0, "GPU-a", 1000, 50);
  file.device(1, "GPU-made-up", 1000, 50);  // none that the pod was given
  file.process(0, 1, 0, 1, 2, 3, 6, 40);
  file.last_kernel(1);
  const auto pod = testing::pod("u1", Qos::ls, 2);
  DeviceTerms terms;
  terms.gpus = {{.minor = 0, .id = "GPU-a"}};
  pod->terms.put(std::make_shared<const DeviceTerms>(terms));
  rig.now = testing::inventory({pod});
  rig.node.tree().write(kAll + "/u1_c0/u1_c0.cache", file.bytes);
  rig.node.tree().write(kAll + "/u1_c1/u1_c1.cache", "lies");
  rig.ask();
  const std::string labels =
      R"({namespace="default",pod="name-of-u1",container="c0",vdevice_index="0",device_uuid="GPU-a"} )";
  for (const auto& [name, value] :
       {std::pair("hami_vgpu_memory_used_bytes", "6"), std::pair("hami_vgpu_memory_limit_bytes", "1000"),
        std::pair("hami_container_device_memory_bytes", "6"),
        std::pair("hami_container_device_utilization_ratio", "40"),
        std::pair("hami_vgpu_memory_context_bytes", "1"), std::pair("hami_vgpu_memory_module_bytes", "2"),
        std::pair("hami_vgpu_memory_buffer_bytes", "3")})
    CHECK(rig.shows(fmt::format("{}{}{}\n", name, labels, value)));
  CHECK(rig.shows("hami_container_last_kernel_elapsed_seconds{"));
  CHECK_FALSE(rig.shows("GPU-made-up"));
  CHECK(rig.log.contains("u1_c1: HAMi-core's region: 4 bytes are too few"));
  const std::size_t told = rig.log.count(LogLevel::warn);
  rig.ask();
  CHECK(rig.log.count(LogLevel::warn) == told);  // once
  rig.now = testing::inventory({});
  rig.ask();
  rig.ask();
  CHECK_FALSE(rig.shows("container=\"c0\""));

  Rig off(false);
  off.node.tree().write(kAll + "/u1_c0/u1_c0.cache", file.bytes);
  off.ask();
  CHECK_FALSE(off.shows("hami_vgpu_memory_used_bytes{"));
}

}  // namespace
}  // namespace koord::koordlet
