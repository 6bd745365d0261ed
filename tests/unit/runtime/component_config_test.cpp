#include "koord/runtime/component_config.hpp"

#include <catch2/catch.hpp>

#include "koord/kube/leader_election.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {
namespace {

using namespace std::chrono_literals;

LeaderElectionSettings defaults() {
  LeaderElectionSettings settings;
  set_defaults(settings, "kube-system", "manager");
  return settings;
}

template <class T>
std::string problems(const T& config, std::string_view path) {
  api::FieldErrors errors;
  validate(config, path, errors);
  return errors.text();
}

}  // namespace

TEST_CASE("an election's defaults are upstream's, and valid") {
  const LeaderElectionSettings settings = defaults();
  const kube::LeaderElectionConfig config = election_config(settings, "host");
  CHECK(config.lease_namespace == "kube-system");
  CHECK(config.lease_name == "manager");
  CHECK(config.identity.starts_with("host_"));
  CHECK(config.lease_duration == 15s);
  CHECK(config.renew_deadline == 10s);
  CHECK(config.retry_period == 2s);
  CHECK(problems(settings, "leaderElection") == "[]");
}

TEST_CASE("what is wrong with an election is told in upstream's words") {
  struct Row {
    void (*change)(LeaderElectionSettings& settings);
    std::string_view text;
  };
  const Row rows[] = {
      {[](auto& s) { s.resource_lock = "endpoints"; },
       R"(a.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases")"},
      {[](auto& s) { s.resource_name.clear(); }, "a.resourceName: Required value"},
      {[](auto& s) { s.retry_period = api::Duration(-1s); },
       R"(a.retryPeriod: Invalid value: "-1s": must be greater than zero)"},
      {[](auto& s) { s.lease_duration = api::Duration(10s); },
       R"(a.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`)"},
      {[](auto& s) {
         s.leader_elect = false;
         s.resource_name.clear();
       },
       "[]"},
  };
  for (const Row& row : rows) {
    LeaderElectionSettings settings = defaults();
    row.change(settings);
    CHECK(problems(settings, "a") == row.text);
  }
}

TEST_CASE("flags win over the file") {
  constexpr auto kFlags = leader_election_flags("koordinator-system", "koord-test");
  const FlagOwner owner{"", kFlags};
  const std::string arguments[] = {"--leader-elect=false", "--leader-elect-retry-period=3s",
                                   "--leader-elect-resource-name=mine"};
  const auto line = parse_flags(arguments, owner, {});
  REQUIRE(line.has_value());
  LeaderElectionSettings settings = defaults();
  apply_flags(line->process, settings);
  CHECK(settings.leader_elect == false);
  CHECK(settings.retry_period == api::Duration(3s));
  CHECK(settings.renew_deadline == api::Duration(10s));
  CHECK(settings.resource_name == "mine");
  CHECK(settings.resource_namespace == "kube-system");  // the flag's default is not on the line
}

TEST_CASE("a connection's settings") {
  ClientConnection connection;
  set_defaults(connection);
  CHECK(connection.qps == 50);
  CHECK(connection.burst == 100);
  connection.kubeconfig = "file";
  connection.burst = -1;
  CHECK(problems(connection, "clientConnection") ==
        "clientConnection.burst: Invalid value: -1: must be non-negative");
  const ClientSettings settings = client_settings(connection, "https://there");
  CHECK(settings.kubeconfig == "file");
  CHECK(settings.server == "https://there");
  CHECK(settings.qps == 50);
}

}  // namespace koord::runtime
