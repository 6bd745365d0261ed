// Writes the configuration and ends: see write_config.hpp.
#include "options/write_config.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "koord/api/schema/codec.hpp"
#include "koord/async/event.hpp"
#include "koord/base/file.hpp"

namespace koord::scheduler {

namespace {

class Finished final : public runtime::Role {
 public:
  explicit Finished(runtime::RoleContext& context) : context_(context) {}
  Task<Result<>> run() override {
    context_.finish();
    co_return co_await cancelled_.wait();
  }

 private:
  runtime::RoleContext& context_;
  Event cancelled_;
};

}  // namespace

Result<> write_config(scheduling::KubeSchedulerConfiguration config, const std::string& file) {
  // In a file 0 is the default; no limit, as without a file, is negative.
  if (config.client_connection.qps == 0) config.client_connection.qps = -1;
  const std::string text = fmt::format("{}\n", api::encode(config));
  // /dev/stdout and the like: nothing to replace there.
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(file, ignored).type();
  if (type != std::filesystem::file_type::character && type != std::filesystem::file_type::fifo)
    return replace_file(file, text, {.mode = 0644});
  std::ofstream stream(file, std::ios::binary);
  if (!(stream << text << std::flush)) return Error(Code::io, fmt::format("{}: it cannot be written", file));
  return {};
}

std::unique_ptr<runtime::Role> finished(runtime::RoleContext& context) {
  return std::make_unique<Finished>(context);
}

}  // namespace koord::scheduler
