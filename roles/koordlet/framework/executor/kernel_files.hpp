// KernelFiles: the system calls of the executor, so that tests can answer for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

/// The real ones. Errors are those of koord/host/file.hpp.
class KernelFiles {
 public:
  virtual ~KernelFiles() = default;
  virtual Result<std::string_view> read(host::HeldFile& file, host::ReadBuffer& buffer);
  virtual Result<> write(const std::string& path, std::string_view text);
  virtual Result<std::vector<std::string>> folders(const std::string& path);
  /// The number of what is at the path, which nothing else has while it exists; 0: there is nothing.
  virtual std::uint64_t inode(const std::string& path);
};

}  // namespace koord::koordlet
