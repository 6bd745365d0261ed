// KernelFiles: the system calls of the executor, so that tests can answer for the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

/// The real ones, used on one thread. Errors are those of koord/host/file.hpp.
class KernelFiles {
 public:
  virtual ~KernelFiles() = default;
  virtual Result<std::string_view> read(host::HeldFile& file, host::ReadBuffer& buffer);
  virtual Result<> write(const std::string& path, std::string_view text);
  /// For a write that the kernel may take long over. `done` is called once with its verdict, on the calling
  /// thread: by this class before it returns, by others at any time, or never where the kernel does not
  /// answer.
  using Done = std::function<void(const Result<>&)>;
  virtual void write_later(const std::string& path, std::string_view text, Done done);
  virtual Result<std::vector<std::string>> folders(const std::string& path);
  /// The number of what is at the path, which nothing else has while it exists; 0: there is nothing.
  virtual std::uint64_t inode(const std::string& path);
};

}  // namespace koord::koordlet
