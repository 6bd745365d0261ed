// The real system calls.
#include "framework/executor/kernel_files.hpp"

namespace koord::koordlet {

Result<std::string_view> KernelFiles::read(host::HeldFile& file, host::ReadBuffer& buffer) {
  return file.read(buffer);
}
Result<> KernelFiles::write(const std::string& path, std::string_view text) {
  return host::write_file(path, text);
}
Result<std::vector<std::string>> KernelFiles::folders(const std::string& path) {
  return host::list_folders(path);
}
bool KernelFiles::exists(const std::string& path) { return host::exists(path); }

}  // namespace koord::koordlet
