// The real system calls.
#include "framework/executor/kernel_files.hpp"

#include <sys/stat.h>

namespace koord::koordlet {

Result<std::string_view> KernelFiles::read(host::HeldFile& file, host::ReadBuffer& buffer) {
  return file.read(buffer);
}
Result<> KernelFiles::write(const std::string& path, std::string_view text) {
  return host::write_file(path, text);
}
void KernelFiles::write_later(const std::string& path, std::string_view text, Done done) {
  done(write(path, text));
}
Result<std::vector<std::string>> KernelFiles::folders(const std::string& path) {
  if (host::is_leaf_folder(path)) return std::vector<std::string>{};  // as most are: containers
  return host::list_folders(path);
}
std::uint64_t KernelFiles::inode(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace koord::koordlet
