// Docker's paths: which are hooked, and which pass.
#include "docker/routes.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace koord::proxy::docker {
namespace {

TEST_CASE("routes") {
  struct Row {
    const char* method;
    std::string path;
    Route route;
  };
  const std::string id(64, 'a'), longest(256, 'n');
  const Row rows[] = {
      // Koordinator's handler_test.go: 4 paths.
      {"POST", "/v1.3/containers/create", {Call::create, {}}},
      {"POST", "/v1.3/containers/containerdID/stop", {Call::stop, "containerdID"}},
      {"POST", "/v1.3/containers/containerdID/start", {Call::start, "containerdID"}},
      {"POST", "/v1.3/containers/updateContainerdID/update", {Call::update, "updateContainerdID"}},
      // Without a version, and with those that its pattern of one digit each does not know.
      {"POST", "/containers/create", {Call::create, {}}},
      {"POST", "/v1.44/containers/create", {Call::create, {}}},
      {"POST", "/v10.100/containers/create", {Call::create, {}}},
      // Docker takes these, too.
      {"POST", "/v1/containers/create", {Call::create, {}}},
      {"POST", "/v1.40.0/containers/create", {Call::create, {}}},
      {"POST", "/v.1/containers/create", {Call::create, {}}},
      {"POST", "/containers/" + id + "/start", {Call::start, id}},
      {"POST",
       "/v1.40/containers/k8s_POD_web-0.x_default_uid_0/stop",
       {Call::stop, "k8s_POD_web-0.x_default_uid_0"}},
      {"DELETE", "/v1.40/containers/" + id, {Call::remove, id}},
      {"DELETE", "/containers/" + longest, {Call::remove, longest}},
      // What passes.
      {"GET", "/v1.40/containers/create", {}},
      {"GET", "/v1.40/containers/" + id + "/start", {}},
      {"GET", "/containers/json", {}},
      {"POST", "/containers/" + id + "/attach", {}},
      {"POST", "/containers/" + id + "/kill", {}},
      {"POST", "/containers/" + id + "/starting", {}},
      {"POST", "/containers/" + id + "/start/x", {}},
      {"POST", "/containers//start", {}},
      {"POST", "/containers/" + longest + "n/start", {}},
      {"POST", "/containers/a b/start", {}},
      {"POST", "/containers/prune", {}},
      {"DELETE", "/containers/", {}},
      {"DELETE", "/images/x", {}},
      {"POST", "/1.40/containers/create", {}},
      {"POST", "/v1.x/containers/create", {}},
      {"POST", "/v/containers/create", {}},
      {"POST", "/x/v1.40/containers/create", {}},
      {"POST", "/v1.40", {}},
      {"POST", "", {}},
  };
  for (const Row& row : rows) {
    INFO(row.method << " " << row.path);
    CHECK(route_of(row.method, row.path) == row.route);
  }
}

TEST_CASE("a whole id is told from a name") {
  CHECK(is_id(std::string(60, '0') + "afAF"));
  CHECK_FALSE(is_id(std::string(63, '0')));
  CHECK_FALSE(is_id(std::string(65, '0')));
  CHECK_FALSE(is_id("k8s_main_web-0_default_0c0a5e6e-0000-4000-8000-000000000000_0_abc"));
}

}  // namespace
}  // namespace koord::proxy::docker
