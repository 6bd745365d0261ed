// KoordinatorBook: see koordinator_book.hpp.
#include "scheduling/plugins/coscheduling/koordinator_book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::coscheduling {

namespace {

constexpr std::string_view kPod = "Pod", kPodGroup = "PodGroup";

api::GangMatchPolicy policy_of(const CoschedulingArgs& args) {
  return args.default_match_policy == "only-waiting"          ? api::GangMatchPolicy::only_waiting
         : args.default_match_policy == "waiting-and-running" ? api::GangMatchPolicy::waiting_and_running
                                                              : api::GangMatchPolicy::once_satisfied;
}

std::string in_quotes(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace

KoordinatorBook::KoordinatorBook(const PluginContext& context, const CoschedulingArgs& args)
    : GangBook(context),
      doors_(context.shared.get<gangs::Doors>()),
      default_wait_(args.default_timeout ? args.default_timeout->value : std::chrono::minutes(10)),
      default_policy_(policy_of(args)) {
  doors_.koordinators = true;
  context.objects.watch<api::PodGroup>().on_change(
      [this](const api::PodGroup* before, const api::PodGroup* now) { pod_group_changed(before, now); });
}

std::optional<Symbol> KoordinatorBook::gang_of(const api::Pod& pod) const {
  auto named = api::gang_of(pod.metadata);
  if (!named || doors_.in_two(pod)) return std::nullopt;
  return std::move(named->name);
}

// What gangs say

void KoordinatorBook::take(Gang& gang, const api::GangTerms& terms, const api::ObjectMeta& object,
                           std::string_view kind) {
  gang.total = terms.total;
  gang.strict = terms.strict;
  gang.policy = terms.match_policy.value_or(default_policy_);
  gang.topology = terms.topology;
  for (const std::string& line : api::gang_warnings(object)) complaints().say(kind, object, line);
  if (gang.min < 1)
    complaints().say(
        kind, object,
        fmt::format("gang {} asks for {} members: its pods do not wait for one another", gang.id, gang.min));
  if (gang.topology && !gang.strict)
    complaints().say(kind, object,
                     fmt::format("gang {} is NonStrict: {} does not count, its pods are placed one by one",
                                 gang.id, api::NetworkTopologySpec::kAnnotation));
  const auto& groups = terms.groups;
  if (!groups.empty() && std::ranges::find(groups, gang.id) == groups.end())
    complaints().say(
        kind, object,
        fmt::format("{} does not name gang {} itself: it is taken as if it did", api::kGangGroups, gang.id));
  join(gang, groups);
  for (const std::string& each : gang.group->gangs)
    if (const Gang* other = find(each); other != nullptr && other->known && other->group != gang.group)
      complaints().say(kind, object,
                       fmt::format("gang {} says that it is placed with {}, which says otherwise ({}): each "
                                   "waits for those that it names",
                                   gang.id, each, other->group->id));
  settled(gang, object, kind);
}

/// The first pod says it for all.
void KoordinatorBook::read_terms(Gang& gang, const api::Pod& pod) {
  if (const auto named = api::gang_of(pod.metadata); named->source == api::GangSource::pod_group) return;
  const api::GangTerms terms = api::gang_terms(pod.metadata);
  if (!terms.min) {
    for (const std::string& line : api::gang_warnings(pod.metadata))
      complaints().say(kPod, pod.metadata, line);
    return;
  }
  gang.min = *terms.min;
  gang.wait = terms.waiting_time.value_or(default_wait_);
  take(gang, terms, pod.metadata, kPod);
}

void KoordinatorBook::pod_group_changed(const api::PodGroup* before, const api::PodGroup* now) {
  const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
  if (now == nullptr) {
    Gang* const known = find(id_of(meta.namespace_.view(), meta.name));
    if (known == nullptr || !known->from_pod_group) return;
    forget_terms(*known, "gang is nil, may be already deleted");
    return drop_if_empty(*known);
  }
  // Its status is written all the time.
  if (before != nullptr && before->spec == now->spec && before->metadata.annotations == meta.annotations &&
      before->metadata.uid == meta.uid)
    return;
  Gang& of = gang(meta.namespace_.view(), meta.name);
  const api::GangTerms terms = api::gang_terms(meta);
  of.from_pod_group = true;
  of.min = now->spec.min_member;
  const std::int32_t seconds = now->spec.schedule_timeout_seconds.value_or(0);
  of.wait = seconds > 0 ? std::chrono::seconds(seconds) : default_wait_;
  take(of, terms, meta, kPodGroup);
  if (!of.pending.empty()) changed(*of.group);
}

// What is told

std::string KoordinatorBook::lack(const Group& group, const Member& member) const {
  const Gang& own = *member.gang;
  const std::string pod = text(placed_name(*member.pod));
  if (!own.known) return fmt::format("gang has not init, gangName: {}, podName: {}", own.id, pod);
  std::vector<std::string_view> absent, unknown;
  bool short_of_pods = false;
  for (const std::string& id : group.gangs) {
    const Gang* const gang = find(id);
    if (gang == nullptr) {
      absent.push_back(id);
    } else if (!gang->known) {
      unknown.push_back(id);
    } else if (!gang->enough) {
      short_of_pods = true;
    }
  }
  std::vector<std::string> why;
  const std::string all = fmt::format("[{}]", fmt::join(group.gangs, " "));
  if (!absent.empty()) why.push_back(fmt::format("memberGangs [{}] doesn't exists", fmt::join(absent, " ")));
  if (!unknown.empty()) why.push_back(fmt::format("memberGangs [{}] has not init", fmt::join(unknown, " ")));
  if (short_of_pods) why.push_back(fmt::format("memberGangs {} child pod not collect enough", all));
  return fmt::format("gangGroup {} basic check: {}, current gang: {}, podName: {}", all, fmt::join(why, ", "),
                     own.id, pod);
}

std::string KoordinatorBook::rejection(const Group& group, const api::Pod& pod, std::string_view why,
                                       std::size_t placed) const {
  return fmt::format(
      "GangGroup {} gets rejected due to member Pod {} is unschedulable with reason {}, alreadyWaitForBound: "
      "{}",
      in_quotes(group.id), in_quotes(text(placed_name(pod))), in_quotes(why), placed);
}

std::string KoordinatorBook::given_up(const Gang& gang, const api::Pod& pod) const {
  return fmt::format("Gang {} gets rejected due to Pod {} in Unreserve", in_quotes(gang.id),
                     in_quotes(pod.metadata.name));
}

}  // namespace koord::scheduling::coscheduling
