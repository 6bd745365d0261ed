// Gangs as JSON: see describe.hpp.
#include "scheduling/plugins/coscheduling/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"

namespace koord::scheduling::coscheduling {

namespace {

using gangs::Gang;
using gangs::Group;
using gangs::Member;
using Members = std::vector<const Member*>;

std::string_view to_string(api::GangMatchPolicy policy) {
  switch (policy) {
    case api::GangMatchPolicy::only_waiting: return "only-waiting";
    case api::GangMatchPolicy::waiting_and_running: return "waiting-and-running";
    case api::GangMatchPolicy::once_satisfied: break;
  }
  return "once-satisfied";
}

/// As Go writes a set: a member of no value for each.
template <class Is>
void set_of(json::Writer& json, std::string_view name, const Members& members, Is&& is) {
  json.key(name).begin_object();
  for (const Member* member : members)
    if (is(*member)) json.key(member->key).begin_object().end_object();
  json.end_object();
}

void list_of(json::Writer& json, std::string_view name, const std::vector<std::string>& all) {
  json.key(name).begin_array();
  for (const std::string& each : all) json.value(each);
  json.end_array();
}

void write(json::Writer& json, const Gang& gang, const Members& members) {
  const Group& group = *gang.group;
  const auto in = [](Member::Stage stage) { return [stage](const Member& m) { return m.stage == stage; }; };
  json.begin_object()
      .member("name", gang.id)
      .member("waitTime", static_cast<std::int64_t>(gang.wait.count()))
      .member("createTime",
              gang.created == WallTime{} ? "0001-01-01T00:00:00Z" : api::Time(gang.created).to_string())
      .member("mode", gang.strict ? "Strict" : "NonStrict")
      .member("gangMatchPolicy", to_string(gang.policy))
      .member("minRequiredNumber", std::int64_t{gang.min})
      .member("totalChildrenNum", std::int64_t{gang.total});
  list_of(json, "gangGroup", group.gangs);
  set_of(json, "children", members, [](const Member&) { return true; });
  set_of(json, "pendingChildren", members, in(Member::Stage::pending));
  set_of(json, "waitingForBindChildren", members, in(Member::Stage::assumed));
  set_of(json, "boundChildren", members, in(Member::Stage::bound));
  json.member("onceResourceSatisfied", group.satisfied);
  json.key("gangGroupInfo").begin_object().member("Initialized", gang.known).member("GangGroupId", group.id);
  list_of(json, "GangGroup", group.gangs);
  json.member("OnceResourceSatisfied", group.satisfied)
      .member("RepresentativePodKey", group.representative)
      .end_object();
  json.member("gangFrom", gang.from_pod_group ? "GangFromPodGroupCrd" : "GangFromPodAnnotation")
      .member("hasGangInit", gang.known)
      .end_object();
}

}  // namespace

std::optional<ServiceAnswer> describe(const gangs::GangBook& book, std::string_view path) {
  ServiceAnswer answer;
  json::Writer json(answer.json);
  if (path == "/gangs") {
    json.begin_object();
    book.each_gang([&](const Gang& gang, const Members& members) {
      json.key(gang.id);
      write(json, gang, members);
    });
    json.end_object();
    return answer;
  }
  constexpr std::string_view kOne = "/gang/";
  if (!path.starts_with(kOne) || std::ranges::count(path.substr(kOne.size()), '/') != 1) return std::nullopt;
  const std::string_view id = path.substr(kOne.size());
  bool found = false;
  book.each_gang([&](const Gang& gang, const Members& members) {
    if (gang.id != id) return;
    found = true;
    write(json, gang, members);
  });
  if (!found) return service_error(404, fmt::format("cannot find gang {}", id));
  return answer;
}

}  // namespace koord::scheduling::coscheduling
