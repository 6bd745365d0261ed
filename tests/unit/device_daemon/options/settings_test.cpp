// Settings from flags, variables and a file, in that order.
#include "options/settings.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "support/tree.hpp"

namespace koord::device_daemon {
namespace {

using Environment = std::map<std::string, std::string>;

Result<Settings> read(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  const auto line =
      runtime::parse_flags(arguments, {"", {}}, std::vector<runtime::FlagOwner>{{"device-daemon", flags()}});
  if (!line) FAIL(line.error().message());
  return read_settings(line->roles.find("device-daemon")->second,
                       [&](const char* name) -> std::optional<std::string> {
                         const auto found = environment.find(name);
                         return found == environment.end() ? std::nullopt : std::optional(found->second);
                       });
}

TEST_CASE("Upstream's defaults") {
  const auto settings = read({});
  REQUIRE(settings.has_value());
  CHECK_FALSE(settings->oneshot);
  CHECK(settings->interval == std::chrono::minutes(15));
  CHECK(settings->output_file == "/var/run/koordlet/xpu-device-infos/ic-device");
  CHECK(settings->vendors == std::vector<std::string>{"huawei", "cambricon", "baidu", "metax", "iluvatar"});
  CHECK(settings->command_timeout == std::chrono::seconds(30));
}

TEST_CASE("A flag before a variable before the file before the default") {
  const koord::testing::Tree tree({{"c.yaml",
                                    "version: v1\nflags:\n  kdd:\n    oneshot: true\n    sleepInterval: 2m\n "
                                    "   printsOutputFile: /f/file\n"},
                                   {"c.json", R"({"flags":{"kdd":{"sleepInterval":"3m0s"}}})"}});
  const std::string file = fmt::format("--config-file={}", tree / "c.yaml");
  auto settings = read({file});
  REQUIRE(settings.has_value());
  CHECK(settings->oneshot);
  CHECK(settings->interval == std::chrono::minutes(2));
  CHECK(settings->output_file == "/f/file");

  const Environment variables = {
      {"KDD_SLEEP_INTERVAL", "5m"}, {"PRINTS_OUTPUT_FILE", "/e/file"}, {"KDD_ONESHOT", "false"}};
  settings = read({file}, variables);
  REQUIRE(settings.has_value());
  CHECK_FALSE(settings->oneshot);
  CHECK(settings->interval == std::chrono::minutes(5));
  CHECK(settings->output_file == "/e/file");

  settings = read({file, "--sleep-interval=7m", "--prints-output-file=", "--oneshot"}, variables);
  REQUIRE(settings.has_value());
  CHECK(settings->oneshot);
  CHECK(settings->interval == std::chrono::minutes(7));
  CHECK(settings->output_file.empty());

  // The file's own variables, and the first one of two.
  settings = read({}, {{"CONFIG_FILE", tree / "c.json"},
                       {"PRINTS_OUTPUT_FILE", "/second"},
                       {"KDD_PRINTS_OUTPUT_FILE", "/first"},
                       {"KDD_ONESHOT", ""}});
  REQUIRE(settings.has_value());
  CHECK(settings->interval == std::chrono::minutes(3));
  CHECK(settings->output_file == "/first");
}

TEST_CASE("What makes no sense is refused, with where it stands") {
  const koord::testing::Tree tree({{"v2.yaml", "version: v2\n"},
                                   {"typo.yaml", "version: v1\nflags:\n  kdd:\n    sleepinterval: 2m\n"},
                                   {"short.yaml", "flags: {kdd: {sleepInterval: 1ms}}\n"}});
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    std::string_view message;
  };
  const Row rows[] = {
      {{"--sleep-interval=0s"}, {}, "--sleep-interval: less than 1s"},
      {{}, {{"KDD_SLEEP_INTERVAL", "often"}}, "KDD_SLEEP_INTERVAL: \"often\" is no duration"},
      {{}, {{"KDD_ONESHOT", "maybe"}}, "KDD_ONESHOT: \"maybe\" is no boolean"},
      {{"--prints-output-file=ic-device"}, {}, "--prints-output-file: not the absolute path of a file"},
      {{}, {{"PRINTS_OUTPUT_FILE", "/folder/"}}, "PRINTS_OUTPUT_FILE: not the absolute path of a file"},
      {{"--vendors=hauwei"}, {}, "--vendors: \"hauwei\" is none of huawei, "},
      {{"--vendors=hauwei"}, {}, "did you mean huawei?"},
      {{"--command-timeout=1h"}, {}, "--command-timeout: not between 1s and 10m"},
      {{"--host-root=hostfs"}, {}, "--host-root: not an absolute path"},
      {{fmt::format("--config-file={}", tree / "nowhere")}, {}, "nowhere"},
      {{fmt::format("--config-file={}", tree / "v2.yaml")}, {}, "v2.yaml: version: \"v2\" is not v1"},
      {{fmt::format("--config-file={}", tree / "typo.yaml")}, {}, "typo.yaml:4"},
      {{fmt::format("--config-file={}", tree / "short.yaml")}, {}, "less than 1s"},
  };
  for (const Row& row : rows) {
    INFO(row.message);
    const auto settings = read(row.arguments, row.environment);
    REQUIRE(settings.has_error());
    CHECK_THAT(settings.error().message(), Catch::Contains(std::string(row.message)));
  }
}

TEST_CASE("Roots are named without, and sysfs with a slash at the end") {
  const auto settings = read({"--host-root=/host///", "--sys-root-dir=/elsewhere"});
  REQUIRE(settings.has_value());
  CHECK(settings->host_root == "/host");
  CHECK(settings->sys_root == "/elsewhere/");
  CHECK(read({"--host-root=/"})->host_root.empty());
}

}  // namespace
}  // namespace koord::device_daemon
