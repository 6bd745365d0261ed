// What VolumeBinding writes and waits for before a pod is bound, on upstream's tables; and what a scheduler
// that dies on the way leaves to the next.
#include "scheduling/plugins/volume_binding/binding_work.hpp"

#include <functional>
#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/kube/client.hpp"
#include "plugins/volume_world.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::scheduling::test {
namespace {

using koord::test::json_response;
using koord::test::status_response;
using volume_binding::BindingWork;
using volume_binding::ClaimForNode;
using volume_binding::VolumeForClaim;
using Volume = api::PersistentVolume;

/// An API server with volumes, claims, pods and nodes, whose informers know everything at once; whoever binds
/// volumes is played by the test.
struct Server {
  Result<net::Response> answer(const net::Request& request) {
    writes.push_back(request.body);
    if (dies_at != 0 && static_cast<int>(writes.size()) == dies_at) dead = true;
    if (dead && !takes_last) return lost();
    Result<net::Response> said = write(request);
    return dead ? Result<net::Response>(lost()) : said;
  }
  static Error lost() { return Error(Code::unavailable, "connection reset by peer"); }

  Result<net::Response> write(const net::Request& request) {
    const std::string name = request.target.substr(request.target.rfind('/') + 1);
    const bool of_volume = request.target.find("/persistentvolumes/") != std::string::npos;
    if (of_volume ? !volumes.contains(name) : !claims.contains(name)) return status_response(404, "NotFound");
    api::ObjectMeta& meta = of_volume ? volumes[name].metadata : claims[name].metadata;
    if (request.body.find(fmt::format(R"("resourceVersion":"{}")", meta.resource_version)) ==
        std::string::npos)
      return status_response(409, "Conflict");
    meta.resource_version = std::to_string(++version);
    if (!of_volume) {
      const auto patch = api::decode<Claim>(request.body);
      claims[name].metadata.annotations["volume.kubernetes.io/selected-node"] =
          *patch->metadata.annotations.find("volume.kubernetes.io/selected-node");
      return json_response(200, api::encode(claims[name]));
    }
    const auto patch = api::decode<Volume>(request.body);
    volumes[name].spec.claim_ref = patch->spec.claim_ref;
    for (const auto& [key, value] : patch->metadata.annotations)
      volumes[name].metadata.annotations[key] = value;
    return json_response(200, api::encode(volumes[name]));
  }

  kube::Object find(const kube::ObjectType& type, std::string_view name) const {
    const auto of = [&](const auto& objects) -> kube::Object {
      const auto it = objects.find(std::string(name));
      using T = std::remove_cvref_t<decltype(it->second)>;
      return it != objects.end() ? std::make_shared<const T>(it->second) : nullptr;
    };
    if (&type == &kube::kObjectType<Volume>) return of(volumes);
    if (&type == &kube::kObjectType<Claim>) return of(claims);
    if (&type == &kube::kObjectType<api::CsiNode>) return of(csi_nodes);
    if (&type == &kube::kObjectType<api::Node>) return of(nodes);
    return of(pods);
  }

  void put(const Volume& v) { volumes[v.metadata.name] = v; }
  void put(const Claim& c) { claims[c.metadata.name] = c; }
  /// As the binder of volumes does.
  void bind(const std::string& claim, const std::string& volume) {
    Claim& c = claims.at(claim);
    c.spec.volume_name = Symbol(volume);
    c.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    c.metadata.resource_version = std::to_string(++version);
  }

  std::map<std::string, Volume> volumes;
  std::map<std::string, Claim> claims;
  std::map<std::string, api::CsiNode> csi_nodes;
  std::map<std::string, api::Node> nodes{{"n", *make_node("n")}};
  std::map<std::string, api::Pod> pods{{"x", *make_pod("x")}};
  std::vector<std::string> writes;
  std::uint64_t version = 10;
  int dies_at = 0;          // the number of a write; 0: never
  bool takes_last = false;  // that write is done, nobody is told
  bool dead = false;
};

Volume volume(const std::string& name, const char* node = "n") {
  Volume v;
  v.metadata.name = name;
  v.metadata.resource_version = "1";
  v.spec.storage_class_name = "wait";
  v.spec.capacity["storage"] = api::Quantity::must("5Gi");
  v.status.phase = "Available";
  auto& in = v.spec.node_affinity.ensure()
                 .required.ensure()
                 .node_selector_terms.emplace_back()
                 .match_expressions.emplace_back();
  in.key = "kubernetes.io/hostname";
  in.operator_ = "In";
  in.values.push_back(node);
  return v;
}
Claim unbound(const std::string& name, const char* storage_class = "wait") {
  Claim c = *make_claim(name, "", storage_class);
  c.metadata.resource_version = "2";
  c.spec.resources.requests["storage"] = api::Quantity::must("1Gi");
  return c;
}

struct Rig {
  Rig() {
    transport.answer = [this](const net::Request& request) { return server.answer(request); };
  }
  VolumeForClaim to_bind(const std::string& v, const std::string& c) const {
    const auto before = std::make_shared<const Volume>(server.volumes.at(v));
    const auto claim = std::make_shared<const Claim>(server.claims.at(c));
    return {before, volume_binding::bound_to(before, *claim), claim};
  }
  ClaimForNode to_make(const std::string& c) const {
    const auto before = std::make_shared<const Claim>(server.claims.at(c));
    return {before, volume_binding::selected_for(before, "n")};
  }
  /// What comes of it; "" for a success.
  std::string run(std::vector<VolumeForClaim> volumes, std::vector<ClaimForNode> claims,
                  std::chrono::seconds timeout = std::chrono::seconds(10)) {
    BindingWork work(std::move(volumes), std::move(claims), timeout);
    kube::Client client(transport, loop.clock, {});
    const PreBindWork::Context context{client,
                                       loop.clock,
                                       [this] { return may_write; },
                                       std::make_shared<const api::Pod>(*make_pod("x")),
                                       "n",
                                       [this](const kube::ObjectType& type, std::string_view,
                                              std::string_view name) { return server.find(type, name); }};
    const MonoTime began = loop.clock.mono();
    if (later) loop.clock.call_at(began + std::chrono::seconds(5), [this] { later(server); });
    const Status status = koord::test::run_task(loop, work.run(context));
    took = loop.clock.mono() - began;
    return status.message;
  }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  Server server;
  std::function<void(Server&)> later;  // after five seconds
  bool may_write = true;
  nanoseconds took{};
};

TEST_CASE("a volume is written as the claim's, a claim as its node's, each in its version") {
  Rig rig;
  rig.server.put(volume("v"));
  rig.server.put(unbound("p"));
  rig.server.put(unbound("q", "made"));
  rig.later = [](Server& s) {
    s.bind("p", "v");
    s.put(volume("made-for-q"));
    s.bind("q", "made-for-q");
  };
  CHECK(rig.run({rig.to_bind("v", "p")}, {rig.to_make("q")}) == "");
  CHECK(
      rig.server.writes ==
      std::vector<std::string>{
          R"({"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"claimRef":{"kind":"PersistentVolumeClaim","apiVersion":"v1","namespace":"default","name":"p","uid":"uid-p","resourceVersion":"2"}}})",
          R"({"metadata":{"resourceVersion":"2","annotations":{"volume.kubernetes.io/selected-node":"n"}}})"});
  CHECK(rig.took >= std::chrono::seconds(5));
  CHECK(rig.took <= std::chrono::seconds(5) + BindingWork::kLook);
}

TEST_CASE("what a user wrote of a volume is completed, what is there already is not written") {
  Rig rig;
  rig.server.put(unbound("p"));
  Volume named = volume("v");
  auto& ref = named.spec.claim_ref.ensure();
  ref.name = "p";
  ref.namespace_ = "default";
  rig.server.put(named);
  const VolumeForClaim kept = rig.to_bind("v", "p");
  CHECK(kept.after->spec.claim_ref->uid == "uid-p");
  CHECK_FALSE(kept.after->metadata.annotations.contains("pv.kubernetes.io/bound-by-controller"));
  rig.server.put(*kept.after);
  const VolumeForClaim whole = rig.to_bind("v", "p");
  CHECK(whole.after == whole.before);
  rig.server.bind("p", "v");
  CHECK(rig.run({whole}, {}) == "");
  CHECK(rig.server.writes.empty());
  CHECK(rig.took == nanoseconds(0));
}

TEST_CASE("what is not bound in the end fails, and says why") {
  const std::string kTimeout = "binding volumes: context deadline exceeded";
  struct Case {
    const char* name;
    std::function<void(Server&)> before, later;
    bool makes = false;  // the claim's volume is to be made
    std::string said;
  };
  const auto nothing = [](Server&) {};
  const Case cases[] = {
      {"nobody binds", nothing, nothing, false, kTimeout},
      {"nobody makes", nothing, nothing, true, kTimeout},
      {"the claim names the volume, and its binder is not through", nothing,
       [](Server& s) { s.claims["p"].spec.volume_name = "v"; }, false, kTimeout},
      {"somebody wrote the volume before", [](Server& s) { s.volumes["v"].metadata.resource_version = "9"; },
       nothing, false, "no"},
      {"the volume is gone before", [](Server& s) { s.volumes.clear(); }, nothing, false, "no"},
      {"the pod goes", nothing, [](Server& s) { s.pods.clear(); }, false,
       "binding volumes: pod does not exist any more: pod \"x\" not found"},
      {"another pod of its name", nothing, [](Server& s) { s.pods["x"].metadata.uid = "other"; }, false,
       "binding volumes: pod does not exist any more: pod \"x\" not found"},
      {"the node goes", nothing, [](Server& s) { s.nodes.clear(); }, false,
       "binding volumes: failed to get node \"n\": node \"n\" not found"},
      {"the node is another now", nothing, [](Server& s) { s.nodes["n"].metadata.labels = {}; }, false,
       "binding volumes: pv \"v\" node affinity doesn't match node \"n\": no matching NodeSelectorTerms"},
      {"the volume goes", nothing, [](Server& s) { s.volumes.clear(); }, false,
       "binding volumes: failed to check binding: persistentvolumes \"v\" not found"},
      {"the claim goes", nothing, [](Server& s) { s.claims.clear(); }, false,
       "binding volumes: failed to check binding: persistentvolumeclaims \"default/p\" not found"},
      {"the claim that is provisioned goes", nothing, [](Server& s) { s.claims.clear(); }, true,
       "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/p\" not found"},
      {"the volume is taken back", nothing, [](Server& s) { s.volumes["v"].spec.claim_ref.reset(); }, false,
       "binding volumes: ClaimRef got reset for pv \"v\""},
      {"half of it", nothing, [](Server& s) { s.volumes["v"].spec.claim_ref->uid.clear(); }, false,
       "binding volumes: ClaimRef got reset for pv \"v\""},
      {"who makes volumes gives up", nothing,
       [](Server& s) {
         s.claims["p"].metadata.annotations = {};
         s.claims["p"].metadata.annotations["other"] = "x";
       },
       true, "binding volumes: provisioning failed for PVC \"p\""},
      {"all annotations are gone", nothing, [](Server& s) { s.claims["p"].metadata.annotations = {}; }, true,
       "binding volumes: selectedNode annotation reset for PVC \"p\""},
      {"it is made for another node", nothing,
       [](Server& s) { s.claims["p"].metadata.annotations["volume.kubernetes.io/selected-node"] = "m"; },
       true, "binding volumes: provisioning failed for PVC \"p\""},
      {"what is made is elsewhere", nothing,
       [](Server& s) {
         s.put(volume("w", "m"));
         s.bind("p", "w");
       },
       true,
       "binding volumes: pv \"w\" node affinity doesn't match node \"n\": no matching NodeSelectorTerms"},
      {"what is made has not come yet", nothing, [](Server& s) { s.bind("p", "w"); }, true, kTimeout},
      {"it is bound in the end", nothing, [](Server& s) { s.bind("p", "v"); }, false, ""},
      {"it is made in the end", nothing,
       [](Server& s) {
         s.put(volume("w"));
         s.bind("p", "w");
       },
       true, ""},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Rig rig;
    rig.server.put(volume("v"));
    rig.server.put(unbound("p"));
    std::vector<VolumeForClaim> volumes;
    std::vector<ClaimForNode> claims;
    if (c.makes) {
      claims.push_back(rig.to_make("p"));
    } else {
      volumes.push_back(rig.to_bind("v", "p"));
    }
    c.before(rig.server);
    rig.later = c.later;
    const std::string said = rig.run(std::move(volumes), std::move(claims));
    INFO(said);
    CHECK((c.said.empty() ? said.empty() : said.find(c.said) != std::string::npos));
    CHECK(rig.took <= std::chrono::seconds(10) + BindingWork::kLook);
  }
}

TEST_CASE("a volume's zone is looked at as its node knows it") {
  Rig rig;
  Volume v = volume("v");
  v.spec.node_affinity.reset();
  v.spec.gce_persistent_disk.ensure().pd_name = "disk";
  v.metadata.labels["topology.kubernetes.io/zone"] = "a__b";
  rig.server.put(v);
  rig.server.put(unbound("p"));
  rig.server.nodes["n"].metadata.labels["topology.gke.io/zone"] = "c";
  rig.server.csi_nodes["n"] = *make_csi_node("n", {}, "kubernetes.io/gce-pd");
  CHECK(rig.run({rig.to_bind("v", "p")}, {}).find("node affinity doesn't match") != std::string::npos);
  rig.server.nodes["n"].metadata.labels["topology.gke.io/zone"] = "b";
  rig.server.bind("p", "v");
  CHECK(rig.run({rig.to_bind("v", "p")}, {}) == "");
}

TEST_CASE("without the lease nothing is written") {
  Rig rig;
  rig.may_write = false;
  rig.server.put(volume("v"));
  rig.server.put(unbound("p"));
  CHECK(rig.run({rig.to_bind("v", "p")}, {}) == "another scheduler may hold the lease");
  CHECK(rig.server.writes.empty());
}

/// A scheduler's engine on the server's objects, from a first list on.
struct Process {
  explicit Process(const Server& server) : world(volume_plugin("VolumeBinding")) {
    world.engine.put_object(make_class("wait", "kubernetes.io/no-provisioner"));
    world.engine.put_object(make_class("made", "driver"));
    for (const auto& [name, v] : server.volumes) world.engine.put_object(std::make_shared<const Volume>(v));
    for (const auto& [name, c] : server.claims) world.engine.put_object(std::make_shared<const Claim>(c));
    for (const char* node : {"n", "m"}) world.engine.put_node(make_node(node));
    world.engine.put_pod(make_pod("x", "", "", volumes({claim("p"), claim("q")})));
  }
  World world;
};

TEST_CASE(
    "whatever write a scheduler dies with, the next one goes on from there and no volume is bound twice") {
  const bool takes_last = GENERATE(false, true);
  // The volume, the claim, and after both before the binding.
  for (int dies_at = 1; dies_at <= 3; ++dies_at) {
    INFO(dies_at << " " << takes_last);
    Rig rig;
    rig.server.put(volume("v"));
    rig.server.put(volume("w"));
    rig.server.put(unbound("p"));
    rig.server.put(unbound("q", "made"));
    const auto attempt = [&](std::chrono::seconds timeout) {
      Process process(rig.server);
      const Decision d = process.world.one();
      REQUIRE(d.kind() == Decision::Kind::bind);
      CHECK(d.node() == "n");  // where the volumes are
      REQUIRE(d.as<Decision::Bind>()->pre_binds.size() == 1);
      kube::Client client(rig.transport, rig.loop.clock, {});
      const PreBindWork::Context context{client,
                                         rig.loop.clock,
                                         [] { return true; },
                                         d.pod,
                                         d.node(),
                                         [&](const kube::ObjectType& type, std::string_view,
                                             std::string_view name) { return rig.server.find(type, name); }};
      if (timeout.count() > 0)
        rig.loop.clock.call_at(rig.loop.clock.mono() + timeout, [&] {
          for (auto& [name, v] : rig.server.volumes)
            if (v.spec.claim_ref) rig.server.bind("p", name);
          rig.server.put(volume("made-for-q"));
          rig.server.bind("q", "made-for-q");
        });
      return koord::test::run_task(rig.loop, d.as<Decision::Bind>()->pre_binds[0].work->run(context)).message;
    };
    rig.server.dies_at = dies_at;
    rig.server.takes_last = takes_last;
    const std::string first = attempt(std::chrono::seconds(0));
    CHECK_FALSE(first.empty());
    rig.server.dead = false;
    rig.server.dies_at = 0;
    CHECK(attempt(std::chrono::seconds(1)) == "");
    int taken = 0;
    for (const auto& [name, v] : rig.server.volumes) taken += v.spec.claim_ref.has_value();
    CHECK(taken == 1);
    CHECK(*rig.server.claims["q"].metadata.annotations.find("volume.kubernetes.io/selected-node") == "n");
  }
}

}  // namespace
}  // namespace koord::scheduling::test
