// Pods that slipped past the webhook, and those that only look so.
#include "controllers/missed_profiles.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"

namespace koord::manager {
namespace {

std::shared_ptr<const Profile> profile(std::string_view name, std::string_view spec) {
  auto made = std::make_shared<api::ClusterColocationProfile>();
  made->metadata.name = name;
  made->spec = api::decode<api::ClusterColocationProfileSpec>(spec).value();
  return std::make_shared<const Profile>(made);
}

std::string missed(std::string_view pod_json, const std::vector<std::string_view>& specs,
                   std::string_view since = "2026-01-02T00:00:00Z", const api::SymbolMap& ns = {}) {
  api::Pod pod = api::decode<api::Pod>(pod_json).value();
  pod.metadata.creation_timestamp = api::Time::parse("2026-01-02T03:00:00Z").value();
  std::vector<std::shared_ptr<const Profile>> profiles;
  profiles.reserve(specs.size());
  for (const std::string_view spec : specs)
    profiles.push_back(profile(std::to_string(profiles.size()), spec));
  const auto found =
      missed_profile(pod, profiles, ns, [&](const Profile&) { return api::Time::parse(since).value(); });
  return found ? std::string(found->profile->name()) + ": " + found->what : std::string();
}

TEST_CASE("What a pod lacks of its profiles") {
  constexpr std::string_view kBatch =
      R"({"selector":{"matchLabels":{"app":"a"}},"qosClass":"BE","labels":{"x":"1"},"schedulerName":"koord-scheduler","priorityClassName":"koord-batch"})";
  constexpr std::string_view kWhole =
      R"({"metadata":{"labels":{"app":"a","x":"1","koordinator.sh/qosClass":"BE"}},"spec":{"schedulerName":"koord-scheduler","priorityClassName":"koord-batch"}})";
  struct Row {
    std::string_view what, pod;
    std::vector<std::string_view> specs;
    std::string_view missed;
  };
  for (
      const Row& row : {
          Row{"all", kWhole, {kBatch}, ""},
          Row{"nothing",
              R"({"metadata":{"labels":{"app":"a"}}})",
              {kBatch},
              "0: label koordinator.sh/qosClass=BE"},
          Row{"the scheduler",
              R"({"metadata":{"labels":{"app":"a","x":"1","koordinator.sh/qosClass":"BE"}},"spec":{"schedulerName":"default-scheduler","priorityClassName":"koord-batch"}})",
              {kBatch},
              "0: scheduler koord-scheduler"},
          Row{"the class",
              R"({"metadata":{"labels":{"app":"a","x":"1","koordinator.sh/qosClass":"BE"}},"spec":{"schedulerName":"koord-scheduler"}})",
              {kBatch},
              "0: priority class koord-batch"},
          Row{"another pod", R"({"metadata":{"labels":{"app":"b"}}})", {kBatch}, ""},
          Row{"an annotation", R"({})", {R"({"annotations":{"a":"1"}})"}, "0: annotation a=1"},
          Row{"the priority",
              R"({})",
              {R"({"koordinatorPriority":7})"},
              "0: label koordinator.sh/priority=7"},
          Row{"the last of two that say the same",
              R"({"metadata":{"labels":{"x":"1"}}})",
              {R"({"labels":{"x":"1"}})", R"({"labels":{"x":"2"}})"},
              "1: label x=2"},
          Row{"the first is overridden",
              R"({"metadata":{"labels":{"x":"2"}}})",
              {R"({"labels":{"x":"1"}})", R"({"labels":{"x":"2"}})"},
              ""},
          Row{"what one gives makes no other match",
              R"({"metadata":{"labels":{"x":"1"}}})",
              {R"({"labels":{"x":"1"}})", R"({"selector":{"matchLabels":{"x":"1"}},"labels":{"y":"1"}})"},
              ""},
          Row{"a share of the pods", R"({})", {R"({"probability":"50%","labels":{"x":"1"}})"}, ""},
          Row{"which another overrides",
              R"({"metadata":{"labels":{"x":"2"}}})",
              {R"({"labels":{"x":"1"}})", R"({"probability":"50%","labels":{"x":"2"}})"},
              ""},
          Row{"copied and appended",
              R"({"metadata":{"labels":{"x":"1-a"}}})",
              {R"({"labels":{"x":"1","y":"1"},"labelKeysMapping":{"z":"y"},"labelSuffixes":{"x":"-a"}})"},
              ""},
          Row{"patched",
              R"({"metadata":{"labels":{"x":"3"}}})",
              {R"({"labels":{"x":"1"},"patch":{"metadata":{"labels":{"x":"3"}}}})"},
              ""},
          Row{"a profile that cannot be read", R"({})", {R"({"labels":{"x":"1"},"probability":"much"})"}, ""},
      }) {
    CAPTURE(row.what);
    CHECK(missed(row.pod, row.specs) == row.missed);
  }
}

TEST_CASE("A profile that is younger than the pod, and one for other namespaces") {
  CHECK(missed("{}", {R"({"labels":{"x":"1"}})"}) == "0: label x=1");
  CHECK(missed("{}", {R"({"labels":{"x":"1"}})"}, "2026-01-02T03:00:01Z").empty());
  constexpr std::string_view kElsewhere =
      R"({"namespaceSelector":{"matchLabels":{"team":"a"}},"labels":{"x":"1"}})";
  CHECK(missed("{}", {kElsewhere}).empty());
  CHECK(missed("{}", {kElsewhere}, "2026-01-02T00:00:00Z", {{"team", Symbol("a")}}) == "0: label x=1");
}

}  // namespace
}  // namespace koord::manager
