// The kubelet's client on a loopback port.
#include "framework/states/kubelet.hpp"

#include <catch2/catch.hpp>
#include <charconv>

#include "koord/kube/config.hpp"
#include "support/run_task.hpp"
#include "support/stub_server.hpp"

namespace koord::koordlet {
namespace {

KubeletAddress address_of(const test::StubServer& server) {
  const std::string url = server.url();
  KubeletAddress address{.host = "127.0.0.1"};
  const char* const port = url.data() + url.rfind(':') + 1;
  std::from_chars(port, url.data() + url.size(), address.port);
  return address;
}

TEST_CASE("An address that changes while the kubelet answers does not end what is on its way") {
  test::Loop loop;
  metrics::Registry registry;
  KubeletSettings settings;
  settings.read_only = true;
  KubeletClient client(loop.executor(), loop.clock, registry, settings,
                       []() -> Result<kube::ClientConfig> { return Error(Code::internal, "not asked for"); });
  test::StubServer second(loop.context, [](const std::string&) -> test::StubServer::Reply {
    return {test::StubServer::ok("second")};
  });
  test::StubServer first(loop.context, [&](const std::string&) -> test::StubServer::Reply {
    client.set_address(address_of(second));
    return {test::StubServer::ok("first")};
  });
  client.set_address(address_of(first));
  const auto before = test::run_task(loop, client.get("/pods/"), true);
  REQUIRE(before.has_value());
  CHECK(*before == "first");
  const auto after = test::run_task(loop, client.get("/pods/"), true);
  REQUIRE(after.has_value());
  CHECK(*after == "second");
}

}  // namespace
}  // namespace koord::koordlet
