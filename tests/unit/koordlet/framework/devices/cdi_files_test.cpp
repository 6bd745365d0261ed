// CDI files: as vendors' tools write them, and ones that lie, are half written or somebody else's.
#include "framework/devices/cdi_files.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

/// As nvidia-ctk cdi generate writes one, shortened: by number and by UUID, with a MIG instance and all.
constexpr std::string_view kNvidia = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
    - path: /dev/dri/card0
- name: GPU-aaaa
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
- name: "1"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: /dev/nvidia0
- name: "2:0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia2
    - path: /dev/nvidia-caps/nvidia-cap30
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia1
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  deviceNodes:
  - path: /dev/nvidiactl
  - path: /dev/nvidia-uvm
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache]
)";
constexpr std::string_view kRdma =
    R"({"cdiVersion":"0.5.0","kind":"nvidia.com/net-rdma","devices":[{"name":"0000:3b:00.2","containerEdits":)"
    R"({"deviceNodes":[{"path":"/dev/infiniband/uverbs2"},{"path":"/dev/infiniband/rdma_cm"}]}},)"
    R"({"name":"all","containerEdits":{"deviceNodes":[{"path":"/dev/infiniband/uverbs0"},)"
    R"({"path":"/dev/infiniband/uverbs2"}]}}]})";
using Gpus = std::map<std::int32_t, std::string>;

struct Rig {
  testing::Tree tree{{"etc/cdi/", ""}, {"run/cdi/", ""}};
  CdiFiles files{tree.path(), {"/etc/cdi", "/var/run/cdi/"}};
  std::vector<std::string> problems;
  Rig() {
    for (const char* folder : {"etc/cdi", "run/cdi"}) ::chmod((tree / folder).c_str(), 0755);
  }
  void write(const std::string& name, std::string_view text) {
    tree.write(name, std::string(text));
    ::chmod((tree / name).c_str(), 0644);
  }
  CdiNames read() {
    problems.clear();
    return files.read(problems);
  }
};

std::string gpu(std::string_view name, std::string_view path) {
  return fmt::format(
      R"({{"kind":"nvidia.com/gpu","devices":[{{"name":"{}","containerEdits":{{"deviceNodes":[{{"path":"{}"}}]}}}}]}})",
      name, path);
}

TEST_CASE("Whole cards have names: by what the name gives, and by UUID where there are several") {
  Rig rig;
  CHECK(rig.read() == CdiNames{});
  rig.write("etc/cdi/nvidia.yaml", kNvidia);
  rig.write("run/cdi/rdma.json", kRdma);
  rig.write("etc/cdi/notes.txt", "no such file");
  rig.write("etc/cdi/.nvidia.yaml", "half");
  const CdiNames names = rig.read();
  CHECK(rig.problems.empty());
  CHECK(names.gpus == Gpus{{0, "nvidia.com/gpu=1"}, {1, "nvidia.com/gpu=GPU-aaaa"}});
  REQUIRE(names.rdma.size() == 1);
  CHECK(names.rdma.at("0000:3b:00.2") == CdiNames::Rdma{"nvidia.com/net-rdma=0000:3b:00.2", "uverbs2"});
  // Of another kind: one claim's, or one purpose's.
  rig.write("run/cdi/claim.json", gpu("x", "/dev/nvidia7").replace(9, 14, "k8s.gpu.nvidia.com/claim"));
  CHECK_FALSE(rig.read().gpus.contains(7));
  CHECK(rig.problems.empty());
}

TEST_CASE("YAML that is cut between two lines names what it has, and all cards are no card's name") {
  Rig rig;
  rig.write("etc/cdi/one.yaml", kNvidia.substr(0, 150));
  CHECK(rig.read().gpus == Gpus{{1, "nvidia.com/gpu=0"}});
  rig.write("etc/cdi/two.json", gpu("all", "/dev/nvidia9"));
  CHECK_FALSE(rig.read().gpus.contains(9));
}

TEST_CASE("What lies or makes no sense names nothing, and says which file") {
  struct Row {
    std::string_view what, text, problem;
  };
  const std::string many = "kind: a.b/c\n#" + std::string(CdiFiles::kMostBytes, 'x');
  const std::string no_kind = gpu("0", "/dev/nvidia0").replace(9, 14, "nvidia");
  const std::string bad_name = gpu("../0", "/dev/nvidia0");
  const Row rows[] = {
      {"half written", kRdma.substr(0, 150), "its devices have no names of CDI"},
      {"empty", "", "kind"},
      {"too long", many, "than"},
      {"a list", "[]", "no"},
      {"no kind", no_kind, R"(kind: "nvidia" is no VENDOR/CLASS of CDI)"},
      {"a name", bad_name, R"(devices[0].name: "../0" is no name of CDI)"},
      {"a card for all",
       R"({"kind":"nvidia.com/gpu","devices":[],"containerEdits":{"deviceNodes":[{"path":"/dev/nvidia3"}]}})",
       "containerEdits: every device of the file would bring /dev/nvidia3"},
      {"numbers", R"({"kind":"nvidia.com/gpu","devices":7})", "devices"},
      {"aliases", "a: &a [x,x]\nkind: *a\n", "kind"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    rig.write("etc/cdi/one.yaml", row.text);
    rig.write("etc/cdi/two.json", gpu("5", "/dev/nvidia5"));
    const CdiNames names = rig.read();
    // The other file counts.
    CHECK(names.gpus == Gpus{{5, "nvidia.com/gpu=5"}});
    REQUIRE(rig.problems.size() == 1);
    CHECK(rig.problems[0].find("etc/cdi/one.yaml") != std::string::npos);
    CHECK(rig.problems[0].find(row.problem) != std::string::npos);
    CHECK(rig.read() == names);  // kept, and said again
    CHECK(rig.problems.size() == 1);
  }
}

TEST_CASE("Cards that are called by another path of the container are who they are on the host") {
  Rig rig;
  rig.write("etc/cdi/a.json",
            R"({"kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[)"
            R"({"path":"/dev/nvidia0","hostPath":"/dev/nvidia4"}]}}]})");
  CHECK(rig.read().gpus == Gpus{{4, "nvidia.com/gpu=0"}});
}

TEST_CASE("A name in two files of a folder is nobody's, the later folder's wins; files change and go") {
  Rig rig;
  rig.write("etc/cdi/a.json", gpu("0", "/dev/nvidia0"));
  rig.write("etc/cdi/b.json", gpu("0", "/dev/nvidia1"));
  CHECK(rig.read().gpus.empty());
  REQUIRE(rig.problems.size() == 1);
  CHECK(rig.problems[0].find("another file has nvidia.com/gpu=0") != std::string::npos);
  rig.tree.remove("etc/cdi/b.json");
  CHECK(rig.read().gpus == Gpus{{0, "nvidia.com/gpu=0"}});
  rig.write("run/cdi/a.json", gpu("0", "/dev/nvidia2"));
  CHECK(rig.read().gpus == Gpus{{2, "nvidia.com/gpu=0"}});
  rig.write("run/cdi/a.json", gpu("00", "/dev/nvidia2"));
  CHECK(rig.read().gpus == Gpus{{0, "nvidia.com/gpu=0"}, {2, "nvidia.com/gpu=00"}});
  rig.tree.remove("run");
  CHECK(rig.read().gpus == Gpus{{0, "nvidia.com/gpu=0"}});
}

TEST_CASE("What others may write is not believed") {
  Rig rig;
  rig.write("etc/cdi/a.json", gpu("0", "/dev/nvidia0"));
  ::chmod((rig.tree / "etc/cdi/a.json").c_str(), 0666);
  CHECK(rig.read().gpus.empty());
  CHECK(rig.problems.size() == 1);
  ::chmod((rig.tree / "etc/cdi/a.json").c_str(), 0644);
  ::chmod((rig.tree / "etc/cdi").c_str(), 0777);
  CHECK(rig.read().gpus.empty());
  CHECK(rig.problems.size() == 1);
  ::chmod((rig.tree / "etc/cdi").c_str(), 0755);
  CHECK(rig.read().gpus.size() == 1);
}

}  // namespace
}  // namespace koord::koordlet
