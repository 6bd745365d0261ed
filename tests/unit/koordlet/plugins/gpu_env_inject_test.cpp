// GPUEnvInject: upstream's rows (gpu_test.go), and annotations that lie.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "framework/devices/gpu_isolation.hpp"
#include "rigs/device_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using Rig = testing::DeviceRig;

constexpr std::string_view kHami =
    R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"50",)"
    R"("koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"50"}}]})";
using Pairs = std::vector<RuntimePair>;

TEST_CASE("Upstream's rows") {
  struct Row {
    std::string_view what, allocated;
    bool hami;
    Pairs env;
    std::size_t mounts;
  };
  const Row rows[] = {
      {"two GPUs", R"({"gpu":[{"minor":0},{"minor":1}]})", false, {{"NVIDIA_VISIBLE_DEVICES", "0,1"}}, 0},
      {"none", R"({"fpga":[{"minor":0},{"minor":1}]})", false, {}, 0},
      {"a part, with HAMi",
       kHami,
       true,
       {{"NVIDIA_VISIBLE_DEVICES", "1"},
        {"CUDA_DEVICE_MEMORY_LIMIT", "17179869184"},
        {"CUDA_DEVICE_SM_LIMIT", "50"},
        {"LD_PRELOAD", "/usr/local/vgpu/libvgpu.so"}},
       2},
      {"a part, without", kHami, false, {{"NVIDIA_VISIBLE_DEVICES", "1"}}, 0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    const Verdict verdict = rig.create(row.allocated, row.hami);
    CHECK(verdict.env == row.env);
    CHECK(verdict.mounts.size() == row.mounts);
    CHECK(rig.told.empty());
    if (row.mounts > 0) {
      CHECK(verdict.mounts[0] == RuntimeMount{.source = "/usr/local/vgpu/libvgpu.so",
                                              .destination = "/usr/local/vgpu/libvgpu.so",
                                              .options = {"rbind", "ro"}});
      CHECK(verdict.mounts[1].destination == "/tmp/vgpulock");
    }
  }
}

TEST_CASE("With the vGPU monitor HAMi-core keeps its numbers in a folder of the container's own") {
  Rig rig;
  if (!rig.gates.set("HamiCoreVGPUMonitor=true")) throw std::runtime_error("no such gate");
  rig.prepared = Result<>();
  Verdict verdict = rig.create(kHami, true);
  CHECK(verdict.env.back() == RuntimePair{"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/usr/local/vgpu/u1_c.cache"});
  REQUIRE(verdict.mounts.size() == 3);
  CHECK(verdict.mounts[0] == RuntimeMount{.source = "/usr/local/vgpu/containers/u1_c",
                                          .destination = "/usr/local/vgpu",
                                          .options = {"rbind", "nosuid", "nodev"}});
  CHECK(verdict.mounts[1].destination == "/usr/local/vgpu/libvgpu.so");
  CHECK(rig.create(kHami, false).mounts.empty());
  // A folder that cannot be made is none that is mounted; HAMi-core works without.
  rig.prepared = Error(Code::forbidden, "/usr/local/vgpu/containers: Read-only file system");
  verdict = rig.create(kHami, true);
  CHECK(verdict.mounts.empty());
  CHECK(rig.told.back().ends_with("/usr/local/vgpu/containers: Read-only file system"));
  // A library among others' must not hide these.
  Rig shared;
  if (!shared.gates.set("HamiCoreVGPUMonitor=true")) throw std::runtime_error("no such gate");
  shared.node.isolation.library = "/usr/lib/libvgpu.so";
  CHECK(shared.create(kHami, true).mounts.size() == 2);
  CHECK(shared.told == std::vector<std::string>{
                           "its use of GPUs is not watched: HAMi-core's library lies in a folder of others"});
}

TEST_CASE("A GPU that is not there, or somebody else's, is not given; and none is not all") {
  Rig rig;
  rig.gpus({0, 1});
  CHECK(rig.create(R"({"gpu":[{"minor":0},{"minor":7}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "0"}});
  CHECK(rig.told ==
        std::vector<std::string>{"a GPU of its annotation is not given: GPU 7 is not reported by this node"});
  CHECK(rig.create(R"({"gpu":[{"minor":7}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "void"}});
  CHECK(rig.told.size() == 1);  // each once for a pod
  rig.other("holder", {.gpus = {{.minor = 1, .memory_ratio = 60}}});
  CHECK(rig.create(R"({"gpu":[{"minor":1}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "void"}});
  CHECK(rig.told.back() ==
        "a GPU of its annotation is not given: of GPU 1 other pods have 60%, and this one says 100%");
  CHECK(rig.create(R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory-ratio":"40"}}]})").env ==
        Pairs{{"NVIDIA_VISIBLE_DEVICES", "1"}});
  // What is not known in whole is no proof that it is not there.
  rig.node.gpus_complete = false;
  CHECK(rig.create(R"({"gpu":[{"minor":7}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "7"}});
}

TEST_CASE("By CDI's names, where the runtime takes them and the host has them for all") {
  using Names = std::vector<std::string>;
  const std::string_view both = R"({"gpu":[{"minor":0},{"minor":1}]})";
  struct Row {
    std::string_view what;
    bool gate, takes;
    std::string_view vendor, id;
    Names named;
  };
  const Names all = {"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-b"};
  const Row rows[] = {
      {"all is well", true, true, "nvidia", "GPU-b", all},
      {"nobody says whose they are", true, true, "", "", all},
      {"the gate is off", false, true, "nvidia", "GPU-b", {}},
      {"the runtime takes none", true, false, "nvidia", "GPU-b", {}},
      {"another vendor's", true, true, "huawei", "GPU-b", {}},
      {"the file is of another card", true, true, "nvidia", "GPU-c", {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    if (row.gate && !rig.gates.set("CDIDeviceInject=true")) throw std::runtime_error("no such gate");
    rig.takes_cdi = row.takes;
    rig.gpus({0, 1, 2});
    rig.node.devices[1].id = row.id;
    rig.node.gpus.vendor = row.vendor;
    rig.node.cdi.gpus = {{0, "nvidia.com/gpu=0"}, {1, "nvidia.com/gpu=GPU-b"}, {7, "nvidia.com/gpu=7"}};
    const Verdict verdict = rig.create(both);
    CHECK(verdict.cdi_devices == row.named);
    CHECK(verdict.env == Pairs{{"NVIDIA_VISIBLE_DEVICES", row.named.empty() ? "0,1" : "void"}});
    // One has no name: all go the other way. One that is not the pod's has its name for others.
    CHECK(rig.create(R"({"gpu":[{"minor":0},{"minor":2}]})").cdi_devices.empty());
    CHECK(rig.create(R"({"gpu":[{"minor":0},{"minor":2}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "0,2"}});
    CHECK(rig.create(R"({"gpu":[{"minor":7}]})").cdi_devices.empty());
    CHECK(rig.create(R"({"gpu":[{"minor":7}]})").env == Pairs{{"NVIDIA_VISIBLE_DEVICES", "void"}});
    rig.other("holder", {.gpus = {{.minor = 1, .memory_ratio = 60}}});
    const bool by_names = row.gate && row.takes && row.vendor != "huawei";
    CHECK(rig.create(both).cdi_devices == (by_names ? Names{"nvidia.com/gpu=0"} : Names()));
    // Not known in whole: the annotation's word gives no name of CDI.
    rig.node.gpus_complete = false;
    CHECK(rig.create(R"({"gpu":[{"minor":7}]})").cdi_devices.empty());
  }
}

TEST_CASE("By CDI's names the driver comes with any runtime, and HAMi-core with it") {
  Rig rig;
  if (!rig.gates.set("CDIDeviceInject=true")) throw std::runtime_error("no such gate");
  rig.takes_cdi = true;
  rig.gpus({1});
  rig.node.cdi.gpus = {{1, "nvidia.com/gpu=1"}};
  const Verdict verdict = rig.create(kHami, true, "runc");
  CHECK(verdict.cdi_devices.size() == 1);
  CHECK(verdict.env.size() == 4);
  CHECK(rig.told.empty());
}

TEST_CASE("Annotations of nonsense give nothing") {
  for (const std::string_view text :
       {R"({"gpu":[{"minor":-1}]})", R"({"gpu":{}})", "[", R"({"gpu":[{"minor":"0"}]})"}) {
    INFO(text);
    Rig rig;
    CHECK(rig.create(text).env.empty());
    CHECK_FALSE(rig.create(text).warnings.empty());
  }
  std::string many = R"({"gpu":[)";
  for (int i = 0; i < 200; ++i) many += fmt::format("{}{{\"minor\":{}}}", i > 0 ? "," : "", i);
  Rig rig;
  CHECK(rig.create(many + "]}").env.empty());
}

TEST_CASE("The library is not preloaded where the container could not start with it") {
  struct Row {
    std::string_view what, missing, handler, allocated;
    bool known;
    std::string_view why;  // empty: it is preloaded
  };
  const Row rows[] = {
      {"NVIDIA's runtime", "", "nvidia", kHami, true, ""},
      {"the default, which may be NVIDIA's", "", "", kHami, true, ""},
      {"another one", "", "runc", kHami, true,
       "GPU isolation by HAMi-core is not set up: its runtime class runc brings no NVIDIA driver into "
       "containers"},
      {"no driver", "the host has no NVIDIA driver", "nvidia", kHami, true,
       "GPU isolation by HAMi-core is not set up: the host has no NVIDIA driver"},
      {"not looked at", "", "nvidia", kHami, false,
       "GPU isolation by HAMi-core is not set up: the host was not looked at yet"},
      {"no memory", "", "nvidia",
       R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory-ratio":"50"}}]})", true,
       "GPU isolation by HAMi-core is not set up: the scheduler's annotation has no gpu-memory"},
      {"no ratio", "", "nvidia", R"({"gpu":[{"minor":1}]})", true,
       "GPU isolation by HAMi-core: the scheduler's annotation has no gpu-memory-ratio"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    rig.node.isolation.missing = row.missing;
    rig.known = row.known;
    const Verdict verdict = rig.create(row.allocated, true, std::string(row.handler));
    CHECK(verdict.env.size() == (row.why.empty() ? 4 : 1));
    CHECK(verdict.mounts.empty() == !row.why.empty());
    CHECK(rig.told ==
          (row.why.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(row.why)}));
  }
  Rig rig;  // a whole GPU needs no isolation
  CHECK(rig.create(R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory-ratio":"100"}}]})", true,
                   "runc")
            .env.size() == 1);
  CHECK(rig.told.empty());
}

TEST_CASE("What HAMi-core needs is looked for on the host") {
  koord::testing::Tree tree{{"proc/driver/nvidia/version", "NVRM"},
                            {"proc/1/root/usr/local/vgpu/libvgpu.so", ""},
                            {"proc/1/root/tmp/vgpulock/", ""}};
  const host::Root root = host::Root::below(tree.path());
  const std::string library = "/usr/local/vgpu/libvgpu.so";
  CHECK(look_for_isolation(root, library).missing.empty());
  CHECK(look_for_isolation(root, "libvgpu.so").missing ==
        "--hami-core-library-directory-path: libvgpu.so is no absolute path");
  tree.remove("proc/1/root/tmp/vgpulock");
  CHECK(look_for_isolation(root, library).missing == "the host has no /tmp/vgpulock");
  tree.remove("proc/1/root/usr");
  CHECK(look_for_isolation(root, library).missing == "the host has no /usr/local/vgpu/libvgpu.so");
  tree.remove("proc/driver");
  CHECK(look_for_isolation(root, library).missing == "the host has no NVIDIA driver");
}

}  // namespace
}  // namespace koord::koordlet
