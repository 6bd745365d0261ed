// A file of HAMi-core's, of version 1, with what a test puts into it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace koord::testing {

struct VgpuFile {
  std::string bytes = std::string(2'008'952, '\0');

  VgpuFile() {
    put<std::int32_t>(0, 19920718);
    put<std::uint32_t>(4, 1);
    put<std::uint32_t>(8, 2);
  }
  template <class Number>
  void put(std::size_t at, Number number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
  void device(std::size_t i, std::string_view uuid, std::uint64_t limit, std::uint64_t sm_limit) {
    put<std::uint64_t>(56, i + 1);
    bytes.replace(64 + i * 96, uuid.size(), uuid);
    put(1600 + i * 8, limit);
    put(1728 + i * 8, sm_limit);
  }
  static std::size_t slot(std::size_t process) { return 1856 + process * 1960; }
  void process(std::size_t number, std::int32_t status, std::size_t device, std::uint64_t context,
               std::uint64_t module, std::uint64_t buffer, std::uint64_t total, std::uint64_t sm) {
    const std::size_t memory = slot(number) + 8 + device * 64;
    put(memory, context);
    put(memory + 8, module);
    put(memory + 16, buffer);
    put(memory + 32, total);
    put(slot(number) + 1160 + device * 48 + 16, sm);
    put(slot(number) + 1928, status);
    put(slot(1024), static_cast<std::int32_t>(number + 1));
  }
  void last_kernel(std::int64_t at) { put(slot(1024) + 16, at); }
};

}  // namespace koord::testing
