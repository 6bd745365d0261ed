// Who is asked when, and what the answers come to.
#include "sandbox/webhooks/webhooks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/async/event.hpp"
#include "koord/base/text.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

constexpr std::chrono::milliseconds kStop{500};

Failure out_of_time() {
  Failure failure;
  failure.code = 504;
  failure.reason = "Timeout";
  failure.message = "Timeout: request did not complete within requested timeout - context deadline exceeded";
  return failure;
}

// 500 for what goes wrong on the way to a decision, with the cause that Go's errors have.
Failure internal(std::string why) {
  Failure failure = internal_error(why);
  failure.causes.push_back({"", std::move(why), ""});
  return failure;
}

}  // namespace

Webhooks::Webhooks(asio::any_io_executor executor, Verbs& verbs, Caller& caller)
    : verbs_(verbs), caller_(caller), hooks_(verbs.registry()), tasks_(std::move(executor)) {}

Task<> Webhooks::stop() { return tasks_.stop(verbs_.clock(), kStop); }

Task<Reply> Webhooks::handle(Api& api, net::Request request) {
  std::vector<std::string> warnings;
  Reply reply = co_await reviewed([&](Gate* gate) { return api.handle(request, gate); }, &warnings);
  for (const std::string& text : warnings) reply.http.headers.add("Warning", warning_header(text));
  co_return reply;
}

void Webhooks::create(const Kind& kind, std::string ns, json::Document doc, Done done) {
  if (idle()) return done(verbs_.create(kind, ns, doc));
  auto held = verbs_.registry().find(kind.group, kind.version, kind.resource);
  tasks_.spawn("create", create_reviewed(held, std::move(ns), std::move(doc), std::move(done)));
}

Task<> Webhooks::create_reviewed(std::shared_ptr<const Kind> kind, std::string ns, json::Document doc,
                                 Done done) {
  const auto created = co_await reviewed([&](Gate* gate) {
    gate->options = R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"})";
    json::Document copy = json::clone(doc);
    WriteOptions options;
    options.gate = gate;
    return verbs_.create(*kind, ns, copy, options);
  });
  done(created);
}

Task<> Webhooks::decide(SessionPtr session, MonoTime until) {
  for (Session::Question& each : session->take_pending()) {
    auto question = std::make_shared<Session::Question>(std::move(each));
    if (question->stage == Gate::Stage::validate)
      co_await validate(session, question, until);
    else
      co_await mutate(session, question, until);
  }
}

Task<Webhooks::HookAnswer> Webhooks::ask(SessionPtr session, HookPtr hook, Hook::Taken taken,
                                         QuestionPtr question, bool mutating, MonoTime until) {
  using End = HookAnswer::End;
  const Subject& subject = question->subject;
  const Hook::KindPtr& form = taken.form;
  if (!taken.broken.empty())
    co_return HookAnswer{End::broken,
                         forbidden({subject.kind->group, subject.resource}, subject.name, taken.broken)};
  if (subject.dry_run && !hook->dry_run_safe)
    co_return HookAnswer{End::broken, bad_request(fmt::format("admission webhook {} does not support dry run",
                                                              quote(hook->name)))};
  const auto failed = [&](std::string_view why) {
    return HookAnswer{End::not_called,
                      internal(fmt::format("failed calling webhook {}: {}", quote(hook->name), why))};
  };
  if (hook->version.empty())
    co_return failed(
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, "
        "v1beta1)");
  const nanoseconds left = until - verbs_.clock().mono();
  if (left <= nanoseconds{0}) co_return HookAnswer{End::broken, out_of_time()};
  const auto timeout = std::min(hook->timeout, std::chrono::ceil<std::chrono::seconds>(left));
  const std::string uid = verbs_.new_uid();
  auto response = co_await caller_.post(hook, review_text(hook->version, uid, subject, *form), timeout);
  if (!response && response.error().code() == Code::cancelled)
    co_return HookAnswer{End::broken, out_of_time()};
  if (!response) co_return failed(fmt::format("failed to call webhook: {}", response.error().message()));
  auto verdict = read_verdict(*response, hook->version, uid, mutating);
  if (!verdict) co_return failed(verdict.error().message());
  session->warn(verdict->warnings);
  if (!verdict->allowed) co_return HookAnswer{End::denied, refusal(hook->name, std::move(verdict->status))};
  co_return HookAnswer{End::allowed, std::nullopt, std::move(verdict->patch), std::move(verdict->patch_type)};
}

// True if the object is another afterwards.
bool Webhooks::apply_patch(const Hook& hook, const Kind& form, Subject& subject, HookAnswer& asked) const {
  if (asked.end != HookAnswer::End::allowed || asked.patch.empty()) return false;
  const auto broken = [&](std::string why) {
    asked = {HookAnswer::End::broken, internal(std::move(why))};
    return false;
  };
  const auto not_called = [&](std::string_view why) {
    asked = {HookAnswer::End::not_called,
             internal(fmt::format("failed calling webhook {}: {}", quote(hook.name), why))};
    return false;
  };
  const auto patch = json::parse(asked.patch);
  if (!patch)
    return not_called(
        fmt::format("received undecodable patch in webhook response: {}", patch.error().message()));
  if (!patch->is_array() && !patch->is_null())
    return not_called(
        fmt::format("received undecodable patch in webhook response: json: cannot unmarshal {} into "
                    "Go value of type jsonpatch.Patch",
                    type_name(*patch)));
  if (patch->empty()) return false;
  if (!subject.has_object)
    return broken(
        fmt::format("admission webhook {} attempted to modify the object, which is not supported for "
                    "this operation",
                    quote(hook.name)));
  if (asked.patch_type != "JSONPatch")
    return not_called(fmt::format("unsupported patch type {}", quote(asked.patch_type)));
  json::Document changed = json::clone(subject.object);
  to_form(subject, form, changed);
  if (auto patched = json::json_patch(changed, *patch, changed.arena()); !patched)
    return broken(patched.error().message());
  if (!changed.is_object()) return broken("the patch does not leave an object");
  from_form(subject, form, changed);
  if (subject.is_own_object() && subject.kind->rules.defaults)
    subject.kind->rules.defaults(changed, changed.arena());
  const bool another = !(static_cast<const json::Value&>(changed) == subject.object);
  subject.object = std::move(changed);
  return another;
}

Task<> Webhooks::mutate(SessionPtr session, QuestionPtr question, MonoTime until) {
  const bool again = question->stage == Gate::Stage::reinvoke;
  Session::Memory& memory = session->memory(*question);
  Subject& subject = question->subject;
  if (again && json::to_text(subject.object) != memory.output) memory.someone_changed_it();
  bool changed = false;
  Session::Decision decision;
  const std::vector<HookPtr> hooks = hooks_.mutating();  // a configuration may change meanwhile
  for (const HookPtr& hook : hooks) {
    if (again && !memory.again.contains(hook->uid)) continue;
    const Hook::Taken taken = hook->takes(subject, verbs_.registry());
    if (!taken.form) continue;
    HookAnswer asked = co_await ask(session, hook, taken, question, true, until);
    if (apply_patch(*hook, *taken.form, subject, asked)) {
      changed = true;
      memory.someone_changed_it();
    }
    if (hook->reinvoked) memory.asked.insert(hook->uid);
    if (asked.end == HookAnswer::End::allowed) continue;
    if (asked.end == HookAnswer::End::not_called && hook->ignores_failures) {
      if (verbs_.clock().mono() < until) continue;
      asked.failure = out_of_time();
    }
    decision.refusal = std::move(asked.failure);
    break;
  }
  memory.output = json::to_text(subject.object);
  if (changed) decision.object = memory.output;
  session->decide(question->key, std::move(decision));
}

Task<> Webhooks::validate(SessionPtr session, QuestionPtr question, MonoTime until) {
  struct Validation {
    std::vector<HookAnswer> answers;
    std::size_t left = 0;
    Event done;
  };
  struct CountDown {
    Validation& round;
    ~CountDown() {
      if (--round.left == 0) round.done.set();
    }
  };
  const auto round = std::make_shared<Validation>();
  std::vector<std::pair<HookPtr, Hook::Taken>> asked;
  for (const HookPtr& hook : hooks_.validating())
    if (auto taken = hook->takes(question->subject, verbs_.registry()); taken.form)
      asked.emplace_back(hook, std::move(taken));
  for (std::size_t i = 0; i < asked.size(); ++i)
    round->answers.push_back({HookAnswer::End::broken, out_of_time()});
  round->left = asked.size();
  const auto one = [](Webhooks* self, std::shared_ptr<Validation> all, std::size_t index, SessionPtr of,
                      HookPtr hook, Hook::Taken taken, QuestionPtr about, MonoTime end) -> Task<> {
    const CountDown count_down{*all};
    all->answers[index] = co_await self->ask(of, hook, std::move(taken), about, false, end);
  };
  for (std::size_t i = 0; i < asked.size(); ++i)
    tasks_.spawn("review", one(this, round, i, session, asked[i].first, asked[i].second, question, until));
  if (round->left > 0 && !co_await round->done.wait()) co_return;
  Session::Decision decision;
  for (std::size_t i = 0; i < asked.size() && !decision.refusal; ++i) {
    HookAnswer& answer = round->answers[i];
    if (answer.end == HookAnswer::End::allowed) continue;
    if (answer.end == HookAnswer::End::not_called && asked[i].first->ignores_failures) continue;
    decision.refusal = std::move(answer.failure);
  }
  session->decide(question->key, std::move(decision));
}

}  // namespace koord::sandbox
