// ScratchFolder: where fuzzers of files keep theirs: in memory where the machine has /dev/shm, gone at the
// end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace koord::fuzz {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code none;
    path_ = (std::filesystem::is_directory("/dev/shm", none) ? "/dev/shm" : "/tmp") +
            std::string("/koord-fuzz.XXXXXX");
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchFolder() { clear(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }
  void write(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = *this / name;
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }
  /// All that is in it, and itself.
  void clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

}  // namespace koord::fuzz
