// Writes the configuration and ends: see write_config.hpp.
#include "write_config.hpp"

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

Result<> write_config(KubeSchedulerConfiguration config, const std::string& file) {
  // In a file 0 is the default; no limit, as without a file, is negative.
  if (config.client_connection.qps == 0) config.client_connection.qps = -1;
  return replace_file(file, api::encode(config) + '\n', {.mode = 0644});
}

std::unique_ptr<runtime::Role> finished(runtime::RoleContext& context) {
  return std::make_unique<Finished>(context);
}

}  // namespace koord::scheduler
