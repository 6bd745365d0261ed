// Disks, partitions, LVM and mounts on fake roots: the original's outputs of lsblk, vgs, lvs and findmnt as
// the files that those programs read, random trees, and what no machine should have.
#include "koord/host/block_devices.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "koord/host/volume_mounts.hpp"
#include "support/tree.hpp"

using namespace koord;
using namespace koord::host;

namespace {

class FakeBlocks {
 public:
  FakeBlocks() { tree.write("sys/block/", ""); }
  void disk(const std::string& name, const std::string& number) {
    tree.write("sys/block/" + name + "/dev", number + "\n");
    tree.write("sys/block/" + name + "/queue/", "");
  }
  void part(const std::string& disk, const std::string& name, const std::string& number) {
    tree.write("sys/block/" + disk + "/" + name + "/dev", number + "\n");
    tree.write("sys/block/" + disk + "/" + name + "/partition", "1\n");
  }
  void mapped(const std::string& name, const std::string& number, const std::string& mapper,
              const std::vector<std::string>& over, const std::string& uuid = "LVM-abc") {
    disk(name, number);
    tree.write("sys/block/" + name + "/dm/name", mapper + "\n");
    tree.write("sys/block/" + name + "/dm/uuid", uuid + "\n");
    for (const auto& below : over) tree.write("sys/block/" + name + "/slaves/" + below + "/", "");
  }
  BlockDevices read() { return *BlockDevices::read(Root::below(tree.path())); }

  koord::testing::Tree tree;
};

/// "253:16", or the error.
std::string text(const Result<DeviceNumber>& number) {
  return number ? to_string(*number) : std::string(number.error().message());
}

const char* const kVolumes[] = {
    "2c52d97f-eab6-4ac5-ba8b-242f399470e1", "3d505e88-9d62-4a69-9fba-092402e4264b",
    "28f38aba-c76e-4dd3-be00-449451393b9d", "15199981-7229-45e9-b3a0-b5b30a6a162b",
    "23da3223-0d5d-42a4-8235-1f0442b37af2", "87d8625a-dcc9-47bf-a14a-994cf2971193"};
const char* const kPods[] = {"d806ee8d-fe28-4995-a836-d2356d44ec5f", "0e02c7f5-9200-45e1-ab98-d43245d0927b",
                             "51d75b14-007e-4e18-a17c-d055b53e3cbf", "0ef5bd7a-aa83-4242-8597-c7ab4afaf356",
                             "a569c873-e3dd-48d7-ad33-be3659630426", "8d3b2627-8a67-4c6a-9eb9-6706b8c45454"};
const int kMinors[] = {1, 4, 2, 0, 5, 3};

std::string doubled(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '-' ? 2 : 1, c);
  return out;
}

/// The machine of the original's tests.
struct Original : FakeBlocks {
  Original();
};
Original::Original() {
  FakeBlocks& fake = *this;
  const char* const disks[] = {"vda", "vdb", "vdc", "vdd", "vde"};
  for (int i = 0; i < 5; ++i) fake.disk(disks[i], fmt::format("253:{}", i * 16));
  fake.part("vda", "vda1", "253:1");
  for (int i = 1; i <= 3; ++i) fake.part("vdc", fmt::format("vdc{}", i), fmt::format("253:{}", 32 + i));
  for (int i = 0; i < 6; ++i)
    fake.mapped(fmt::format("dm-{}", kMinors[i]), fmt::format("252:{}", kMinors[i]),
                fmt::format("yoda--pool0-yoda--{}", doubled(kVolumes[i])), {"vdc3"});
  fake.mapped("dm-6", "252:6", "yoda--pool1-a", {"vdb"});
  fake.mapped("dm-7", "252:7", "hunbu-a", {"vdd"});
  fake.mapped("dm-8", "252:8", "hunbu-b", {"vdd", "vde"});
}

}  // namespace

TEST_CASE("Disks and partitions, as lsblk gives them in the original's row") {
  Original fake;
  const BlockDevices devices = fake.read();
  CHECK(devices.all().size() == 5 + 4 + 9);
  const std::pair<const char*, const char*> rows[] = {
      {"/dev/vda", "253:0"},   {"/dev/vdb", "253:16"},  {"/dev/vdc", "253:32"},
      {"/dev/vdd", "253:48"},  {"/dev/vde", "253:64"},  {"/dev/vda1", "253:0"},
      {"/dev/vdc1", "253:32"}, {"/dev/vdc2", "253:32"}, {"/dev/vdc3", "253:32"},
  };
  for (const auto& [device, disk] : rows) CHECK(text(devices.disk_of_device(device)) == disk);
}

TEST_CASE("Volume groups, as vgs and lvs give them in the original's rows, without either") {
  Original fake;
  const BlockDevices devices = fake.read();
  CHECK(text(devices.disk_of_volume_group("yoda-pool0")) == "253:32");
  CHECK(text(devices.disk_of_volume_group("yoda-pool1")) == "253:16");
  // The original leaves out a group of two disks; here a volume of it that is on one of them has a disk.
  CHECK(text(devices.disk_of_volume_group("hunbu")) ==
        "\"hunbu\": the group is on 2 disks (253:48, 253:64), expected a single one");
  CHECK(text(devices.disk_of_device("/dev/hunbu/a")) == "253:48");
  CHECK(text(devices.disk_of_device("/dev/hunbu/b")) == "252:8");
  CHECK(text(devices.disk_of_volume_group("yoda")) ==
        "\"yoda\": no logical volume of such a group is active");
  for (const char* volume : kVolumes) {
    const std::string name = fmt::format("yoda-{}", volume);
    CHECK(text(devices.disk_of_device(fmt::format("/dev/yoda-pool0/{}", name))) == "253:32");
    CHECK(text(devices.disk_of_device(fmt::format("/dev/mapper/yoda--pool0-{}", doubled(name)))) == "253:32");
  }
  CHECK(volume_group_of("yoda--pool0-yoda--1") == "yoda-pool0");
  for (const char* none : {"", "plain", "a--b", "--"}) CHECK(volume_group_of(none).empty());
  CHECK(volume_group_of("a---b") == "a-");
}

TEST_CASE("Mounts of volumes, as findmnt gives them in the original's row") {
  Original fake;
  const BlockDevices devices = fake.read();
  std::string table =
      "21 1 253:1 / / rw - ext4 /dev/vda1 rw\n"
      "22 21 253:16 / /var/lib/etcd rw - ext4 /dev/vdb rw\n"
      "23 21 253:34 / /var/lib/kubelet rw,relatime shared:1 master:2 - ext4 /dev/vdc2 rw\n";
  for (int i = 0; i < 6; ++i)
    table += fmt::format(
        "{} 23 252:{} / /var/lib/kubelet/pods/{}/volumes/kubernetes.io~csi/yoda-{}/mount rw shared:9 - ext4 "
        "/dev/mapper/yoda--pool0-yoda--{} rw\n",
        30 + i, kMinors[i], kPods[i], kVolumes[i], doubled(kVolumes[i]));
  const auto mounts = volume_mounts(table);
  REQUIRE(mounts.size() == 6);
  for (int i = 0; i < 6; ++i) {
    const VolumeMount* const found = find_volume(mounts, kPods[i], fmt::format("yoda-{}", kVolumes[i]));
    REQUIRE(found != nullptr);
    CHECK(found->number == DeviceNumber{252, static_cast<std::uint32_t>(kMinors[i])});
    CHECK(text(disk_of(*found, devices)) == "253:32");
  }
  CHECK(find_volume(mounts, kPods[0], "yoda") == nullptr);
  CHECK(find_volume(mounts, "", "") == nullptr);
}

TEST_CASE("Where volumes are mounted otherwise") {
  Original fake;
  const BlockDevices devices = fake.read();
  const auto mounts = volume_mounts(
      // Another root of the kubelet, a plugin without "/mount", a blank in the name, a network's.
      "1 2 253:33 / /data/kubelet/pods/u1/volumes/kubernetes.io~local-volume/pv-1 rw - xfs /dev/vdc1 rw\n"
      "1 2 253:33 / /k/pods/u1/volumes/kubernetes.io~csi/a\\040b/mount rw - xfs /dev/vdc1 rw\n"
      "1 2 0:55 / /k/pods/u1/volumes/kubernetes.io~nfs/nfs rw - nfs4 10.0.0.1:/export rw\n"
      "1 2 0:56 / /k/pods/u1/volumes/kubernetes.io~csi/btrfs/mount rw - btrfs /dev/vdb rw\n"
      // The later one hides the other.
      "1 2 253:0 / /k/pods/u2/volumes/kubernetes.io~csi/twice/mount rw - xfs /dev/vda rw\n"
      "1 2 253:48 / /k/pods/u2/volumes/kubernetes.io~csi/twice/mount rw - xfs /dev/vdd rw\n"
      // No volumes, no lines.
      "1 2 253:0 / /k/pods/u2/volumes/kubernetes.io~csi rw - xfs /dev/vda rw\n"
      "1 2 253:0 / /k/pods/u2/volumes/kubernetes.io~csi/x/y/z rw - xfs /dev/vda rw\n"
      "1 2 253:0 / /k/pods//volumes/kubernetes.io~csi/x/mount rw - xfs /dev/vda rw\n"
      "1 2 253:0 / /k/pods/u2/volumes/kubernetes.io~csi/x\\057y/mount rw - xfs /dev/vda rw\n"
      "1 2 nonsense / /k/pods/u/volumes/kubernetes.io~csi/x/mount rw - xfs /dev/vda rw\n"
      "1 2 253:0 / /k/pods/u/volumes/kubernetes.io~csi/x/mount rw xfs /dev/vda rw\n"
      "kubernetes.io~\n/pods/x/volumes/kubernetes.io~csi/\n");
  std::map<std::string, std::string> found;
  for (const VolumeMount& mount : mounts)
    found[mount.pod + " " + mount.volume] = text(disk_of(mount, devices));
  CHECK(found == std::map<std::string, std::string>{
                     {"u1 pv-1", "253:32"},
                     {"u1 a b", "253:32"},
                     {"u1 nfs", "it is on 10.0.0.1:/export (0:55), which is no disk of this host"},
                     {"u1 btrfs", "253:16"},
                     {"u2 twice", "253:48"}});
}

TEST_CASE("Devices that cannot be: no number, no name, themselves, a path that is none") {
  FakeBlocks fake;
  fake.tree.write("sys/block/hidden/queue/", "");
  fake.tree.write("sys/block/odd/dev", "8;0\n");
  fake.tree.write("sys/block/none/dev", "");
  fake.disk("cciss!c0d0", "104:0");
  fake.part("cciss!c0d0", "cciss!c0d0p1", "104:1");
  fake.mapped("dm-0", "252:0", "loop-a", {"dm-1"});
  fake.mapped("dm-1", "252:1", "loop-b", {"dm-0"});
  fake.mapped("dm-2", "252:2", "gone-a", {"vanished"});
  fake.disk("sda", "8:0");
  fake.disk("sdb", "8:16");
  fake.mapped("dm-3", "252:3", "mpatha", {"sda", "sdb"}, "mpath-3600");
  fake.mapped("dm-4", "252:4", "mpatha1", {"dm-3"}, "part1-mpath-3600");
  const BlockDevices devices = fake.read();
  const std::pair<const char*, const char*> rows[] = {
      {"/dev/cciss/c0d0", "104:0"},
      {"/dev/cciss/c0d0p1", "104:0"},
      {"/dev/dm-0", "252:0"},
      {"/dev/mapper/loop-b", "252:1"},
      {"/dev/gone/a", "252:2"},
      {"/dev/mapper/mpatha", "252:3"},
      {"/dev/mapper/mpatha1", "252:3"},
      {"/dev/hidden", "\"/dev/hidden\": there is no such device"},
      {"/dev/odd", "\"/dev/odd\": there is no such device"},
      {"/dev/../etc/passwd", "\"/dev/../etc/passwd\": there is no such device"},
      {"/dev/mapper/", "\"/dev/mapper/\": there is no such device"},
      {"/dev/", "\"/dev/\": expected the path of a device, as /dev/vdb"},
      {"sda", "\"sda\": expected the path of a device, as /dev/vdb"},
      {"", "\"\": expected the path of a device, as /dev/vdb"},
  };
  for (const auto& [path, disk] : rows) CHECK(text(devices.disk_of_device(path)) == disk);
  CHECK(text(devices.disk_of_device("/dev/" + std::string(100'000, 'x'))).size() < 400);
  CHECK(text(devices.disk_of(DeviceNumber{9, 9})) == "9:9 is no disk of this host");
  CHECK(text(devices.disk_of_volume_group("loop")) ==
        "\"loop\": no logical volume of such a group is active");
  CHECK(text(devices.disk_of_volume_group("")) == "\"\": no logical volume of such a group is active");
  CHECK_FALSE(BlockDevices::read(Root::below(fake.tree / "nowhere")).has_value());
  for (const char* none : {"", ":", "8", "8:", ":0", "8:0:0", "-1:0", "8:4294967296", "8: 0"})
    CHECK_FALSE(parse_device_number(none).has_value());
}

TEST_CASE("Random machines: each device comes to the disks that are below it") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    FakeBlocks fake;
    std::map<std::string, std::set<std::string>> disks;  // by device: the numbers of what is below it
    std::map<std::string, std::string> own;
    std::vector<std::string> names;
    const auto add = [&](const std::string& name, std::set<std::string> under, const std::string& number) {
      disks[name] = std::move(under);
      own[name] = number;
      names.push_back(name);
    };
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string disk = fmt::format("sd{}", static_cast<char>('a' + i)),
                        number = fmt::format("8:{}", i * 16);
      fake.disk(disk, number);
      add(disk, {number}, number);
      for (std::size_t p = 1, parts = below(4); p <= parts; ++p) {
        // As a disk with many partitions has them: of another major number.
        const std::string part = fmt::format("{}{}", disk, p);
        fake.part(disk, part, fmt::format("259:{}", i * 16 + p));
        add(part, {number}, number);
      }
    }
    for (std::size_t i = 0, made = below(8); i < made; ++i) {
      std::set<std::string> over, under;
      for (std::size_t n = 0, most = 1 + below(3); n < most; ++n) {
        over.insert(names[below(names.size())]);
      }
      for (const auto& name : over) under.insert(disks[name].begin(), disks[name].end());
      const std::string name = fmt::format("dm-{}", i), number = fmt::format("252:{}", i);
      fake.mapped(name, number, fmt::format("vg{}-lv{}", i, i), {over.begin(), over.end()});
      add(name, under, number);
    }
    const BlockDevices devices = fake.read();
    REQUIRE(devices.all().size() == names.size());
    for (const auto& name : names) {
      const auto& under = disks[name];
      CHECK(text(devices.disk_of_device("/dev/" + name)) == (under.size() == 1 ? *under.begin() : own[name]));
    }
    // What goes is not found any more, and harms no other.
    fake.tree.remove("sys/block/sda");
    CHECK_FALSE(fake.read().disk_of_device("/dev/sda").has_value());
  }
}

TEST_CASE("The disks of this host") {
  const auto devices = BlockDevices::read(Root{});
  REQUIRE(devices.has_value());
  for (const BlockDevice& device : devices->all()) {
    INFO(device.name);
    CHECK(std::filesystem::exists(fmt::format("/sys/dev/block/{}", to_string(device.number))));
    const auto disk = devices->disk_of(device.number);
    REQUIRE(disk.has_value());
    const BlockDevice* const whole = devices->numbered(*disk);
    REQUIRE(whole != nullptr);
    CHECK(whole->disk.empty());
  }
}
