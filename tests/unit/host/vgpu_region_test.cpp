// HAMi-core's file: both layouts, and files that lie.
#include "koord/host/nvidia/vgpu_region.hpp"

#include <catch2/catch.hpp>

#include <limits>

#include "support/vgpu_file.hpp"

namespace koord::host {
namespace {

Result<VgpuRegion> read(const std::string& bytes, std::uint64_t claimed = 0) {
  return read_vgpu_region(claimed != 0 ? claimed : bytes.size(),
                          [&](std::uint64_t offset, char* to, std::size_t size) {
                            if (offset > bytes.size() || bytes.size() - offset < size) return false;
                            bytes.copy(to, size, offset);
                            return true;
                          });
}

TEST_CASE("HAMi-core's region, version 1", "[vgpu]") {
  testing::VgpuFile file;
  file.device(0, "GPU-a", 1000, 50);
  file.device(1, "GPU-b", 2000, 0);
  file.process(0, 1, 0, 1, 2, 3, 6, 40);
  file.process(1, 1, 1, 10, 20, 30, 60, 7);
  file.process(2, 0, 0, 100, 100, 100, 100, 100);  // it has ended
  file.process(3, 2, 0, 1, 1, 1, 3, 5);
  file.last_kernel(1'700'000'000);
  const auto region = read(file.bytes);
  REQUIRE(region.has_value());
  CHECK(region->processes == 3);
  CHECK(region->last_kernel == 1'700'000'000);
  REQUIRE(region->devices.size() == 2);
  CHECK(region->devices[0].uuid == "GPU-a");
  CHECK(region->devices[0].limit == 1000);
  CHECK(region->devices[0].sm_limit == 50);
  CHECK(region->devices[0].context == 2);
  CHECK(region->devices[0].module == 3);
  CHECK(region->devices[0].buffer == 4);
  CHECK(region->devices[0].total == 9);
  CHECK(region->devices[0].sm == 45);
  CHECK(region->devices[1].total == 60);
}

TEST_CASE("HAMi-core's region before there were versions", "[vgpu]") {
  testing::VgpuFile file;
  file.bytes.assign(1'197'896, '\0');
  file.put<std::int32_t>(0, 19920718);
  file.put<std::uint64_t>(48, 1);
  file.bytes.replace(56, 5, "GPU-a");
  file.put<std::uint64_t>(1592, 1000);
  const std::size_t slot = 1848 + 1168;  // the second process
  file.put<std::uint64_t>(slot + 8 + 32, 77);
  file.put<std::uint64_t>(slot + 776 + 16, 12);
  file.put<std::int32_t>(slot + 1160, 1);
  file.put<std::int32_t>(1848 + 1024 * 1168, 2);
  const auto region = read(file.bytes);
  REQUIRE(region.has_value());
  REQUIRE(region->devices.size() == 1);
  CHECK(region->devices[0].uuid == "GPU-a");
  CHECK(region->devices[0].limit == 1000);
  CHECK(region->devices[0].total == 77);
  CHECK(region->devices[0].sm == 12);
  CHECK(region->processes == 1);
  CHECK(region->last_kernel == 0);
}

TEST_CASE("HAMi-core's region: whatever stands in it, it is bounded", "[vgpu]") {
  testing::VgpuFile file;
  file.device(0, "GPU-a", 1, 1);
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  file.put<std::uint64_t>(56, kMost);
  file.process(0, 1, 0, kMost, kMost, kMost, kMost, kMost);
  file.process(1, 1, 0, kMost, 1, 1, 1, 1);
  file.put<std::int32_t>(testing::VgpuFile::slot(1024), std::numeric_limits<std::int32_t>::max());
  file.last_kernel(-5);
  auto region = read(file.bytes);
  REQUIRE(region.has_value());
  CHECK(region->devices.size() == 16);
  CHECK(region->devices[0].context == kMost);
  CHECK(region->processes == 2);
  CHECK(region->last_kernel == 0);
  CHECK(region->devices[1].uuid.empty());
  file.put<std::int32_t>(testing::VgpuFile::slot(1024), -1);
  CHECK(read(file.bytes)->processes == 0);
  for (const std::string_view uuid : {"GPU\n", "GPU\"\x01", "\xff\xfe", " x"}) {
    testing::VgpuFile other;
    other.device(0, uuid, 1, 1);
    CHECK(read(other.bytes)->devices[0].uuid.empty());
  }
  testing::VgpuFile longer;
  longer.device(0, std::string(96, 'x'), 1, 1);
  CHECK(read(longer.bytes)->devices[0].uuid == std::string(40, 'x'));

  testing::VgpuFile strange;
  strange.put<std::uint32_t>(4, 2);
  CHECK(read(strange.bytes).error().message() == "HAMi-core's region: of version 2, and 1 is known");
  strange.put<std::int32_t>(0, 1);
  CHECK(read(strange.bytes).error().code() == Code::invalid);
  CHECK(read("").error().code() == Code::invalid);
  CHECK(read(std::string(4096, 'x')).error().code() == Code::invalid);
  // It was cut after it was measured.
  CHECK(read(file.bytes.substr(0, 100'000), file.bytes.size()).error().code() == Code::io);
}

}  // namespace
}  // namespace koord::host
