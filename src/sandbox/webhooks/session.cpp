// What a request asks, and what it has been told.
#include "sandbox/webhooks/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"
#include "koord/base/utf8.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

// An object that changes faster than its webhooks answer is given up, as kube-apiserver gives up a patch.
constexpr int kMostRuns = 24;

constexpr std::size_t kAllWarnings = 4096, kOneWarning = 256;  // bytes

}  // namespace

Subject Session::describe(const Attempt& attempt) const {
  const Kind& kind = attempt.kind;
  Subject subject;
  subject.operation = attempt.operation;
  subject.kind = registry_.find(kind.group, kind.version, kind.resource);
  if (!subject.kind) subject.kind = std::make_shared<const Kind>(kind);  // it goes away just now
  subject.asked = asked && attempt.object_kind.empty() ? asked : subject.kind;
  subject.resource = attempt.resource.empty() ? kind.resource : std::string(attempt.resource);
  subject.subresource = attempt.subresource;
  subject.ns = kind.namespaced ? attempt.ns : std::string_view();
  subject.name = attempt.name;
  subject.object_version = attempt.object_version;
  subject.object_kind = attempt.object_kind;
  subject.options = options;
  subject.dry_run = attempt.dry_run;
  subject.has_object = attempt.object != nullptr;
  subject.has_old = attempt.old != nullptr;
  return subject;
}

const std::vector<HookPtr>& Session::list(Stage stage) const {
  return stage == Stage::validate ? hooks_.validating() : hooks_.mutating();
}

bool Session::someone_may_ask(Stage stage, const Subject& subject) const {
  return std::ranges::any_of(
      list(stage), [&](const HookPtr& hook) { return hook->rules_take(subject, registry_) != nullptr; });
}

bool Session::someone_asks(Stage stage, const std::string& key, const Subject& subject) {
  if (stage == Stage::reinvoke) {
    const Memory& memory = memories_[key.substr(1)];
    if (memory.again.empty() && (memory.asked.empty() || json::to_text(subject.object) == memory.output))
      return false;
  }
  return std::ranges::any_of(
      list(stage), [&](const HookPtr& hook) { return hook->selects(subject, registry_) != nullptr; });
}

Outcome<void> Session::pass(Stage stage, Attempt& attempt) {
  attempt.changed = false;
  if (Hooks::is_exempt(attempt.kind) || !hooks_.any()) return {};
  Subject subject = describe(attempt);
  if (!someone_may_ask(stage, subject)) return {};
  // What is there is told by its version, which no other object ever had.
  const bool named = attempt.operation == Operation::connect || attempt.operation == Operation::update;
  const std::string key =
      fmt::format("{}|{}|{}.{}/{}|{}/{}|{}", static_cast<int>(stage), static_cast<int>(attempt.operation),
                  attempt.kind.resource, attempt.kind.group, attempt.subresource, attempt.ns,
                  named ? attempt.name : std::string_view(), attempt.version);
  const auto decided = decisions_.find(key);
  if (decided == decisions_.end()) {
    if (attempt.object) subject.object = json::clone(*attempt.object);
    if (attempt.old) subject.old = json::clone(*attempt.old);
    if (!someone_asks(stage, key, subject)) return {};
    if (runs_ >= kMostRuns) return stale(attempt.kind.named(), attempt.name);
    pending_.push_back({key, stage, std::move(subject)});
    return internal_failure("a review is missing");
  }
  if (decided->second.refusal) return *decided->second.refusal;
  if (!decided->second.object || !attempt.object) return {};
  auto changed = json::parse(*decided->second.object);
  if (!changed) return internal_error(changed.error().message());
  static_cast<json::Value&>(*attempt.object) = json::clone(*changed, attempt.object->arena());
  attempt.changed = true;
  return {};
}

std::vector<Session::Question> Session::take_pending() {
  ++runs_;
  return std::exchange(pending_, {});
}

void Session::warn(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    if (!text.empty() && std::ranges::find(warnings_, text) == warnings_.end()) warnings_.push_back(text);
  std::size_t bytes = 0;
  for (const std::string& text : warnings_) bytes += text.size();
  if (bytes <= kAllWarnings) return;
  bytes = 0;
  for (std::string& text : warnings_) {
    text = std::string(utf8_prefix(text, kOneWarning));
    bytes += text.size();
  }
  for (; bytes > kAllWarnings; warnings_.pop_back()) bytes -= warnings_.back().size();
}

}  // namespace koord::sandbox
