// DeschedulerConfiguration: defaults, merging of plugins, and what is wrong with a file. Rows of
// koord-descheduler's validation_test.go (6) and profile_test.go (5) and of framework_test.go (4 of 5) are
// among them.
#include "config/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "koord/api/schema/codec.hpp"
#include "options/flags.hpp"
#include "passes/scripted_plugins.hpp"

namespace koord::descheduler::test {
namespace {

constexpr std::string_view kHead = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n";

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("koord-descheduler-config-{}", ::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

Result<DeschedulerConfiguration> read(std::string_view text, std::vector<std::string> arguments = {},
                                      PluginTable table = scripted_table()) {
  const Folder folder;
  const std::string file = (folder.path / "config").string();
  std::ofstream(file) << text;
  arguments.push_back("--config=" + file);
  const auto line =
      runtime::parse_flags(arguments, {"", {}}, std::vector<runtime::FlagOwner>{{"descheduler", flags()}});
  REQUIRE(line.has_value());
  auto config = read_configuration(line->roles.find("descheduler")->second, table);
  if (config) return config;
  // Without the folder's name.
  std::string message = config.error().message();
  if (const auto at = message.find(file); at != std::string::npos) message.replace(at, file.size(), "config");
  return Error(config.error().code(), message);
}

DeschedulerConfiguration good(std::string_view text) {
  auto config = read(fmt::format("{}{}", kHead, text));
  if (!config) FAIL(config.error().message());
  return std::move(*config);
}

std::string names(const PluginSet& set) {
  std::string all;
  for (const PluginRef& p : set.enabled) all += fmt::format("{}{}", all.empty() ? "" : " ", p.name);
  return all;
}

TEST_CASE("what a configuration does not say is koord-descheduler's default") {
  const DeschedulerConfiguration c = good("");
  CHECK(c.leader_election.leader_elect == true);
  CHECK(c.leader_election.lease_duration == api::Duration(std::chrono::seconds(15)));
  CHECK(c.leader_election.renew_deadline == api::Duration(std::chrono::seconds(10)));
  CHECK(c.leader_election.retry_period == api::Duration(std::chrono::seconds(2)));
  CHECK(c.leader_election.resource_lock == "leases");
  CHECK(c.leader_election.resource_name == "koord-descheduler");
  CHECK(c.leader_election.resource_namespace == "koordinator-system");
  CHECK(c.client_connection.content_type == "application/vnd.kubernetes.protobuf");
  CHECK(c.client_connection.accept_content_types == "application/vnd.kubernetes.protobuf,application/json");
  CHECK(c.client_connection.qps == 50);
  CHECK(c.client_connection.burst == 100);
  CHECK(c.enable_profiling == true);
  CHECK(c.enable_contention_profiling == true);
  CHECK(c.descheduling_interval == api::Duration());
  CHECK_FALSE(c.dry_run);
  CHECK_FALSE(c.max_no_of_pods_to_evict_total);
  REQUIRE(c.profiles.size() == 1);
  CHECK(c.profiles[0].name == "koord-descheduler");
  REQUIRE(c.profiles[0].plugin_config.size() == 1);
  CHECK(c.profiles[0].plugin_config[0].name == "MigrationController");
  CHECK_THAT(c.profiles[0].plugin_config[0].args.text, Catch::Contains("\"count\":7"));
  CHECK(static_cast<const ScriptedArgs*>(c.profiles[0].plugin_config[0].decoded.get())->count == 7);
  CHECK(good("enableProfiling: false\n").enable_contention_profiling == std::nullopt);
  CHECK(good("clientConnection: {contentType: a/b}\n").client_connection.accept_content_types.empty());
}

TEST_CASE("a bind address is completed as koord-descheduler does it") {
  const auto [given, completed] = GENERATE(table<const char*, const char*>({
      {"", "0.0.0.0:10251"},
      {"healthzBindAddress: 1.2.3.4", "1.2.3.4:10251"},
      {"healthzBindAddress: ':80'", "0.0.0.0:80"},
      {"healthzBindAddress: '1.2.3.4:0'", "1.2.3.4:0"},
      {"healthzBindAddress: '::1'", "[::1]:10251"},
      {"healthzBindAddress: '[::1]:80'", "[::1]:80"},
  }));
  CAPTURE(given);
  CHECK(good(fmt::format("{}\n", given)).healthz_bind_address == completed);
}

TEST_CASE("plugins of a profile are merged into the default ones") {
  struct Row {
    const char* plugins;
    const char *deschedule, *balance, *evict, *filter;
  };
  const Row rows[] = {
      {"{}", "", "", "MigrationController", "MigrationController"},
      {"{deschedule: {enabled: [{name: Chooser}]}, balance: {enabled: [{name: Balancer}, {name: Chooser}]}}",
       "Chooser", "Balancer Chooser", "MigrationController", "MigrationController"},
      {"{evict: {disabled: [{name: '*'}], enabled: [{name: OtherEvictor}]}}", "", "", "OtherEvictor",
       "MigrationController"},
      {"{evict: {disabled: [{name: MigrationController}], enabled: [{name: OtherEvictor}]}}", "", "",
       "OtherEvictor", "MigrationController"},
      // Enabled again it keeps its place.
      {"{filter: {enabled: [{name: OtherEvictor}, {name: MigrationController}]}}", "", "",
       "MigrationController", "MigrationController OtherEvictor"},
      {"{filter: {disabled: [{name: '*'}]}, evict: {disabled: [{name: '*'}], enabled: [{name: "
       "MigrationController}]}}",
       "", "", "MigrationController", ""},
      {"{deschedule: {disabled: [{name: '*'}]}}", "", "", "MigrationController", "MigrationController"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.plugins);
    const DeschedulerConfiguration c = good(fmt::format("profiles:\n- plugins: {}\n", row.plugins));
    const Plugins& plugins = *c.profiles[0].plugins;
    CHECK(names(plugins.deschedule) == row.deschedule);
    CHECK(names(plugins.balance) == row.balance);
    CHECK(names(plugins.evict) == row.evict);
    CHECK(names(plugins.filter) == row.filter);
  }
}

TEST_CASE("arguments of enabled plugins that the file does not configure are added, by name") {
  const DeschedulerConfiguration c = good(
      "profiles:\n- plugins: {balance: {enabled: [{name: Chooser}, {name: Balancer}]}}\n"
      "  pluginConfig:\n  - {name: Chooser, args: {count: 3, kind: Whatever, apiVersion: whose/v1}}\n");
  std::vector<std::string> configured;
  for (const PluginConfig& entry : c.profiles[0].plugin_config) configured.push_back(entry.name);
  CHECK(configured == std::vector<std::string>{"Chooser", "Balancer", "MigrationController"});
  CHECK(static_cast<const ScriptedArgs*>(c.profiles[0].plugin_config[0].decoded.get())->count == 3);
  CHECK(static_cast<const ScriptedArgs*>(c.profiles[0].plugin_config[1].decoded.get())->count == 7);
}

TEST_CASE("what is wrong with a file is told with its line") {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      // validation_test.go; its first is the configuration without anything.
      {"profiles:\n- name: profile-1\n- name: profile-1\n",
       "config:5: profiles[1].name: Duplicate value: profiles[0].name"},
      {"healthzBindAddress: '0.0.0.0:111:222'\n",
       "config:3: healthzBindAddress: Invalid value: \"0.0.0.0:111:222\": must be a valid socket address "
       "(host:port), got error: address 0.0.0.0:111:222: too many colons in address"},
      {"metricsBindAddress: '0.0.0.0:111:222'\n",
       "config:3: metricsBindAddress: Invalid value: \"0.0.0.0:111:222\": must be a valid socket address "
       "(host:port), got error: address 0.0.0.0:111:222: too many colons in address"},
      {"nodeSelector: {matchLabels: {test/a/b/c/d: test}}\n",
       "config:3: nodeSelector: key: Invalid value: \"test/a/b/c/d\": a valid label key must consist of"},
      {"profiles:\n- name: test\n  pluginConfig:\n  - {name: Chooser, args: {}}\n  - {name: Chooser, args: "
       "{}}\n",
       "config:7: profiles[0].pluginConfig[1]: Duplicate value: \"Chooser\""},
      // profile_test.go and framework_test.go.
      {"profiles:\n- {name: a}\n- {name: ''}\n", "config:5: profiles[1].name: Required value"},
      {"profiles:\n- plugins:\n    evict: {disabled: [{name: '*'}]}\n",
       "config:5: profiles[0].plugins.evict: no evict plugin is enabled"},
      {"profiles:\n- plugins:\n    evict: {enabled: [{name: OtherEvictor}]}\n",
       "config:5: profiles[0].plugins.evict: only one evict plugin can be enabled; MigrationController is, "
       "unless it is disabled"},
      {"profiles:\n- plugins:\n    balance: {enabled: [{name: Chooser}, {name: Chooser}]}\n",
       "config:5: profiles[0].plugins.balance: plugin \"Chooser\" already registered as \"BalancePlugin\""},
      // What koord does not have, and what is not meant for the place.
      {"profiles:\n- plugins:\n    balance: {enabled: [{name: LowNodeLaod}]}\n",
       "config:5: profiles[0].plugins.balance: BalancePlugin \"LowNodeLaod\" does not exist; there are: "
       "Balancer, Chooser"},
      {"profiles:\n- plugins:\n    deschedule: {enabled: [{name: Balancer}]}\n",
       "config:5: profiles[0].plugins.deschedule: plugin \"Balancer\" does not extend DeschedulePlugin "
       "plugin; "
       "those that do: Chooser"},
      {"profiles:\n- plugins:\n    filter: {enabled: [{name: Chooser}]}\n",
       "config:5: profiles[0].plugins.filter: plugin \"Chooser\" does not extend FilterPlugin plugin; those "
       "that do: MigrationController, OtherEvictor"},
      {"profiles:\n- pluginConfig:\n  - {name: MigrationControler, args: {count: 1}}\n",
       "config:5: profiles[0].pluginConfig[0].name: plugin \"MigrationControler\" does not exist; there are: "
       "Balancer, Chooser, MigrationController, OtherEvictor"},
      // Arguments.
      {"profiles:\n- pluginConfig:\n  - name: MigrationController\n    args:\n      count: 1\n      cuont: "
       "2\n",
       "config:8: .profiles[0].pluginConfig[0].args.cuont: unknown field (decoding args for plugin "
       "MigrationController)"},
      {"profiles:\n- pluginConfig:\n  - name: MigrationController\n    args: {kind: LowNodeLoadArgs}\n",
       "config:6: .profiles[0].pluginConfig[0].args.kind: "},
      {"profiles:\n- pluginConfig:\n  - name: MigrationController\n    args: {count: -1}\n",
       "config:6: profiles[0].pluginConfig[0].args.count: Invalid value: -1: must not be negative"},
      {"profiles:\n- plugins: {balance: {enabled: [{name: Balancer}]}}\n  pluginConfig: [{name: Balancer, "
       "args: "
       "{count: -1}}]\n",
       "config:5: profiles[0].pluginConfig[0].args.count: Invalid value: -1: must not be negative"},
      // The rest.
      {"dryRum: true\n", "config:3: .dryRum: unknown field"},
      {"dryRun: true\ndryRun: false\n", "config:4: .dryRun: "},
      {"deschedulingInterval: -1s\n",
       "config:3: deschedulingInterval: Invalid value: \"-1s\": must be non-negative"},
      {"maxNoOfPodsToEvictTotal: -1\n",
       "config:3: maxNoOfPodsToEvictTotal: Invalid value: -1: must be non-negative"},
      {"healthzBindAddress: ''\n",
       "must be a valid socket address (host:port), got error: address : missing port"},
      {"healthzBindAddress: 'somewhere:80'\n", "invalid host \"somewhere\" in socket address"},
      {"healthzBindAddress: '1.2.3.4:'\n", "port must not be empty in socket address"},
      {"healthzBindAddress: '1.2.3.4:http'\n", "invalid port \"http\" in socket address"},
      {"profiles:\n- nodeSelector: {matchExpressions: [{key: a, operator: Near}]}\n",
       "config:4: profiles[0].nodeSelector: "},
      {"leaderElection: {resourceLock: endpoints}\n", "config:3: leaderElection.resourceLock: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto config = read(fmt::format("{}{}", kHead, row.text));
    REQUIRE_FALSE(config.has_value());
    CHECK_THAT(config.error().message(), Catch::Contains(row.message));
  }
  CHECK_THAT(
      read("apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n").error().message(),
      Catch::Contains("config:1: .apiVersion: \"descheduler/v1alpha1\", expected descheduler/v1alpha2"));
}

TEST_CASE("plugins that nobody asks may be told anything, but the original's own evictor") {
  CHECK(good("profiles:\n- pluginConfig: [{name: Balancer, args: {count: -1}}]\n").profiles.size() == 1);
}

TEST_CASE("every mistake is told at once") {
  const auto config = read(fmt::format("{}metricsBindAddress: a\nmaxNoOfPodsToEvictPerNode: -2\n", kHead));
  REQUIRE_FALSE(config.has_value());
  CHECK_THAT(config.error().message(), Catch::Contains("metricsBindAddress: Invalid value: \"a\"") &&
                                           Catch::Contains("maxNoOfPodsToEvictPerNode: Invalid value: -2"));
}

TEST_CASE("flags of the leader election win over the file, no others do") {
  const auto config = read(fmt::format("{}leaderElection: {{resourceName: mine, retryPeriod: 3s}}\n", kHead),
                           {"--leader-elect=false", "--leader-elect-resource-name=yours", "--port=1"});
  REQUIRE(config.has_value());
  CHECK(config->leader_election.leader_elect == false);
  CHECK(config->leader_election.resource_name == "yours");
  CHECK(config->leader_election.retry_period == api::Duration(std::chrono::seconds(3)));
  CHECK(config->healthz_bind_address == "0.0.0.0:10251");
}

TEST_CASE("the configuration that is written is read as it was") {
  const std::string once =
      api::encode(good("dryRun: true\nprofiles:\n- {name: a}\n- name: b\n  nodeSelector: "
                       "{matchLabels: {pool: x}}\n"));
  const auto again = read(once);
  REQUIRE(again.has_value());
  CHECK(api::encode(*again) == once);
}

TEST_CASE("an address is split as Go splits it") {
  const auto [address, host, port] = GENERATE(table<const char*, const char*, const char*>({
      {"a:1", "a", "1"},
      {":1", "", "1"},
      {"a:", "a", ""},
      {"[::1]:1", "::1", "1"},
      {"a", "", "address a: missing port in address"},
      {"::1", "", "address ::1: too many colons in address"},
      {"[::1]", "", "address [::1]: missing port in address"},
      {"[::1]1:1", "", "address [::1]1:1: missing port in address"},
      {"[::1:1", "", "address [::1:1: missing ']' in address"},
      {"[::1]::1", "", "address [::1]::1: too many colons in address"},
      {"a[:1", "", "address a[:1: unexpected '[' in address"},
      {"a]:1", "", "address a]:1: unexpected ']' in address"},
  }));
  CAPTURE(address);
  const auto parts = split_host_port(address);
  if (parts) {
    CHECK(parts->first == host);
    CHECK(parts->second == port);
  } else {
    CHECK(parts.error().message() == port);
  }
}

TEST_CASE("a plugin that works for the whole cluster is of one profile") {
  static const PluginEntry kSingle{.name = "Single", .deschedules = true, .once = true};
  std::vector<const PluginEntry*> table(scripted_table().begin(), scripted_table().end());
  table.push_back(&kSingle);
  const auto text = [](std::string_view second) {
    return fmt::format(
        "{}profiles:\n- {{name: a, plugins: {{deschedule: {{enabled: [{{name: Single}}]}}}}}}\n"
        "- {{name: b, plugins: {{deschedule: {{enabled: [{{name: {}}}]}}}}}}\n",
        kHead, second);
  };
  CHECK(read(text("Chooser"), {}, table).has_value());
  const auto twice = read(text("Single"), {}, table);
  REQUIRE_FALSE(twice.has_value());
  CHECK(twice.error().message() ==
        "config:5: profiles[1].plugins: plugin \"Single\" is enabled in profile \"a\", and one profile alone "
        "may have it");
}

}  // namespace
}  // namespace koord::descheduler::test
