// The annotation device-allocated under admission: see device_allocation.hpp.
#include "admission/pod/device_allocation.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/async/timer.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kAnnotation = api::DeviceAllocations::kAnnotation;
constexpr std::size_t kLongestKey = 4096, kMostReasons = 16;

/// One text for one subject and namespace: each part with its length.
std::string key_of(const Subject& subject, std::string_view ns) {
  std::string key = fmt::format("{}:{},{}:{}", ns.size(), ns, subject.user.size(), subject.user);
  for (const std::string& group : subject.groups)
    fmt::format_to(std::back_inserter(key), ",{}:{}", group.size(), group);
  return key;
}

}  // namespace

struct DevicesValidating::State {
  Parts parts;
  std::map<std::string, MonoTime, std::less<>> good;  // until when; kMost at most
  std::set<std::string, std::less<>> told;            // why it could not be asked
};

Task<Result<bool>> may_bind(kube::Client& client, Subject subject, std::string ns) {
  api::SubjectAccessReview question;
  question.spec.user = std::move(subject.user);
  question.spec.groups = std::move(subject.groups);
  api::ResourceAttributes& wanted = question.spec.resource_attributes.emplace();
  wanted.namespace_ = std::move(ns);
  wanted.verb = "create";
  wanted.version = "v1";
  wanted.resource = "pods";
  wanted.subresource = "binding";
  KOORD_CO_TRY(answer, co_await client.create(std::move(question)));
  co_return answer.status.allowed;
}

DevicesValidating::DevicesValidating(Parts parts)
    : state_(std::make_shared<State>(State{std::move(parts), {}, {}})) {}

Verdict DevicesValidating::handle(const AdmissionRequest& request, const PluginTimes&) {
  if (!is_about(request, "pods") || request.operation != Operation::update) return Verdict::allow();
  if (annotation(request.object, kAnnotation) == annotation(request.old_object, kAnnotation))
    return Verdict::allow();
  Subject subject{std::string(request.username), {}};
  for (const std::string_view group : request.groups) subject.groups.emplace_back(group);
  std::string key = key_of(subject, request.ns);
  if (const auto known = state_->good.find(key);
      known != state_->good.end() && state_->parts.clock.mono() < known->second)
    return Verdict::allow();
  Verdict verdict = Verdict::allow();
  verdict.later = [state = state_, subject = std::move(subject), ns = std::string(request.ns),
                   key = std::move(key)] { return ask(state, subject, ns, key); };
  return verdict;
}

Task<Result<Verdict>> DevicesValidating::ask(std::shared_ptr<State> state, Subject subject, std::string ns,
                                             std::string key) {
  const std::string user = subject.user;
  const Result<bool> may = co_await with_timeout(state->parts.clock, kPatience,
                                                 state->parts.may_bind(std::move(subject), std::move(ns)));
  if (!may) {
    if (may.error().code() == Code::cancelled) co_return may.error();
    if (state->told.size() < kMostReasons && state->told.emplace(may.error().message()).second)
      state->parts.log.warn(
          "who may bind pods cannot be asked: changes of the devices of pods pass unchecked meanwhile",
          kv("annotation", kAnnotation), kv("error", may.error()));
    co_return Verdict::allow();
  }
  if (!*may)
    co_return Verdict::error(400, fmt::format("annotations.{}: Forbidden: only the scheduler says which "
                                              "devices a pod is given, and user {:.256} may not bind pods",
                                              kAnnotation, user));
  if (key.size() > kLongestKey) co_return Verdict::allow();
  if (state->good.size() >= kMost) state->good.clear();
  state->good[std::move(key)] = state->parts.clock.mono() + kGood;
  co_return Verdict::allow();
}

}  // namespace koord::manager
