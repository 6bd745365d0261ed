// The proxy's flags: upstream's defaults, and what is refused.
#include "options/flags.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::proxy;

namespace {

Result<Options> read(const std::vector<std::string>& arguments) {
  const std::vector<runtime::FlagOwner> owners = {{"proxy", flags()}};
  const auto line = runtime::parse_flags(arguments, {"", {}}, owners);
  if (!line) FAIL(line.error().message());
  return read_options(line->roles.find("proxy")->second);
}

}  // namespace

TEST_CASE("Defaults are upstream's", "[options]") {
  const auto options = read({});
  REQUIRE(options.has_value());
  CHECK(options->endpoint == "/var/run/koord-runtimeproxy/runtimeproxy.sock");
  CHECK(options->backend == "/var/run/containerd/containerd.sock");
  CHECK_FALSE(options->docker);
  CHECK(options->skip_key == std::string("runtimeproxy.koordinator.") + "sh/skip-hookserver");
  CHECK(options->skip_value == "true");
  CHECK(options->hook_folder == "/etc/runtime/hookserver.d");
  CHECK(options->store_file == "/var/run/koord-runtimeproxy/store.json");
  CHECK(options->hook_timeout == std::chrono::seconds(1));
}

TEST_CASE("Paths, plain and as addresses", "[options]") {
  const auto options =
      read({"--koord-runtimeproxy-endpoint=unix:///run/a/p.sock",
            "--remote-runtime-service-endpoint=/run/c.sock", "--backend-runtime-mode=Docker"});
  REQUIRE(options.has_value());
  CHECK(options->endpoint == "/run/a/p.sock");
  CHECK(options->store_file == "/run/a/store.json");
  CHECK(options->docker);
}

TEST_CASE("What is refused, by its name", "[options]") {
  const std::pair<std::string, std::string> rows[] = {
      {"--koord-runtimeproxy-endpoint=p.sock", "--koord-runtimeproxy-endpoint: not the absolute path"},
      {"--remote-runtime-service-endpoint=tcp://1.2.3.4:5",
       "--remote-runtime-service-endpoint: not the absolute"},
      {"--remote-runtime-service-endpoint=/" + std::string(108, 'x'),
       "--remote-runtime-service-endpoint: not the"},
      {"--remote-runtime-service-endpoint=/var/run/koord-runtimeproxy/runtimeproxy.sock", "the same as"},
      {"--backend-runtime-mode=containerd", "\"containerd\" is neither Containerd nor Docker"},
      {"--hook-timeout=0s", "--hook-timeout: not between"},
      {"--hook-config-dir=hooks", "--hook-config-dir: not an absolute path"},
      {"--store-file=store", "--store-file: not an absolute path"},
  };
  for (const auto& [flag, error] : rows) {
    CAPTURE(flag);
    const auto options = read({flag});
    REQUIRE_FALSE(options.has_value());
    CHECK_THAT(options.error().message(), Catch::Contains(error));
  }
}
