// Groups: what cannot be read is said, not taken for nothing; who waits, the oldest first.
#include "view/page/groups.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/figures/cluster_view.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;

namespace {

/// What is said of the gangs to a server's answer.
std::string said(net::Response answer) {
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet set{loop.executor(), loop.clock};
  const auto gangs = set.informer<api::PodGroup>(client);
  CHECK(view::why_unread(gangs, "PodGroups") == "PodGroups have not been read yet.");
  server.answer = [&](const net::Request&) -> Result<net::Response> { return answer; };
  set.start();
  loop.settle();
  std::string why = view::why_unread(gangs, "PodGroups");
  test::run_task(loop, set.stop());
  return why;
}

std::shared_ptr<const api::Pod> pod(std::string name, std::chrono::seconds created, std::string node = "") {
  api::Pod out;
  out.metadata.name = std::move(name);
  out.metadata.namespace_ = Symbol("a");
  out.metadata.creation_timestamp = api::Time{WallTime{created}};
  out.spec.node_name = Symbol(node);
  return std::make_shared<const api::Pod>(std::move(out));
}

}  // namespace

TEST_CASE("what may not be listed is not known; of what nobody serves there is none") {
  const std::string forbidden =
      said(test::status_response(403, "Forbidden", "podgroups is forbidden: kim cannot list"));
  CHECK(forbidden.starts_with("PodGroups cannot be read: "));
  CHECK(forbidden.find("kim cannot list") != std::string::npos);
  CHECK(said(test::status_response(404, "NotFound")).empty());
}

TEST_CASE("the document: parts that are not known, and who waits") {
  std::vector<std::shared_ptr<const api::Pod>> pods{pod("young", 50s), pod("old", 10s),
                                                    pod("placed", 1s, "n")};
  const std::vector<view::Unread> unread{{"gangs", "PodGroups cannot be read: <no>"}, {"quotas", ""}};
  const std::string text = view::groups_document({}, pods, unread);
  CHECK(text.find(R"("unread":{"gangs":"PodGroups cannot be read: )") != std::string::npos);
  CHECK(text.find("quotas") == std::string::npos);
  CHECK(text.find("\"old\"") < text.find("\"young\""));
  CHECK(text.find("\"placed\"") == std::string::npos);
  for (int i = 0; i < 500; ++i) pods.push_back(pod(fmt::format("p{}", i), 99s));
  CHECK(view::groups_document({}, pods, {}).find("\"more_waiting\":2,") != std::string::npos);
  REQUIRE(json::parse(text).has_value());
}
