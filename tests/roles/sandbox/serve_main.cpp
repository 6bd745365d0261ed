// A sandbox without roles, for tests of clients: serve [--nodes=N] [--kubeconfig=FILE] [--load=FILE]... until
// SIGTERM.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "koord/async/signals.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/sandbox/sandbox.hpp"

namespace {

using koord::Result;
using koord::Task;

Task<Result<>> serve(koord::asio::any_io_executor executor, koord::sandbox::Sandbox& sandbox,
                     std::string kubeconfig) {
  koord::StopSignals signals(executor);
  KOORD_CO_CHECK(co_await sandbox.start());
  if (!kubeconfig.empty()) KOORD_CO_CHECK(sandbox.write_kubeconfig(kubeconfig));
  KOORD_CO_CHECK(co_await sandbox.load());
  std::cout << "sandbox ready " << sandbox.url() << std::endl;
  KOORD_CO_CHECK(co_await signals.wait());
  co_return Result<>();
}

Task<> serve_and_stop(koord::asio::any_io_executor executor, koord::sandbox::Sandbox& sandbox,
                      std::string kubeconfig, int& code) {
  auto served = co_await serve(executor, sandbox, kubeconfig);
  if (!served) {
    std::cerr << "serve: " << served.error().message() << "\n";
    code = 1;
  }
  co_await sandbox.stop();
}

}  // namespace

int main(int argc, char** argv) {
  koord::sandbox::SandboxOptions options;
  std::string kubeconfig;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    auto value = [&](std::string_view flag) {
      return argument.starts_with(flag) ? argument.substr(flag.size()) : std::string_view();
    };
    if (auto nodes = value("--nodes="); !nodes.empty()) options.nodes = std::atoi(nodes.data());
    if (auto path = value("--kubeconfig="); !path.empty()) kubeconfig = path;
    if (auto path = value("--load="); !path.empty()) options.load.emplace_back(path);
  }
  koord::asio::io_context context(1);
  koord::SystemClock clock(context.get_executor());
  koord::sandbox::Sandbox sandbox(context.get_executor(), clock, options);
  int code = 0;
  koord::asio::co_spawn(context, serve_and_stop(context.get_executor(), sandbox, kubeconfig, code),
                        [&](std::exception_ptr error) {
                          if (error) code = 1;
                          context.stop();
                        });
  context.run();
  return code;
}
