// What vendors' tools print, and which devices that is. Outputs are laid out as the tools lay them out.
#include <catch2/catch.hpp>

#include "machine_rig.hpp"
#include "vendors/output.hpp"

namespace koord::device_daemon {
namespace {

using api::XpuDevice;

std::string shown(const XpuDevice& device) {
  std::string resources;
  for (const auto& [name, amount] : device.resources) resources += fmt::format(" {}={}", name.view(), amount);
  return fmt::format(
      "{} {} {} {} on {} {} node {} {}{}", device.vendor, device.model, device.uuid, device.minor,
      device.topology->bus_id, device.topology->pcie_id, device.topology->node_id,
      device.status->healthy ? "healthy" : device.status->err_code + ": " + device.status->err_message,
      resources);
}

constexpr const char* kMapping =
    "\tNPU ID                         Chip ID                        Chip Logic ID                  Chip "
    "Name\n"
    "\t0                              0                              0                              Ascend "
    "910B3\n"
    "\t0                              1                              -                              Mcu\n";
std::string card_list(std::initializer_list<int> cards) {
  std::string text = fmt::format("\tTotal Count                    : {}\n\n", cards.size());
  for (const int card : cards)
    text +=
        fmt::format("\tNPU ID                         : {}\n\tChip Count                     : 1\n\n", card);
  return text;
}
std::string board(std::string_view bus, int faults = 0) {
  return fmt::format(
      "\tNPU ID                         : 0\n\tProduct Name                   : IT21HMDA\n"
      "\tPCIe Bus Info                  : {}\n\tChip Fault                     : {}\n",
      bus, faults);
}
constexpr const char* kMemory =
    "\tNPU ID                         : 0\n\tDDR Capacity(MB)               : 0\n"
    "\tHBM Capacity(MB)               : 65536\n\tHBM Clock Speed(MHz)           : 1600\n";

/// Two NPUs, that npu-smi numbers 0 and 4.
void set_up_huawei(testing::Rig& rig) {
  rig.card("0000:c1:00.0", "19e5", "d802", 1, "pci0000:c0");
  rig.card("0000:41:00.0", "19e5", "d802", -1, "pci0000:40");
  for (const char* file : {"davinci0", "davinci10", "davinci_manager"})
    rig.tree.write(fmt::format("dev/{}", file), "");
  rig.tools.says = {{"npu-smi info -m", kMapping},
                    {"npu-smi info -l", card_list({0, 4})},
                    {"npu-smi info -t common -i 0", "\tAicore Count                   : 20\n"},
                    {"npu-smi info -t board -i 0", board("0000:C1:00.0")},
                    {"npu-smi info -t board -i 4", board("0000:41:00.0", 2)},
                    {"npu-smi info -t memory -i 0", kMemory},
                    {"npu-smi info -t memory -i 4", kMemory}};
}

TEST_CASE("Huawei's NPUs") {
  testing::Rig rig;
  set_up_huawei(rig);
  const auto found = rig.look("huawei");
  REQUIRE(found.has_value());
  CHECK(found->failures.empty());
  REQUIRE(found->devices.size() == 2);
  CHECK(shown(found->devices[0]) ==
        "huawei Ascend-910B3 npu-0-0 0 on 0000:c1:00.0 pci0000:c0 node 1 healthy huawei.com/npu-core=20 "
        "huawei.com/npu-cpu=7 huawei.com/npu-dvpp=100 koordinator.sh/gpu-memory=65536Mi");
  CHECK(shown(found->devices[1]) ==
        "huawei Ascend-910B3 npu-4-10 10 on 0000:41:00.0 pci0000:40 node 0 chip error: NPU index 4 has 2 "
        "chip faults "
        "huawei.com/npu-core=20 huawei.com/npu-cpu=7 huawei.com/npu-dvpp=100 "
        "koordinator.sh/gpu-memory=65536Mi");
}

TEST_CASE("Huawei's models have their cores, CPUs and memory") {
  struct Row {
    std::string_view model;
    const char *cores, *cpus, *memory;
  };
  const Row rows[] = {{"310P3", "8", "5", "21527Mi"},  {"910B", "20", "0", "65536Mi"},
                      {"910B2", "20", "6", "65536Mi"}, {"910B3", "20", "7", "65536Mi"},
                      {"910B4", "20", "7", "65536Mi"}, {"910A", "20", "5", "65536Mi"}};
  for (const Row& row : rows) {
    INFO(row.model);
    testing::Rig rig;
    set_up_huawei(rig);
    rig.tools.says["npu-smi info -m"] = fmt::format("NPU ID  Chip Name\n0  Ascend {}\n", row.model);
    rig.tools.says["npu-smi info -t cpu-num-cfg -i 0"] = "\tAI CPU number : 5\n\tcontrol CPU number : 1\n";
    if (row.model == "310P3") {
      rig.tools.says.erase("npu-smi info -t common -i 0");
      rig.tools.says.erase("npu-smi info -t memory -i 0");
    }
    const auto found = rig.look("huawei");
    REQUIRE(found.has_value());
    const auto& resources = found->devices.at(0).resources;
    CHECK(*resources.find("huawei.com/npu-core") == row.cores);
    CHECK(*resources.find("huawei.com/npu-cpu") == row.cpus);
    CHECK(*resources.find("koordinator.sh/gpu-memory") == row.memory);
  }
}

TEST_CASE("One card of Huawei's that is not known costs that card") {
  testing::Rig rig;
  set_up_huawei(rig);
  SECTION("its board is not told") { rig.tools.says.erase("npu-smi info -t board -i 4"); }
  SECTION("its bus is none") { rig.tools.says["npu-smi info -t board -i 4"] = board("../../etc"); }
  SECTION("it has no memory") { rig.tools.says["npu-smi info -t memory -i 4"] = "HBM Capacity(MB) : 0\n"; }
  SECTION("its memory is no number") {
    rig.tools.says["npu-smi info -t memory -i 4"] = "HBM Capacity(MB) : NA\n";
  }
  SECTION("there is no file for it") { rig.tree.remove("dev/davinci10"); }
  const auto found = rig.look("huawei");
  REQUIRE(found.has_value());
  CHECK(found->devices.size() == 1);
  REQUIRE(found->failures.size() == 1);
  CHECK_THAT(found->failures[0], Catch::StartsWith("card 4: "));
}

constexpr const char* kMluList =
    "Card 0: MLU370-X8    (UUID: 5c4a0001-0000-0000-0000-000000000000)\n"
    "Card 1: MLU370-X8    (UUID: 5c4a0002-0000-0000-0000-000000000000)\n";
std::string mlu(std::string_view uuid, std::string_view bus, std::string_view state,
                bool with_memory = true) {
  return fmt::format(
      "Card 0\n    Product Name                   : MLU370-X8\n    UUID                           : {}\n"
      "    Device                         : {}\n    NUMA node id                   : 1\n{}"
      "    PCI                            :\n        Device ID                      : 290\n"
      "        Domain ID                      : 0000\n        Bus num                        : {}\n"
      "        Device                         : 0a\n        Function                       : 0\n",
      uuid, state,
      with_memory ? "    Physical Memory Usage          :\n        Total                      : 24576 MiB\n"
                    "        Used                       : 0 MiB\n"
                  : "",
      bus);
}

TEST_CASE("Cambricon's MLUs") {
  testing::Rig rig;
  rig.card("0000:3d:0a.0", "cabc", "0370", 0);
  rig.tools.says = {{"cnmon -l", kMluList},
                    {"cnmon info -c 0", mlu("u-0", "3d", "Good")},
                    {"cnmon info -c 1", mlu("u-1", "3e", "Heartbeat lost", false)},
                    {"cnmon info", "    Physical Memory Usage :\n        Total : 24576 MiB\n"}};
  const auto found = rig.look("cambricon");
  REQUIRE(found.has_value());
  REQUIRE(found->devices.size() == 2);
  CHECK(shown(found->devices[0]) ==
        "cambricon MLU370-X8 u-0 0 on 0000:3d:0a.0 pci0000:3a node 1 healthy koordinator.sh/gpu-core=100 "
        "koordinator.sh/gpu-memory=24576Mi");
  CHECK(shown(found->devices[1]) ==
        "cambricon MLU370-X8 u-1 1 on 0000:3e:0a.0  node 1 : Device is unhealthy, status: Heartbeat lost "
        "koordinator.sh/gpu-core=100 koordinator.sh/gpu-memory=24576Mi");
}

std::string xpu(std::string_view bus) {
  return fmt::format("{} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 98304 19 20 P800 22\n", bus);
}

TEST_CASE("Baidu's XPUs") {
  testing::Rig rig;
  rig.card("0000:0d:00.0", "1d22", "3684", 1);
  rig.tools.says = {{"xpu_smi -m", xpu("0000:0d:00.0") + xpu("0000:0e:00.0") + xpu("0000:0f:00.0")},
                    {"xpu_smi -m -d /dev/xpu0", xpu("0000:0d:00.0")},
                    {"xpu_smi -m -d /dev/xpu1", "0000:0e:00.0 1 2\n"}};
  const auto found = rig.look("baidu");
  REQUIRE(found.has_value());
  REQUIRE(found->devices.size() == 1);
  CHECK(shown(found->devices[0]) ==
        "kunlun P800 xpu-0 0 on 0000:0d:00.0 pci0000:3a node 1 healthy koordinator.sh/gpu-core=100 "
        "koordinator.sh/gpu-memory=98304Mi");
  REQUIRE(found->failures.size() == 2);
  CHECK_THAT(found->failures[0],
             Catch::StartsWith("card 1: xpu_smi: -m -d /dev/xpu1: fewer than 22 columns: it printed"));
  CHECK_THAT(found->failures[1], Catch::StartsWith("card 2: xpu_smi: exit status 1"));
}

TEST_CASE("MetaX's GPUs, with parts of GPUs between them") {
  testing::Rig rig;
  rig.card("0000:2a:00.0", "9999", "4000", 0);
  const auto hardware = [](int card, std::string_view bus) {
    return fmt::format(
        "GPU#{} MXC500 {}\nSGPU#{} x 0000:ff:00.0\n    Model Name       : MXC500\n"
        "    Memory Capacity  : 64GB\n",
        card, bus, card);
  };
  rig.tools.says = {
      {"mx-smi --show-hwinfo", hardware(0, "0000:2a:00.0") + hardware(1, "0000:2b:00.0")},
      {"mx-smi --list",
       "GPU#0 MetaX C500 0000:2a:00.0 (UUID: GPU-aa)\nSGPU#0 a b c (UUID: GPU-no)\n"
       "GPU#10 MetaX C500 0000:3a:00.0 (UUID: GPU-ten)\nGPU#1 MetaX C500 0000:2b:00.0 (UUID: GPU-bb)\n"},
      {"mx-smi --show-hwinfo -i 0", hardware(0, "0000:2a:00.0")},
      {"mx-smi --show-hwinfo -i 1", hardware(1, "0000:2b:00.0")},
      {"mx-smi --count-ecc -i 0",
       "SRAM Correctable : 7\nSRAM Uncorrectable : 2\nDRAM Uncorrectable : 1\nDouble Bit ECC : 0\n"}};
  const auto found = rig.look("metax");
  REQUIRE(found.has_value());
  CHECK(found->failures.empty());
  REQUIRE(found->devices.size() == 2);
  CHECK(shown(found->devices[0]) ==
        "metax MXC500 GPU-aa 0 on 0000:2a:00.0 pci0000:3a node 0 ECC error: MX index 0 has 3 SRAM/DRAM "
        "Uncorrectable or "
        "Double Bit  ECC errors koordinator.sh/gpu-core=100 koordinator.sh/gpu-memory=64Gi");
  CHECK(shown(found->devices[1]) ==
        "metax MXC500 GPU-bb 1 on 0000:2b:00.0  node 0 healthy koordinator.sh/gpu-core=100 "
        "koordinator.sh/gpu-memory=64Gi");
}

TEST_CASE("NVIDIA's GPUs, whose minors the driver knows, and Iluvatar's") {
  constexpr std::string_view kQuery =
      "--query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id --format=csv,noheader";
  testing::Rig rig;
  rig.card("0000:3b:00.0", "10de", "20b5", 1);
  rig.tree.write("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: x\nDevice Minor: \t 5\n");
  rig.tools.says = {
      {fmt::format("nvidia-smi {}", kQuery),
       "0, GPU-1f, NVIDIA A100 80GB PCIe, 81920 MiB, 00000000:3B:00.0\n1, GPU-2f, [N/A], [Unknown Error], "
       "00000000:3C:00.0\n"},
      {fmt::format("ixsmi {}", kQuery), "0, GPU-3f, Iluvatar BI-V150, 32768 MiB, 00000000:4B:00.0\n"}};
  auto found = rig.look("nvidia");
  REQUIRE(found.has_value());
  REQUIRE(found->devices.size() == 1);
  CHECK(shown(found->devices[0]) ==
        "nvidia NVIDIA-A100-80GB-PCIe GPU-1f 5 on 0000:3b:00.0 pci0000:3a node 1 healthy "
        "koordinator.sh/gpu-core=100 "
        "koordinator.sh/gpu-memory=81920Mi");
  REQUIRE(found->failures.size() == 1);
  CHECK_THAT(found->failures[0], Catch::Contains("memory is no number of MiB"));
  found = rig.look("iluvatar");
  REQUIRE(found.has_value());
  REQUIRE(found->devices.size() == 1);
  CHECK(shown(found->devices[0]) ==
        "iluvatar Iluvatar-BI-V150 GPU-3f 0 on 0000:4b:00.0  node 0 healthy koordinator.sh/gpu-core=100 "
        "koordinator.sh/gpu-memory=32768Mi");
}

TEST_CASE("A tool that says nothing, or nonsense, is its vendor's error") {
  for (const std::string& text : {std::string(), std::string("\n\n"), std::string("no devices were found\n"),
                                  std::string(1 << 20, 'x'), std::string("\0\xff\n\0", 4)})
    for (const Vendor& vendor : all_vendors()) {
      INFO(vendor.name << ": " << text.substr(0, 40));
      testing::Rig rig;
      for (const char* command :
           {"npu-smi info -m", "npu-smi info -l", "cnmon -l", "xpu_smi -m", "mx-smi --show-hwinfo",
            "mx-smi --list",
            "nvidia-smi --query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id --format=csv,noheader",
            "ixsmi --query-gpu=index,uuid,gpu_name,memory.total,pci.bus_id --format=csv,noheader"})
        rig.tools.says[command] = text;
      const auto found = rig.look(vendor.name);
      CHECK((found.has_error() || found->devices.empty()));
      if (found.has_error()) CHECK(found.error().message().size() < 1024);
    }
}

TEST_CASE("Vendors know their cards on the bus") {
  struct Row {
    std::uint16_t vendor, product;
    std::string_view name;
  };
  for (const Row& row : {Row{0x19e5, 0xd802, "huawei"},
                         {0x19e5, 0x1710, ""},
                         {0x19e5, 0x1711, ""},
                         {0xcabc, 1, "cambricon"},
                         {0x1d22, 1, "baidu"},
                         {0x9999, 1, "metax"},
                         {0x1e3e, 1, "iluvatar"},
                         {0x10de, 1, "nvidia"},
                         {0x8086, 1, ""}}) {
    std::string owner;
    for (const Vendor& vendor : all_vendors())
      if (vendor.owns({"0000:00:00.0", row.vendor, row.product})) owner += vendor.name;
    CHECK(owner == row.name);
  }
}

TEST_CASE("A model's name is one that a label may have") {
  CHECK(model_name("NVIDIA A100 80GB PCIe") == "NVIDIA-A100-80GB-PCIe");
  CHECK(model_name(" (x)_y. ") == "x-_y");
  CHECK(model_name(std::string(100, 'a')).size() == 63);
  CHECK(model_name("\xff\xff").empty());
}

}  // namespace
}  // namespace koord::device_daemon
