// SelfSubjectAccessReviews, one a verb.
#include "right_check.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/client.hpp"

namespace koord::runtime {
namespace {

constexpr auto kAgainAfter = std::chrono::minutes{1};

/// "patch pods", "list configmaps/one in koordinator-system".
std::string described(const Right& right, std::string_view verb) {
  std::string text =
      fmt::format("{} {}{}{}", verb, right.resource, right.group.empty() ? "" : ".", right.group);
  if (!right.name.empty()) text += fmt::format(" {}", right.name);
  if (!right.ns.empty()) text += fmt::format(" in {}", right.ns);
  return text;
}

/// As RBAC's rules write it: "pods/eviction".
api::ResourceAttributes attributes(const Right& right, std::string_view verb) {
  api::ResourceAttributes out;
  const auto slash = right.resource.find('/');
  out.group = right.group;
  out.resource = right.resource.substr(0, slash);
  if (slash != std::string_view::npos) out.subresource = right.resource.substr(slash + 1);
  out.verb = verb;
  out.name = right.name;
  out.namespace_ = right.ns;
  return out;
}

Task<Result<bool>> is_granted(kube::Client& client, const Right& right, std::string_view verb) {
  api::SelfSubjectAccessReview question;
  question.spec.resource_attributes = attributes(right, verb);
  KOORD_CO_TRY(answer, co_await client.create(std::move(question)));
  co_return answer.status.allowed;
}

/// What is missing, by the gate or the flag that needs it.
using Missing = std::map<std::string_view, std::string>;

Task<Result<Missing>> find_missing(kube::Client& client, const std::vector<Right>& rights) {
  Missing missing;
  for (const Right& right : rights)
    for (std::string_view rest = right.verbs; !rest.empty();) {
      const auto space = rest.find(' ');
      const std::string_view verb = rest.substr(0, space);
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
      KOORD_CO_TRY(granted, co_await is_granted(client, right, verb));
      if (granted) continue;
      std::string& all = missing[right.needed_by];
      all += fmt::format("{}{}", all.empty() ? "" : ", ", described(right, verb));
    }
  co_return std::move(missing);
}

}  // namespace

std::vector<Right> rights_of_gates(std::span<const Right> rights, const FeatureGates& gates,
                                   const FlagValues& flags) {
  std::vector<Right> wanted;
  for (const Right& right : rights)
    if (!right.needed_by.empty() &&
        (gates.known(right.needed_by) ? gates.enabled(right.needed_by) : flags.get_bool(right.needed_by)))
      wanted.push_back(right);
  return wanted;
}

Task<Result<>> tell_missing_rights(kube::Client& client, Clock& clock, Logger log,
                                   std::vector<Right> rights) {
  std::set<std::string_view> told;
  for (;;) {
    const Result<Missing> missing = co_await find_missing(client, rights);
    if (!missing && missing.error().code() == Code::cancelled) co_return missing.error();
    if (missing) {
      for (const auto& [needed_by, what] : *missing)
        if (told.insert(needed_by).second)
          log.warn("rights are missing that a gate or a flag needs: apply the file that grants them",
                   kv("needed_by", needed_by), kv("missing", what),
                   kv("file", fmt::format("{}/{}.yaml", kGateManifests, needed_by)));
      for (auto each = told.begin(); each != told.end();) {
        if (missing->contains(*each)) {
          ++each;
          continue;
        }
        log.info("rights that were missing are granted", kv("needed_by", *each));
        each = told.erase(each);
      }
      if (missing->empty()) co_return Result<>();
    }
    KOORD_CO_CHECK(co_await sleep(clock, kAgainAfter));
  }
}

}  // namespace koord::runtime
