// Writes the configuration and ends: see write_config.hpp.
#include "koord/runtime/write_config.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "koord/async/event.hpp"
#include "koord/base/file.hpp"

namespace koord::runtime {

namespace {

class Finished final : public Role {
 public:
  explicit Finished(RoleContext& context) { context.finish(); }
  Task<Result<>> run() override { co_return co_await cancelled_.wait(); }

 private:
  Event cancelled_;
};

}  // namespace

Result<> write_config(std::string_view json, const std::string& file) {
  const std::string text = fmt::format("{}\n", json);
  // /dev/stdout and the like: nothing to replace there.
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(file, ignored).type();
  if (type != std::filesystem::file_type::character && type != std::filesystem::file_type::fifo)
    return replace_file(file, text, {.mode = 0644});
  std::ofstream stream(file, std::ios::binary);
  if (!(stream << text << std::flush)) return Error(Code::io, fmt::format("{}: it cannot be written", file));
  return {};
}

std::unique_ptr<Role> finished(RoleContext& context) { return std::make_unique<Finished>(context); }

}  // namespace koord::runtime
