// The annotation device-allocated under admission: see device_allocation.hpp.
#include "admission/pod/device_allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kAnnotation = api::DeviceAllocations::kAnnotation;
constexpr std::size_t kLongestKey = 4096;
constexpr std::chrono::minutes kQuiet{1};  // between two lines of the log

constexpr metrics::Metric kFailures{.name = "koord_manager_webhook_device_admission_failures_total",
                                    .type = metrics::Type::counter,
                                    .help =
                                        "Changes of the devices of pods of which it could not be asked "
                                        "who may bind them, by why and by what was decided.",
                                    .labels = {"reason", "decision"}};

/// A copy; nothing if it is too long.
std::optional<Subject> subject_of(const AdmissionRequest& request) {
  std::size_t size = request.username.size() + request.user_uid.size();
  const auto fits = [&size](std::string_view text) {
    size += text.size() + 1;
    return size <= DevicesValidating::kLongestSubject;
  };
  Subject subject{std::string(request.username), std::string(request.user_uid), {}, {}};
  for (const std::string_view group : request.groups) {
    if (!fits(group)) return std::nullopt;
    subject.groups.emplace_back(group);
  }
  if (request.extra.is_object())
    for (const json::Member& member : request.extra.members()) {
      if (!fits(member.key())) return std::nullopt;
      auto& [name, values] =
          subject.extra.emplace_back(std::string(member.key()), std::vector<std::string>());
      if (!member.value.is_array()) continue;
      for (const json::Value& value : member.value.elements()) {
        if (!fits(value.text())) return std::nullopt;
        values.emplace_back(value.text());
      }
    }
  std::ranges::sort(subject.extra);
  return size <= DevicesValidating::kLongestSubject ? std::optional(std::move(subject)) : std::nullopt;
}

/// One text for one subject and namespace: each part with its length, each list with its own.
std::string key_of(const Subject& subject, std::string_view ns) {
  std::string key;
  const auto add = [&key](std::string_view text) {
    fmt::format_to(std::back_inserter(key), "{}:{},", text.size(), text);
  };
  const auto add_all = [&](const std::vector<std::string>& texts) {
    fmt::format_to(std::back_inserter(key), "{};", texts.size());
    for (const std::string& text : texts) add(text);
  };
  add(ns);
  add(subject.user);
  add(subject.uid);
  add_all(subject.groups);
  for (const auto& [name, values] : subject.extra) {
    add(name);
    add_all(values);
  }
  return key;
}

/// Questions with the same answer, for as long as it is good; all are forgotten when they are too many.
class Answers {
 public:
  bool holds(std::string_view key, MonoTime now) const {
    const auto found = until_.find(key);
    return found != until_.end() && now < found->second;
  }
  void add(std::string key, MonoTime until) {
    if (key.size() > kLongestKey) return;
    if (until_.size() >= DevicesValidating::kMost) until_.clear();
    until_[std::move(key)] = until;
  }

 private:
  std::map<std::string, MonoTime, std::less<>> until_;
};

/// A question that was asked and has no answer yet.
struct Flight {
  Event over;
  std::optional<Result<bool>> answer;  // none: whoever asked it was called off
};
using Flights = std::map<std::string, std::shared_ptr<Flight>>;

/// However who asked ends, those who wait with him go on.
class Landing {
 public:
  Landing(Flights& all, Flights::iterator place) : all_(all), place_(place) {}
  ~Landing() {
    const std::shared_ptr<Flight> flight = std::move(place_->second);
    all_.erase(place_);
    flight->over.set();
  }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

 private:
  Flights& all_;
  Flights::iterator place_;
};

/// Whether that says something of the question, not of who asked it.
bool is_shared(const Result<bool>& answer) {
  return answer || (answer.error().code() != Code::timeout && answer.error().code() != Code::cancelled);
}

/// The API server does not let the manager ask, or does not know the question: asking again is no use.
bool may_not_ask(Code code) {
  return code == Code::forbidden || code == Code::not_found || code == Code::unsupported;
}

Verdict refused(std::string_view user) {
  return Verdict::error(400, fmt::format("annotations.{}: Forbidden: only the scheduler says which "
                                         "devices a pod is given, and user {:.256} may not bind pods",
                                         kAnnotation, user));
}

}  // namespace

const metrics::Table DevicesValidating::kMetrics = {&kFailures};

struct DevicesValidating::State {
  Parts parts;
  metrics::Family<metrics::Counter> failures;
  Answers good, bad;
  Flights asked;
  std::optional<MonoTime> told_passed, told_refused;

  /// What becomes of a change about whose author nothing is known.
  Verdict unanswered(std::string_view user, const Error& why) {
    const bool passes = may_not_ask(why.code());
    failures.with({to_string(why.code()), passes ? "allowed" : "refused"}).inc();
    std::optional<MonoTime>& told = passes ? told_passed : told_refused;
    if (const MonoTime now = parts.clock.mono(); !told || now - *told >= kQuiet) {
      told = now;
      parts.log.warn(
          passes
              ? "who may bind pods cannot be asked: changes of the devices of pods pass unchecked meanwhile"
              : "who may bind pods cannot be asked: changes of the devices of pods are refused meanwhile",
          kv("annotation", kAnnotation), kv("error", why));
    }
    if (passes) return Verdict::allow();
    return Verdict::unavailable(
        fmt::format("annotations.{}: whether user {:.256} may bind pods is not known, since the API server "
                    "does not say it ({}): try again",
                    kAnnotation, user, to_string(why.code())));
  }
};

Task<Result<bool>> may_bind(kube::Client& client, Subject subject, std::string ns) {
  api::SubjectAccessReview question;
  question.spec.user = std::move(subject.user);
  question.spec.uid = std::move(subject.uid);
  question.spec.groups = std::move(subject.groups);
  for (auto& [name, values] : subject.extra) question.spec.extra[name] = std::move(values);
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
    : state_(std::make_shared<State>(State{std::move(parts), {}, {}, {}, {}, {}, {}})) {
  state_->failures = state_->parts.registry.counters(kFailures);
}

Verdict DevicesValidating::handle(const AdmissionRequest& request, const PluginTimes&) {
  if (!is_about(request, "pods") || request.operation != Operation::update) return Verdict::allow();
  if (annotation(request.object, kAnnotation) == annotation(request.old_object, kAnnotation))
    return Verdict::allow();
  std::optional<Subject> subject = subject_of(request);
  if (!subject)
    return Verdict::error(400, fmt::format("annotations.{}: Forbidden: who changes it has a name, groups and "
                                           "extra of more than {} bytes",
                                           kAnnotation, kLongestSubject));
  std::string key = key_of(*subject, request.ns);
  const MonoTime now = state_->parts.clock.mono();
  if (state_->good.holds(key, now)) return Verdict::allow();
  if (state_->bad.holds(key, now)) return refused(subject->user);
  Verdict verdict = Verdict::allow();
  verdict.later = [state = state_, subject = *std::move(subject), ns = std::string(request.ns),
                   key = std::move(key),
                   until = request.until] { return ask(state, subject, ns, key, until); };
  return verdict;
}

Task<Result<bool>> DevicesValidating::answer(std::shared_ptr<State> state, Subject subject, std::string ns,
                                             std::string key, MonoTime end) {
  Clock& clock = state->parts.clock;
  for (;;) {
    const nanoseconds left = end - clock.mono();
    if (left <= nanoseconds::zero()) co_return Error(Code::timeout, "no time is left to ask who may bind");
    const auto [place, first] = state->asked.try_emplace(key);
    if (first) {
      const std::shared_ptr<Flight> flight = place->second = std::make_shared<Flight>();
      const Landing landing(state->asked, place);
      flight->answer =
          co_await with_timeout(clock, left, state->parts.may_bind(std::move(subject), std::move(ns)));
      co_return *flight->answer;
    }
    const std::shared_ptr<Flight> flight = place->second;
    KOORD_CO_CHECK(co_await with_timeout(clock, left, flight->over.wait()));
    if (flight->answer && is_shared(*flight->answer)) co_return *flight->answer;
  }
}

Task<Result<Verdict>> DevicesValidating::ask(std::shared_ptr<State> state, Subject subject, std::string ns,
                                             std::string key, MonoTime until) {
  Clock& clock = state->parts.clock;
  const std::string user = subject.user;
  const MonoTime end = std::min(clock.mono() + kPatience, until - kMargin);
  const Result<bool> may = co_await answer(state, std::move(subject), std::move(ns), key, end);
  if (!may && may.error().code() == Code::cancelled) co_return may.error();
  if (!may) co_return state->unanswered(user, may.error());
  if (!*may) {
    state->bad.add(std::move(key), clock.mono() + kBad);
    co_return refused(user);
  }
  state->good.add(std::move(key), clock.mono() + kGood);
  co_return Verdict::allow();
}

}  // namespace koord::manager
