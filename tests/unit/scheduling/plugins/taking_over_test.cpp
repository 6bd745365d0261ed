// What is written into pods that a reservation takes over, against an API server that the test plays.
#include "scheduling/plugins/reservation/preallocation/taking_over.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/kube/client.hpp"
#include "pre_allocation_rig.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::scheduling::test {
namespace {

using koord::test::json_response;
using koord::test::status_response;
using PW = PreAllocationWorld;
using Pod = std::shared_ptr<const api::Pod>;

struct Rig {
  Rig() {
    transport.answer = [this](const net::Request& request) { return answer(request); };
    for (const char* name : {"p", "q"}) put(PW::running(name, "1", "1Gi", "r"));
  }
  Result<net::Response> answer(const net::Request& request) {
    const std::string name = request.target.substr(request.target.rfind('/') + 1);
    const auto it = server.find(name);
    if (it == server.end()) return status_response(404, "NotFound");
    if (request.method == "GET") return json_response(200, api::encode(*it->second));
    const Pod& now = it->second;
    const auto says = [&](std::string_view key, std::string_view value) {
      return request.body.find(fmt::format(R"("{}":"{}")", key, value)) != std::string::npos;
    };
    if (!says("uid", now->metadata.uid) || !says("resourceVersion", now->metadata.resource_version))
      return status_response(409, "Conflict");
    writes.push_back(name);
    const bool takes = request.body.find(":null") != std::string::npos;
    put(changed(now, [&](api::Pod& p) {
      if (takes)
        p.metadata.annotations.erase(api::ReservationAllocated::kAnnotation);
      else
        PW::with_room_of("r")(p);
    }));
    return json_response(200, api::encode(*server[name]));
  }
  /// The server has it, and the scheduler knows of it.
  void put(const Pod& pod) { known[pod->metadata.name] = change(pod); }
  /// The server has it.
  Pod change(const Pod& pod) {
    return server[pod->metadata.name] =
               changed(pod, [&](api::Pod& p) { p.metadata.resource_version = std::to_string(++version); });
  }
  void remove(const std::string& name) {
    server.erase(name);
    known.erase(name);
  }
  /// "": it succeeds.
  std::string run(std::vector<Pod> pods, std::vector<Pod> not_any_more = {}) {
    reservation::TakenOver what{.pods = std::move(pods), .not_any_more = std::move(not_any_more)};
    what.reservation.name = "r";
    what.reservation.uid = "uid-of-r";
    return run(*reservation::take_over(std::move(what)));
  }
  std::string run(PreBindWork& work) {
    const PreBindWork::Context context{
        client,
        loop.clock,
        [this] { return may_write; },
        make_pod("x"),
        "n",
        [this](const kube::ObjectType&, std::string_view ns, std::string_view name) -> kube::Object {
          const auto it = known.find(std::string(name));
          return ns == "default" && it != known.end() ? it->second : nullptr;
        }};
    const Status status = koord::test::run_task(loop, work.run(context));
    CHECK((status.ok() || status.code == StatusCode::error));
    return status.message;
  }
  std::string said(const std::string& name) const {
    return std::string(
        api::value_or(server.at(name)->metadata.annotations, api::ReservationAllocated::kAnnotation));
  }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client client{transport, loop.clock, {.max_retries = 0}};
  std::map<std::string, Pod> server, known;
  std::vector<std::string> writes;
  int version = 10;
  bool may_write = true;
};

TEST_CASE("pods that are taken over say so, and those that were say so no more") {
  Rig rig;
  rig.put(changed(rig.known["q"], PW::with_room_of("r")));
  CHECK(rig.run({rig.known["p"]}, {rig.known["q"]}).empty());
  CHECK(rig.said("p") == PW::allocated("r"));
  CHECK(rig.said("q").empty());
  // Again there is nothing to write.
  rig.writes.clear();
  CHECK(rig.run({rig.known["p"]}, {rig.known["q"]}).empty());
  CHECK(rig.writes.empty());
  // What somebody else says meanwhile is his.
  rig.put(changed(rig.known["q"], PW::with_room_of("s")));
  CHECK(rig.run({}, {rig.known["q"], make_pod("gone")}).empty());
  CHECK(rig.said("q") == PW::allocated("s"));
}

TEST_CASE("who has changed in a way that matters is not taken over, and nothing after him is") {
  Rig rig;
  const Pod p = rig.known["p"], q = rig.known["q"];
  const auto with = [&](const PodEdit& edit) { return changed(q, edit); };
  struct Case {
    const char* name;
    std::function<void()> happens;
    const char* why;
  };
  const std::string head = "cannot pre-allocate room of pod default/q: it ";
  const Case cases[] = {
      {"it is gone", [&] { rig.remove("q"); }, "pod \"q\" not found"},
      {"it is another one of its name",
       [&] { rig.put(with([](api::Pod& pod) { pod.metadata.uid = "other"; })); }, "pod \"q\" not found"},
      {"it goes",
       [&] { rig.put(with([](api::Pod& pod) { pod.metadata.deletion_timestamp = api::Time{}; })); },
       "is being deleted"},
      {"it is elsewhere", [&] { rig.put(with([](api::Pod& pod) { pod.spec.node_name = "m"; })); },
       "is on another node"},
      {"it has room of another one", [&] { rig.put(with(PW::with_room_of("s"))); },
       "has room of another reservation by now"},
      {"nobody can read what it says",
       [&] {
         rig.put(with(
             [](api::Pod& pod) { pod.metadata.annotations[api::ReservationAllocated::kAnnotation] = "}"; }));
       },
       "says in a way that nobody can read which reservation it has room of"},
      {"another one was faster, and the scheduler does not know yet",
       [&] { rig.change(with(PW::with_room_of("s"))); }, "has room of another reservation by now"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    rig.put(p);
    rig.put(q);
    c.happens();
    rig.writes.clear();
    const std::string said = rig.run({q, p});
    CHECK(said == (c.why[0] == 'p' ? std::string(c.why) : head + c.why));
    CHECK(rig.writes.empty());
    rig.put(p);
    CHECK_FALSE(rig.run({p, q}).empty());
    CHECK(rig.said("p") == PW::allocated("r"));
  }
}

TEST_CASE("an attempt writes into pods that it has, and takes its name from those that it has not") {
  Rig rig;
  PreAllocationWorld w;
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  const auto put = [&](const Pod& pod) {
    rig.put(pod);
    w.engine.put_pod(rig.known[pod->metadata.name]);
  };
  put(PW::running("p", "3", "1Gi", "r"));
  put(PW::running("far", "3", "1Gi", "r", PW::with_room_of("r"), "m"));
  w.engine.put_object(PW::reserving("r", "4", "2Gi", {.required = true}, [](api::Reservation& r) {
    r.spec.template_.text.insert(r.spec.template_.text.find(R"("containers")"),
                                 R"("nodeSelector":{"kubernetes.io/hostname":"n"},)");
  }));
  const Decision d = w.one();
  REQUIRE(d.as<Decision::Bind>() != nullptr);
  const auto& works = d.as<Decision::Bind>()->pre_binds;
  REQUIRE(works.size() == 1);
  CHECK(rig.run(*works[0].work).empty());
  CHECK(rig.said("p") == PW::allocated("r"));
  CHECK(rig.said("far").empty());
  CHECK(rig.writes.size() == 2);
}

TEST_CASE("a change that does not matter is no hindrance, the loss of the lease is") {
  Rig rig;
  rig.change(changed(rig.known["p"], [](api::Pod& pod) { pod.metadata.labels["a"] = "b"; }));
  CHECK(rig.run({rig.known["p"]}).empty());
  CHECK(rig.said("p") == PW::allocated("r"));
  rig.may_write = false;
  CHECK(rig.run({rig.known["q"]}) == "another scheduler may hold the lease");
  CHECK(rig.said("q").empty());
}

}  // namespace
}  // namespace koord::scheduling::test
