// What is known of devices between looks; and the file that says it.
#include "passes/ledger.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/base/file.hpp"
#include "passes/device_file.hpp"
#include "support/tree.hpp"

namespace koord::device_daemon {
namespace {

api::XpuDevice device(std::string vendor, std::string minor) {
  api::XpuDevice made;
  made.vendor = std::move(vendor);
  made.model = "M";
  made.uuid = "u-" + minor;
  made.minor = std::move(minor);
  made.resources["koordinator.sh/gpu-core"] = "100";
  made.topology.emplace().node_id = "0";
  made.status.emplace().healthy = true;
  return made;
}

TEST_CASE("A look that fails once changes nothing, the second time nothing new is placed there") {
  Ledger ledger;
  ledger.found("huawei", {device("huawei", "0"), device("huawei", "1")});
  ledger.found("baidu", {device("kunlun", "0")});
  CHECK(ledger.devices().size() == 3);
  CHECK(ledger.devices().front().vendor == "kunlun");
  ledger.failed("huawei", "npu-smi: not done after 30000 ms");
  CHECK(ledger.count("huawei").healthy == 2);
  ledger.failed("huawei", "npu-smi: not done after 30000 ms");
  CHECK(ledger.count("huawei").healthy == 0);
  CHECK(ledger.count("huawei").unhealthy == 2);
  CHECK(ledger.count("baidu").healthy == 1);
  const auto all = ledger.devices();
  REQUIRE(all.size() == 3);
  CHECK(all.back().status->err_code == "not known");
  CHECK(all.back().status->err_message == "npu-smi: not done after 30000 ms");
  // It answers again; it fails once more: as the first time.
  ledger.found("huawei", {device("huawei", "0")});
  ledger.failed("huawei", "x");
  CHECK(ledger.count("huawei").healthy == 1);
  ledger.absent("huawei");
  CHECK(ledger.devices().size() == 1);
  // One that never answered has nothing.
  ledger.failed("metax", "x");
  ledger.failed("metax", "x");
  CHECK(ledger.count("metax").unhealthy == 0);
}

TEST_CASE("The file is upstream's, byte for byte, and whole at each moment") {
  const koord::testing::Tree tree;
  const std::string path = tree / "infos/ic-device";
  REQUIRE(write_device_file(path, {}).has_value());
  CHECK(read_file(path).value() == "[]");
  api::XpuDevice one = device("huawei", "3");
  one.topology->socket_id = "-1";
  one.topology->bus_id = "0000:3b:00.0";
  one.resources["a.b/c"] = "1";
  one.status->healthy = false;
  one.status->err_message = "say \"no\"";
  api::XpuDevice bare;
  REQUIRE(write_device_file(path, std::vector{one, bare}).has_value());
  CHECK(read_file(path).value() == R"([
  {
    "vendor": "huawei",
    "model": "M",
    "uuid": "u-3",
    "minor": "3",
    "resources": {
      "a.b/c": "1",
      "koordinator.sh/gpu-core": "100"
    },
    "topology": {
      "socketID": "-1",
      "nodeID": "0",
      "busID": "0000:3b:00.0"
    },
    "status": {
      "healthy": false,
      "errMessage": "say \"no\""
    }
  },
  {
    "vendor": "",
    "model": "",
    "uuid": "",
    "minor": ""
  }
])");
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
  // The agent reads each file of the folder: there is no other.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree / "infos"))
    files += entry.is_regular_file();
  CHECK(files == 1);
  REQUIRE(remove_device_file(path).has_value());
  CHECK(std::filesystem::is_empty(tree / "infos"));
  CHECK(remove_device_file(path).has_value());
}

TEST_CASE("What stands in the file's way is named, and no link is written through") {
  const koord::testing::Tree tree({{"infos/", ""}, {"elsewhere/", ""}});
  std::filesystem::create_directory_symlink("../elsewhere", tree / "infos/ic-device-tmp");
  const auto refused = write_device_file(tree / "infos/ic-device", {});
  REQUIRE(refused.has_error());
  CHECK_THAT(refused.error().message(), Catch::Contains("ic-device-tmp: no folder"));
  CHECK(std::filesystem::is_empty(tree / "elsewhere"));
  REQUIRE(remove_device_file(tree / "infos/ic-device").has_value());
  CHECK(std::filesystem::exists(tree / "elsewhere"));
  std::filesystem::create_directory(tree / "infos/ic-device");
  CHECK(write_device_file(tree / "infos/ic-device", {}).has_error());
  CHECK(write_device_file("/proc/nowhere/file", {}).has_error());
}

}  // namespace
}  // namespace koord::device_daemon
