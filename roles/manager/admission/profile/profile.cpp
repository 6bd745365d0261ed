// ClusterColocationProfiles on documents: see profile.hpp.
#include "admission/profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "admission/raw/raw_object.hpp"
#include "koord/api/kinds/patch.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/koordinator/classes.hpp"

namespace koord::manager {
namespace {

using json::Value;

/// Nothing for one that selects all. matchLabels alone are taken unchecked, as upstream takes them.
Result<std::optional<api::Selector>> read_selector(const api::LabelSelector* selector,
                                                   std::string_view field) {
  if (selector == nullptr) return std::optional<api::Selector>();
  if (selector->match_expressions.empty() && !selector->match_labels.empty())
    return std::optional(api::Selector::from_labels(selector->match_labels));
  auto read = api::Selector::from(selector);
  if (!read) return std::move(read).error().context(field);
  return read->is_everything() ? std::optional<api::Selector>() : std::optional(std::move(*read));
}

void set_all(Value& map, const api::SymbolMap& entries, json::Arena& arena) {
  json::MemberEdits edits(map, entries.size(), arena);
  for (const auto& [key, value] : entries) edits.set(key, json::make_text(value, arena));
  edits.finish();
}

/// A key without a value gives an empty one: upstream's users rely on it.
void copy_keys(Value& map, const api::SymbolMap& keys, json::Arena& arena) {
  for (const auto& [from, to] : keys) {
    const Value* const value = json::find(map, from);
    const std::string text(value != nullptr ? value->text() : std::string_view());
    json::set_text(map, to, text, arena);
  }
}

void append_suffixes(Value& map, const api::SymbolMap& suffixes, json::Arena& arena) {
  for (const auto& [key, suffix] : suffixes)
    if (Value* value = json::find(map, key))
      *value = json::make_text(fmt::format("{}{}", value->text(), suffix.view()), arena);
}

/// The PodSpec that schedulerName and priorityClassName go to; nullptr for a reservation without a template.
Value* pod_spec_of(Value& object, ProfileTarget::Kind kind, json::Arena& arena) {
  if (kind == ProfileTarget::Kind::pod) return &json::object_at(object, "spec", arena);
  Value* const pod = json::find(object, "spec", "template");
  return pod != nullptr && pod->is_object() ? &json::object_at(*pod, "spec", arena) : nullptr;
}

void set_class(Value& spec, const api::PriorityClass& wanted, json::Arena& arena) {
  json::set_text(spec, "priorityClassName", wanted.metadata.name, arena);
  json::set_int(spec, "priority", wanted.value, arena);
  if (wanted.preemption_policy.empty())
    json::remove(spec, "preemptionPolicy");
  else
    json::set_text(spec, "preemptionPolicy", wanted.preemption_policy, arena);
}

}  // namespace

Profile::Profile(std::shared_ptr<const api::ClusterColocationProfile> source) : source_(std::move(source)) {
  const api::ClusterColocationProfileSpec& spec = source_->spec;
  const auto found = [&](const Error& error) {
    if (defect_.empty()) defect_ = error.message();
  };
  const auto read = [&](std::optional<api::Selector>& selector, const api::LabelSelector* from,
                        std::string_view field) {
    auto made = read_selector(from, field);
    if (made)
      selector = std::move(*made);
    else
      found(made.error());
  };
  read(namespaces_, spec.namespace_selector.get(), "namespaceSelector");
  read(objects_, spec.selector.get(), "selector");
  if (spec.probability) {
    if (const auto percent = spec.probability->scaled(100, false))
      percent_ = *percent;
    else
      found(percent.error().context("probability"));
  }
  if (spec.patch.empty()) return;
  if (const auto parsed = patch_.read(spec.patch.text); !parsed)
    found(parsed.error().context("patch"));
  else if (!patch_.is_null() && !patch_.is_object())
    found(Error(Code::invalid, "patch: no object"));
}

bool Profile::keeps_resources() const {
  return source_->metadata.annotations.contains(api::kSkipUpdateResources);
}

bool Profile::matches_labels(const json::Members<const Value>& labels) const {
  return !objects_ || matches(*objects_, labels);
}

bool Profile::matches_namespace(const api::SymbolMap& labels) const {
  return !namespaces_ || namespaces_->matches(labels);
}

Result<> Profile::apply(Value& object, json::Arena& arena, const ProfileTarget& target,
                        const PriorityClasses& classes) const {
  const api::ClusterColocationProfileSpec& spec = source_->spec;
  std::shared_ptr<const api::PriorityClass> priority_class;
  const bool schedules =
      target.scheduling && !(spec.scheduler_name.empty() && spec.priority_class_name.empty());
  if (schedules && !spec.priority_class_name.empty() && pod_spec_of(object, target.kind, arena) != nullptr) {
    priority_class = classes(spec.priority_class_name);
    if (!priority_class)
      return Error(Code::not_found, fmt::format("PriorityClass.scheduling.k8s.io \"{}\" not found",
                                                spec.priority_class_name.view()));
  }
  const auto change = [&](Value& it, json::Arena& in) -> Result<> {
    if (!spec.labels.empty()) set_all(labels_of(it, in), spec.labels, in);
    if (!spec.annotations.empty()) set_all(annotations_of(it, in), spec.annotations, in);
    if (!spec.label_keys_mapping.empty()) copy_keys(labels_of(it, in), spec.label_keys_mapping, in);
    if (!spec.annotation_keys_mapping.empty())
      copy_keys(annotations_of(it, in), spec.annotation_keys_mapping, in);
    if (!spec.label_suffixes.empty()) append_suffixes(labels_of(it, in), spec.label_suffixes, in);
    Value* const pod_spec = schedules ? pod_spec_of(it, target.kind, in) : nullptr;
    if (pod_spec != nullptr && !spec.scheduler_name.empty())
      json::set_text(*pod_spec, "schedulerName", spec.scheduler_name, in);
    if (!spec.qos_class.empty()) json::set_text(labels_of(it, in), api::kQosLabel, spec.qos_class, in);
    if (priority_class) set_class(*pod_spec, *priority_class, in);
    if (spec.koordinator_priority)
      json::set_text(labels_of(it, in), api::kSubPriorityLabel, std::to_string(*spec.koordinator_priority),
                     in);
    return patch_.is_null() ? Result<>() : patch(it, in, target);
  };
  if (!patch_.is_null()) {
    // A patch that does not fit leaves what it is applied to half changed: it is tried on a copy first.
    json::Document copy = json::clone(object);
    KOORD_CHECK(change(copy, copy.arena()));
  }
  return change(object, arena);
}

Result<> Profile::patch(Value& object, json::Arena& arena, const ProfileTarget& target) const {
  const bool is_pod = target.kind == ProfileTarget::Kind::pod;
  const Result<> patched =
      is_pod ? api::strategic_patch(object, patch_, "", "Pod", arena)
             : api::strategic_patch(object, patch_, "scheduling.koordinator.sh", "Reservation", arena);
  if (!patched) return Error(Code::invalid, patched.error().message());
  const Result<> right = is_pod ? check_pod(object) : check_reservation(object);
  if (!right)
    return Error(Code::invalid, fmt::format("what the patch makes is no {}: {}",
                                            is_pod ? "pod" : "reservation", right.error().message()));
  return {};
}

void ProfileSet::set(Sources sources, const Told& told) {
  std::ranges::sort(sources, {},
                    [](const auto& source) -> std::string_view { return source->metadata.name; });
  if (sources == sources_) return;
  std::vector<std::shared_ptr<const Profile>> before = std::move(profiles_);
  profiles_.clear();
  auto old = before.begin();
  for (const auto& source : sources) {
    while (old != before.end() && (*old)->name() < source->metadata.name) ++old;
    if (old != before.end() && &(*old)->source() == source.get()) {
      profiles_.push_back(*old);
      continue;
    }
    profiles_.push_back(std::make_shared<const Profile>(source));
    if (!profiles_.back()->defect().empty()) told(*profiles_.back());
  }
  sources_ = std::move(sources);
}

void ProfileFailures::tell(const Logger& log, const Profile& profile, std::string_view why) {
  constexpr std::size_t kMost = 1'000;  // names that are remembered
  const std::string& version = profile.source().metadata.resource_version;
  if (const auto told = told_.find(profile.name()); told != told_.end() && told->second == version) return;
  if (told_.size() >= kMost) told_.clear();
  told_[profile.name()] = version;
  log.warn("a ClusterColocationProfile cannot be applied and is left out", kv("profile", profile.name()),
           kv("error", why));
}

Result<ProfileOutcome> apply_profiles(std::span<const std::shared_ptr<const Profile>> profiles, Value& object,
                                      json::Arena& arena, const ProfileTarget& target,
                                      const NamespaceLabels& namespace_labels, const PriorityClasses& classes,
                                      const Dice& dice) {
  ProfileOutcome outcome;
  // All are matched against the object as it came: what one of them changes makes no other match.
  std::vector<const Profile*> wanted;
  {
    const json::Members<const Value> labels = label_index(object);
    const api::SymbolMap* of_namespace = nullptr;
    for (const auto& profile : profiles) {
      if (!profile->defect().empty() || !profile->matches_labels(labels)) continue;
      if (namespace_labels && profile->selects_namespaces()) {
        if (of_namespace == nullptr) of_namespace = namespace_labels();
        if (of_namespace == nullptr)
          return Error(
              Code::unavailable,
              fmt::format(
                  "the pod's namespace, which ClusterColocationProfile \"{}\" asks for, is not known yet",
                  profile->name()));
        if (!profile->matches_namespace(*of_namespace)) continue;
      }
      wanted.push_back(profile.get());
    }
  }
  outcome.matched = !wanted.empty();
  for (const Profile* profile : wanted) {
    outcome.keeps_resources |= profile->keeps_resources();
    if (profile->spares(dice)) continue;
    const auto applied = profile->apply(object, arena, target, classes);
    if (applied) continue;
    if (applied.error().code() == Code::not_found) return applied.error();
    outcome.failures.push_back({profile, applied.error().message()});
  }
  return outcome;
}

}  // namespace koord::manager
