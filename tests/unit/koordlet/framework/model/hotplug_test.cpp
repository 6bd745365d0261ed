// Random machines whose CPUs, memory nodes, disks, cards, virtual functions, accelerators and caches come and
// go between two ticks, and whose files lie for a while: what the agent reads is what is there, and nothing
// that it reads harms it.
#include <fmt/format.h>

#include <sys/stat.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "framework/devices/rdma_cards.hpp"
#include "framework/devices/xpu_files.hpp"
#include "koord/base/file.hpp"
#include "koord/host/block_devices.hpp"
#include "koord/host/resctrl.hpp"
#include "rigs/sampler_rig.hpp"
#include "support/pci_tree.hpp"
#include "support/sanitized.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;
using std::chrono::minutes;

constexpr int kCpus = 8, kNodes = 2;
const std::string kSys = "sys/devices/system/", kComplex = "pci0000:3a";

/// What is there, and the files that say so.
class Machine {
 public:
  explicit Machine(unsigned seed)
      : random_(seed), fake_(seed % 2 == 0 ? CgroupVersion::v1 : CgroupVersion::v2, kCpus, kNodes) {
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      online_.insert(cpu);
      fake_.tree().write(fmt::format("{}cpu/cpu{}/topology/thread_siblings_list", kSys, cpu),
                         fmt::format("{}\n", cpu));
    }
    fake_.tree().write("sys/block/", "");
    fake_.tree().write("infos/", "");
    ::chmod((fake_.tree() / "infos").c_str(), 0755);
    a_ = pod("a", Qos::ls, 1);
    fake_.cpu(a_->group, 0);
    fake_.group_memory(a_->group, 1 << 20, 1 << 20);
    write_cpus();
    for (int i = 0; i < 12; ++i) change();
  }

  FakeNode& fake() { return fake_; }
  std::shared_ptr<const PodInfo> a() const { return a_; }
  std::string infos() { return fake_.tree() / "infos"; }

  void change() {
    switch (below(7)) {
      case 0: return plug_cpu();
      case 1: return plug_node();
      case 2: return plug_disk();
      case 3: return plug_card();
      case 4: return cut_card();
      case 5: return plug_accelerator();
      default: return mount();
    }
  }

  /// One of the files that are there says something else; the function puts it back.
  std::function<void()> spoil() {
    static const char* const kNames[] = {"proc/stat",
                                         "proc/meminfo",
                                         "proc/cpuinfo",
                                         "sys/devices/system/cpu/online",
                                         "sys/devices/system/node/online",
                                         "sys/devices/system/cpu/cpu0/topology/core_id",
                                         "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
                                         "sys/devices/system/node/node0/cpulist",
                                         "sys/devices/system/node/node0/meminfo",
                                         "sys/fs/resctrl/schemata",
                                         "sys/fs/resctrl/info/L3/cbm_mask",
                                         "sys/fs/resctrl/info/L3/min_cbm_bits",
                                         "sys/fs/resctrl/info/L3/num_closids",
                                         "sys/fs/resctrl/info/MB/bandwidth_gran",
                                         "sys/fs/resctrl/info/L3_MON/mon_features"};
    std::vector<std::string> names(std::begin(kNames), std::end(kNames));
    for (const auto& [disk, parts] : disks_) names.push_back(fmt::format("sys/block/{}/dev", disk));
    for (const auto& [bus, card] : cards_)
      for (const char* file : {"numa_node", "class", "sriov_numvfs"})
        names.push_back(fmt::format("sys/devices/{}/{}/{}", kComplex, bus, file));
    for (const auto& [file, id] : accelerators_) names.push_back(fmt::format("infos/{}", file));
    for (const char* file : {"cpu.stat", "memory.stat"})
      names.push_back(fake_.path(file == std::string("cpu.stat") ? "cpu" : "memory", a_->group, file));
    std::string name;
    do name = names[below(names.size())];
    while (!std::filesystem::is_regular_file(fake_.tree() / name));
    const std::string path = fake_.tree() / name, was = read_file(path).value();
    spoiled_ = name;
    std::size_t way = below(7);
    if (name.starts_with("proc/") && way > 3)
      way = 3;  // these are always there, and the agent holds them open
    switch (way) {
      case 0: fake_.tree().write(name, was.substr(0, below(was.size() + 1))); break;
      case 1: std::filesystem::resize_file(path, 4ULL << 30); break;  // sparse
      case 2: fake_.tree().write(name, std::string(70'000, '9')); break;
      case 3: fake_.tree().write(name, "-1\n"); break;
      case 4:
        fake_.tree().remove(name);
        fake_.tree().write(name + "/", "");
        break;
      case 5: fake_.tree().remove(name); break;
      default: {
        std::string noise = was + was;
        for (std::size_t i = 0; i < noise.size(); i += 1 + below(5)) noise[i] = static_cast<char>(below(256));
        fake_.tree().write(name, noise);
      }
    }
    return [this, name, path, was] {
      if (std::filesystem::is_directory(path)) fake_.tree().remove(name);
      fake_.tree().write(name, was);
      ::chmod(path.c_str(), 0644);
    };
  }

  /// What all readers say while a file lies: something, or an error that says where.
  void survive(XpuFiles& files, MonoTime now) {
    INFO(spoiled_);
    if (const auto facts = read_node_facts(fake_.root()); !facts)
      CHECK_FALSE(facts.error().message().empty());
    if (const auto disks = host::BlockDevices::read(fake_.root()))
      CHECK(disks->all().size() <= host::BlockDevices::kMost);
    if (const auto info = host::read_resctrl_info(fake_.root());
        !info && info.error().code() != Code::not_found)
      CHECK(info.error().message().find("resctrl") != std::string::npos);
    for (const api::DeviceInfo& card : read_rdma_cards(fake_.root()).devices) CHECK(cards_.contains(card.id));
    CHECK(files.read(now).devices.size() <= accelerators_.size());
  }

  void compare(XpuFiles& files, const TickView& view, MonoTime now) {
    CHECK(view.online_cpus == static_cast<int>(online_.size()));
    host::CpuSet online;
    for (const int cpu : online_) online.add(cpu);
    REQUIRE(view.facts != nullptr);
    CHECK(view.facts->topology.online == online);
    for (const host::CpuPlace& place : view.facts->topology.cpus)
      CHECK(place.node == fake_.node_of(place.cpu));
    CHECK(view.numa.size() == (second_node_ ? 2U : 1U));

    const auto disks = host::BlockDevices::read(fake_.root());
    REQUIRE(disks.has_value());
    std::size_t devices = 0;
    for (const auto& [disk, parts] : disks_) {
      devices += 1 + static_cast<std::size_t>(parts);
      for (int part = 1; part <= parts; ++part)
        CHECK(host::to_string(disks->disk_of_device(fmt::format("/dev/{}{}", disk, part)).value()) ==
              host::to_string(disks->disk_of_device("/dev/" + disk).value()));
    }
    CHECK(disks->all().size() == devices);

    std::map<std::string, Card> cards;
    for (const api::DeviceInfo& device : read_rdma_cards(fake_.root()).devices)
      cards[device.id] = {device.health,
                          device.vf_groups.empty() ? 0 : static_cast<int>(device.vf_groups[0].vfs.size())};
    CHECK(cards == cards_);

    const auto info = host::read_resctrl_info(fake_.root());
    CHECK(info.has_value() == caches_.has_value());
    if (info && caches_) CHECK(info->caches.at(0).ids == *caches_);

    const DeviceReading reading = files.read(now);
    std::set<std::string> ids, expected;
    for (const api::DeviceInfo& device : reading.devices) ids.insert(device.id);
    for (const auto& [file, id] : accelerators_) expected.insert(id);
    CHECK(ids == expected);
    CHECK(reading.complete);
  }

 private:
  struct Card {
    bool works = true;
    int functions = 0;
    friend bool operator==(const Card&, const Card&) = default;
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  bool is_there(int cpu) const { return online_.contains(cpu); }

  void write_cpus() {
    host::CpuSet all, of_node[kNodes];
    std::vector<int> offline;
    for (int cpu = 0; cpu < kCpus; ++cpu) {
      if (!is_there(cpu)) {
        offline.push_back(cpu);
        continue;
      }
      all.add(cpu);
      of_node[fake_.node_of(cpu)].add(cpu);
    }
    fake_.tree().write(kSys + "cpu/online", all.to_string() + "\n");
    for (int node = 0; node < (second_node_ ? 2 : 1); ++node)
      fake_.tree().write(fmt::format("{}node/node{}/cpulist", kSys, node), of_node[node].to_string() + "\n");
    ticks_ += 100;
    fake_.cpu_ticks(std::vector<std::uint64_t>(kCpus, ticks_), offline);
  }
  void plug_cpu() {
    const int cpu = 1 + static_cast<int>(below(kCpus - 1));
    if (!second_node_ && fake_.node_of(cpu) == 1) return;
    if (!online_.erase(cpu)) online_.insert(cpu);
    write_cpus();
  }
  void plug_node() {
    second_node_ = !second_node_;
    if (second_node_) {
      fake_.numa_memory(1, 8ULL << 30, 1ULL << 30);
    } else {
      for (int cpu = 0; cpu < kCpus; ++cpu)
        if (fake_.node_of(cpu) == 1) online_.erase(cpu);
      fake_.tree().remove(kSys + "node/node1");
    }
    fake_.tree().write(kSys + "node/online", second_node_ ? "0-1\n" : "0\n");
    write_cpus();
  }
  void plug_disk() {
    const std::size_t which = below(6);
    const std::string disk = fmt::format("sd{}", static_cast<char>('a' + which));
    if (disks_.erase(disk) > 0) return fake_.tree().remove("sys/block/" + disk);
    const int parts = static_cast<int>(below(4));
    disks_[disk] = parts;
    fake_.tree().write(fmt::format("sys/block/{}/dev", disk), fmt::format("8:{}\n", which * 16));
    for (int part = 1; part <= parts; ++part) {
      const std::string folder = fmt::format("sys/block/{0}/{0}{1}/", disk, part);
      fake_.tree().write(folder + "dev",
                         fmt::format("259:{}\n", which * 16 + static_cast<std::size_t>(part)));
      fake_.tree().write(folder + "partition", fmt::format("{}\n", part));
    }
  }
  void remove_pci(const std::string& bus) {
    fake_.tree().remove("sys/bus/pci/devices/" + bus);
    fake_.tree().remove(fmt::format("sys/devices/{}/{}", kComplex, bus));
  }
  static std::string bus_of(std::size_t card, std::size_t function) {
    return fmt::format("0000:{:02x}:00.{}", 16 + card, function);
  }
  void plug_card() {
    const std::size_t which = below(5);
    const std::string bus = bus_of(which, 0), name = fmt::format("mlx5_{}", which);
    if (const auto known = cards_.find(bus); known != cards_.end()) {
      for (int i = 0; i <= known->second.functions; ++i)
        remove_pci(bus_of(which, static_cast<std::size_t>(i)));
      fake_.tree().remove("sys/class/infiniband/" + name);
      cards_.erase(known);
      return;
    }
    Card& card = cards_[bus];
    card.works = below(2) == 0;
    const std::string place =
        pci_card(fake_.tree(), bus, "15b3", "101b", static_cast<int>(below(2)), kComplex, "0x020000");
    fake_.tree().write(fmt::format("{}/infiniband/{}/", place, name), "");
    fake_.tree().write(fmt::format("{}/sriov_numvfs", place), "0\n");
    fake_.tree().write(fmt::format("sys/class/infiniband/{}/ports/1/state", name),
                       card.works ? "4: ACTIVE\n" : "1: DOWN\n");
  }
  /// Another number of virtual functions.
  void cut_card() {
    if (cards_.empty()) return;
    auto& [bus, card] = *std::next(cards_.begin(), static_cast<std::ptrdiff_t>(below(cards_.size())));
    const std::size_t which = std::stoul(bus.substr(5, 2), nullptr, 16) - 16;
    const std::string place = fmt::format("sys/devices/{}/{}", kComplex, bus);
    for (int i = 1; i <= card.functions; ++i) {
      remove_pci(bus_of(which, static_cast<std::size_t>(i)));
      fake_.tree().remove(fmt::format("{}/virtfn{}", place, i - 1));
    }
    card.functions = static_cast<int>(below(4));
    fake_.tree().write(place + "/sriov_numvfs", fmt::format("{}\n", card.functions));
    for (int i = 1; i <= card.functions; ++i) {
      const std::string own = bus_of(which, static_cast<std::size_t>(i));
      const std::string at = pci_card(fake_.tree(), own, "15b3", "101c", 0, kComplex, "0x020000");
      std::filesystem::create_symlink("../" + own, fake_.tree() / fmt::format("{}/virtfn{}", place, i - 1));
      std::filesystem::create_symlink("../" + bus, fake_.tree() / (at + "/physfn"));
    }
  }
  void plug_accelerator() {
    const std::string file = fmt::format("vendor{}.json", below(4));
    if (accelerators_.erase(file) > 0) return fake_.tree().remove("infos/" + file);
    const int minor = ++minors_;
    accelerators_[file] = fmt::format("card-{}", minor);
    fake_.tree().write(
        "infos/" + file,
        fmt::format(R"([{{"vendor":"huawei","model":"Ascend-910B","uuid":"card-{0}","minor":"{0}"}}])",
                    minor));
    ::chmod((fake_.tree() / ("infos/" + file)).c_str(), 0644);
  }
  void mount() {
    fake_.tree().remove("sys/fs/resctrl");
    if (caches_) return caches_.reset();
    std::vector<int>& ids = caches_.emplace();
    host::SchemataLine line{"L3", {}}, memory{"MB", {}};
    for (std::size_t id = below(3), n = 1 + below(4); n > 0; --n, id += 1 + below(9)) {
      ids.push_back(static_cast<int>(id));
      line.fields.push_back({ids.back(), 0xfff});
      memory.fields.push_back({ids.back(), 100});
    }
    const std::string top = "sys/fs/resctrl/";
    fake_.tree().write(top + "schemata", host::print_schemata(line) + host::print_schemata(memory));
    for (const auto& [file, text] :
         {std::pair{"L3/cbm_mask", "fff\n"}, std::pair{"L3/min_cbm_bits", "1\n"},
          std::pair{"L3/num_closids", "16\n"}, std::pair{"MB/bandwidth_gran", "10\n"},
          std::pair{"MB/min_bandwidth", "10\n"}, std::pair{"MB/num_closids", "8\n"},
          std::pair{"L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n"}})
      fake_.tree().write(fmt::format("{}info/{}", top, file), text);
  }

  std::mt19937 random_;
  FakeNode fake_;
  std::shared_ptr<PodInfo> a_;
  std::set<int> online_;
  bool second_node_ = true;
  std::map<std::string, int> disks_;                 // by name: how many partitions
  std::map<std::string, Card> cards_;                // by bus
  std::optional<std::vector<int>> caches_;           // nothing: resctrl is not mounted
  std::map<std::string, std::string> accelerators_;  // by file: the card's id
  int minors_ = 0;
  std::uint64_t ticks_ = 0;
  std::string spoiled_;
};

TEST_CASE("Whatever comes, goes or lies, the machine that is read is the one that is there") {
  for (unsigned seed = 1, most = static_cast<unsigned>(test::hostile(20)); seed <= most; ++seed) {
    CAPTURE(seed);
    Machine machine(seed);
    Bench bench(machine.fake(), {.is_on = &testing::every_gate, .resctrl = true});
    MonoTime started{};
    XpuFiles files(machine.infos(), started);
    const auto now = inventory({machine.a()});
    auto time = minutes(10);
    const auto tick = [&]() -> const TickView& { return bench.tick(now, time += minutes(2)); };
    tick();
    for (int step = 0; step < 20; ++step) {
      CAPTURE(step);
      machine.change();
      if (step % 2 == 1) {
        const auto restore = machine.spoil();
        tick();
        machine.survive(files, started + time);
        restore();
      }
      tick();
      machine.compare(files, tick(), started + time);
    }
  }
}

}  // namespace
}  // namespace koord::koordlet
