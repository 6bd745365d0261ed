// Rights that only a gate or a flag needs: whether they are granted, on the fake clock.
#include "runtime/right_check.hpp"

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "support/role_rig.hpp"

namespace koord::runtime {
namespace {

constexpr Right kRights[] = {
    {"", "pods", "list get"},
    {"", "pods", "list patch", "", "", "Shiny"},
    {"", "pods/eviction", "create", "", "", "Shiny"},
    {"example.com", "things", "get", "one", kOwnNamespace, "by-flag"},
};
constexpr Flag kFlags[] = {{"feature-gates", FlagType::pairs, "", "Gates."},
                           {"by-flag", FlagType::boolean, "false", "A flag with rights of its own."}};
constexpr FeatureGate kGates[] = {{.name = "Shiny", .enabled = false, .stage = Stage::alpha}};
constexpr RoleDescriptor kRole{
    .name = "role", .summary = "", .flags = kFlags, .gates = kGates, .rights = kRights};

struct World : test::RoleRig {
  std::vector<api::ResourceAttributes> asked;
  bool up = true, grants = false;

  explicit World(bool on) : RoleRig(kRole, {on ? "--by-flag=true" : "--by-flag=false"}) {
    if (on) REQUIRE(gates.set("Shiny=true").has_value());
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (!up) return Error(Code::unavailable, "connection refused");
      REQUIRE(request.target == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
      api::SelfSubjectAccessReview answer = *api::decode<api::SelfSubjectAccessReview>(request.body);
      asked.push_back(*answer.spec.resource_attributes);
      answer.status.allowed = grants || answer.spec.resource_attributes->verb == "list";
      return test::json_response(201, api::encode(answer));
    };
  }
  void begin() {
    tasks.spawn("rights", tell_missing_rights(api, loop.clock, log, rights_of_gates(kRights, gates, flags)));
    loop.settle();
  }
};

TEST_CASE(
    "A gate or a flag that is on and whose rights are missing is told, with the file that grants them") {
  World w(true);
  w.begin();
  CHECK(w.captured.contains(R"(needed_by=Shiny missing="patch pods, create pods/eviction" )"
                            "file=packaging/manifests-gates/Shiny.yaml"));
  CHECK(w.captured.contains(R"(missing="get things.example.com one in koordinator-system")"));
  REQUIRE(w.asked.size() == 4);
  CHECK((w.asked[2].resource == "pods" && w.asked[2].subresource == "eviction"));
  CHECK((w.asked[3].name == "one" && w.asked[3].namespace_ == kOwnNamespace));
  // Told once; once they are granted that is said, and nobody is asked any more.
  const std::size_t lines = w.captured.lines().size();
  for (int minute = 0; minute < 3; ++minute) w.loop.advance(std::chrono::minutes{1});
  CHECK(w.asked.size() == 16);
  CHECK(w.captured.lines().size() == lines);
  w.grants = true;
  w.loop.advance(std::chrono::minutes{1});
  CHECK(w.captured.contains("rights that were missing are granted"));
  CHECK(w.tasks.size() == 0);
}

TEST_CASE("An API server that does not answer is asked about rights again") {
  World w(true);
  w.up = false;
  w.begin();
  w.loop.advance(std::chrono::minutes{2});
  CHECK(w.captured.lines().empty());
  w.up = true;
  w.loop.advance(std::chrono::minutes{1});
  CHECK(w.captured.contains("Shiny.yaml"));
  CHECK(w.captured.contains("by-flag.yaml"));
}

TEST_CASE("Without the gate and the flag nothing is asked about rights") {
  World w(false);
  CHECK(rights_of_gates(kRights, w.gates, w.flags).empty());
}

}  // namespace
}  // namespace koord::runtime
