// The Job controller.
#include "sandbox/controllers/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/api/values/time.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kIndex = "batch.kubernetes.io/job-completion-index";
constexpr std::chrono::seconds kFirstPause{10};
constexpr std::chrono::minutes kLongestPause{6};
constexpr std::int64_t kMostAtOnce = 500;

bool ended(const Object& pod) {
  const std::string_view phase = pod.field("status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

std::optional<std::int64_t> index_of(const Object& pod) {
  const std::string* text = pod.label(kIndex);
  std::int64_t index = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), index).ec != std::errc())
    return std::nullopt;
  return index;
}

WallTime time_at(const json::Value& doc, const char* part, const char* field, WallTime otherwise) {
  const auto time = api::Time::parse(text_at(doc, part, field));
  return time ? time->wall() : otherwise;
}

bool is_finished(const json::Value& job) {
  const json::Value* conditions = find(job, "status", "conditions");
  return conditions && std::ranges::any_of(conditions->elements(), [](const json::Value& each) {
           const std::string_view type = text_at(each, "type");
           return (type == "Complete" || type == "Failed") && text_at(each, "status") == "True";
         });
}

void add_condition(json::Value& status, std::string_view type, std::string_view value,
                   std::string_view reason, std::string_view message, const std::string& now,
                   json::Arena& arena) {
  json::Value& list = array_at(status, "conditions", arena);
  list.erase_if([&](const json::Value& each) { return text_at(each, "type") == type; });
  json::Value condition = json::Value::object();
  set_text(condition, "type", type, arena);
  set_text(condition, "status", value, arena);
  set_text(condition, "lastProbeTime", now, arena);
  set_text(condition, "lastTransitionTime", now, arena);
  if (!reason.empty()) set_text(condition, "reason", reason, arena);
  if (!message.empty()) set_text(condition, "message", message, arena);
  list.push_back(std::move(condition), arena);
}

// "0-2,5": indexes as a Job's status lists them.
std::string ranges(const std::set<std::int64_t>& indexes) {
  std::string out;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    while (++it != indexes.end() && *it == last + 1) ++last;
    fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : ",", first);
    if (last > first) fmt::format_to(std::back_inserter(out), "{}{}", last == first + 1 ? "," : "-", last);
  }
  return out;
}

}  // namespace

Jobs::Jobs(Verbs& verbs, Workloads::Create create)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      jobs_(verbs.registry().get("batch", "jobs")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Workloads::Done& done) { done(verbs_.create(kind, ns, doc)); }),
      queue_(verbs.clock(), [this](const Key& key) { sync(key); }) {
  verbs_.store().add_observer(*this);
}

Jobs::~Jobs() { verbs_.store().remove_observer(*this); }

void Jobs::on_change(Collection& collection, const Change& change) {
  if (&collection == pods_.objects) return pod_changed(change);
  if (&collection != jobs_.objects) return;
  if (change.type == Change::Type::deleted)
    states_.erase(change.object->uid);
  else
    queue_.add({change.object->ns, change.object->name});
}

void Jobs::pod_changed(const Change& change) {
  const Object& pod = *change.object;
  for (const OwnerRef& owner : pod.owners) {
    if (!owner.controller || owner.kind != "Job") continue;
    JobState& state = states_[owner.uid];
    if (change.type == Change::Type::deleted)
      state.pods.erase(pod.name);
    else
      state.pods.insert(pod.name);
    if (pod.field("status.phase") == "Succeeded") {
      const auto index = index_of(pod);
      if (!index || state.done.insert(*index).second) state.succeeded.insert(pod.uid);
    }
    if (pod.field("status.phase") == "Failed" && state.failed.insert(pod.uid).second)
      state.last_failure = verbs_.clock().now();
    queue_.add({pod.ns, owner.name});
    if (!state.pods.empty()) continue;
    const ObjectPtr job = jobs_.objects->get(pod.ns, owner.name);
    if (!job || job->uid != owner.uid) states_.erase(owner.uid);
  }
}

Jobs::Counts Jobs::count(const Key& key, const JobState& state) const {
  Counts counts;
  for (const std::string& name : state.pods) {
    ObjectPtr pod = pods_.objects->get(key.ns, name);
    if (!pod || pod->deleting || ended(*pod)) continue;
    ++counts.active;
    counts.ready += !pod->field(kReadyField).empty();
    if (const auto index = index_of(*pod)) counts.indexes.insert(*index);
    counts.pods.push_back(std::move(pod));
  }
  return counts;
}

void Jobs::sync(const Key& key) {
  const ObjectPtr object = jobs_.objects->get(key.ns, key.name);
  if (!object || object->deleting) return;
  json::Document doc;
  load(*object, doc);
  const WallTime now = verbs_.clock().now();
  if (is_finished(doc)) {
    const auto ttl = int_at(doc, "spec", "ttlSecondsAfterFinished");
    if (!ttl) return;
    const json::Value* conditions = find(doc, "status", "conditions");
    const auto at = api::Time::parse(text_at((*conditions)[conditions->size() - 1], "lastTransitionTime"));
    const WallTime due = (at ? at->wall() : now) + std::chrono::seconds(*ttl);
    if (now < due) return queue_.add(key, due - now);
    DeleteOptions options;
    options.propagation = "Background";
    (void)verbs_.remove(jobs_, key.ns, key.name, options);
    return;
  }
  JobState& state = states_[object->uid];
  const Counts counts = count(key, state);
  const auto completions = int_at(doc, "spec", "completions");
  const auto succeeded = static_cast<std::int64_t>(state.succeeded.size()),
             failed = static_cast<std::int64_t>(state.failed.size());
  const auto end = [&](std::string_view how, std::string_view reason, std::string_view message) {
    for (const ObjectPtr& pod : counts.pods) (void)verbs_.remove(pods_, pod->ns, pod->name);
    write_status(*object, doc, state, count(key, state), how, reason, message);
  };
  if (failed > int_at(doc, "spec", "backoffLimit").value_or(6))
    return end("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if (const auto deadline = int_at(doc, "spec", "activeDeadlineSeconds")) {
    const WallTime due = time_at(doc, "status", "startTime", now) + std::chrono::seconds(*deadline);
    if (now >= due) return end("Failed", "DeadlineExceeded", "Job was active longer than specified deadline");
    queue_.add(key, due - now);
  }
  const bool complete =
      completions ? succeeded >= *completions : succeeded > 0 && counts.active == 0 && state.under_way == 0;
  if (complete) return end("Complete", "CompletionsReached", "Reached expected number of succeeded pods");
  if (true_at(doc, "spec", "suspend")) {
    for (const ObjectPtr& pod : counts.pods) (void)verbs_.remove(pods_, pod->ns, pod->name);
  } else {
    make_pods(*object, doc, state, counts);
  }
  write_status(*object, doc, state, count(key, state), "", "", "");
}

void Jobs::make_pods(const Object& job, const json::Value& doc, JobState& state, const Counts& counts) {
  const Key key{job.ns, job.name};
  const auto completions = int_at(doc, "spec", "completions");
  const auto succeeded = static_cast<std::int64_t>(state.succeeded.size());
  std::int64_t wanted = int_at(doc, "spec", "parallelism").value_or(1);
  if (completions)
    wanted = std::min(wanted, *completions - succeeded);
  else if (succeeded > 0)
    wanted = counts.active;  // one has said that all is done: the others end in their own time
  std::int64_t missing = wanted - counts.active - state.under_way;
  for (std::int64_t i = missing; i < 0 && -i <= static_cast<std::int64_t>(counts.pods.size()); ++i) {
    const ObjectPtr& pod = counts.pods[counts.pods.size() - static_cast<std::size_t>(-i)];
    (void)verbs_.remove(pods_, pod->ns, pod->name);
  }
  if (missing <= 0) return;
  const WallTime now = verbs_.clock().now();
  WallTime due = state.not_before;
  if (!state.failed.empty()) {
    const auto doublings = std::min<std::size_t>(state.failed.size() - 1, 10);
    due = std::max(due,
                   state.last_failure + std::min<nanoseconds>(kFirstPause * (1 << doublings), kLongestPause));
  }
  if (now < due) return queue_.add(key, due - now);
  const bool indexed = text_at(doc, "spec", "completionMode") == "Indexed";
  std::int64_t index = 0;
  for (std::int64_t made = 0; made < std::min(missing, kMostAtOnce); ++made) {
    while (indexed &&
           (state.done.contains(index) || state.making.contains(index) || counts.indexes.contains(index)))
      ++index;
    if (indexed && index >= completions.value_or(0)) break;
    make_pod(job, doc, indexed ? std::optional(index++) : std::nullopt);
  }
  if (missing > kMostAtOnce) queue_.add(key);
}

void Jobs::make_pod(const Object& job, const json::Value& doc, std::optional<std::int64_t> index) {
  const json::Value* part = find(doc, "spec", "template");
  if (!part) return;
  json::Document pod = pod_of(*part, jobs_, job);
  json::Arena& arena = pod.arena();
  if (index) {
    json::Value& meta = *find(pod, "metadata");
    const std::string text = fmt::to_string(*index);
    set_text(meta, "generateName", fmt::format("{}-{}-", job.name, text), arena);
    for (const char* map : {"labels", "annotations"})
      set_text(object_at(meta, map, arena), kIndex, text, arena);
    json::Value& spec = object_at(pod, "spec", arena);
    if (text_at(spec, "hostname").empty())
      set_text(spec, "hostname", fmt::format("{}-{}", job.name, text), arena);
    states_[job.uid].making.insert(*index);
  }
  ++states_[job.uid].under_way;
  create_(pods_, job.ns, std::move(pod),
          [this, key = Key{job.ns, job.name}, uid = job.uid, index](const Outcome<ObjectPtr>& made) {
            const auto it = states_.find(uid);
            if (it == states_.end()) return;
            JobState& state = it->second;
            --state.under_way;
            if (index) state.making.erase(*index);
            state.refused = made ? 0 : state.refused + 1;
            // Refused ones are tried again, at longer and longer intervals.
            if (!made)
              state.not_before =
                  verbs_.clock().now() + std::chrono::seconds(1 << std::min(state.refused - 1, 6));
            queue_.add(key);
          });
}

void Jobs::write_status(const Object& job, const json::Value& before, const JobState& state,
                        const Counts& counts, std::string_view finished, std::string_view reason,
                        std::string_view message) {
  const std::string now = verbs_.now_text();
  const bool suspended = true_at(before, "spec", "suspend");
  const auto edit = [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& status = object_at(doc, "status", arena);
    const auto count = [&](const char* field, std::int64_t value) {
      if (value > 0)
        set_int(status, field, value, arena);
      else
        json::remove(status, field);
    };
    count("active", counts.active);
    set_int(status, "ready", counts.ready, arena);
    set_int(status, "terminating", 0, arena);
    count("succeeded", static_cast<std::int64_t>(state.succeeded.size()));
    count("failed", static_cast<std::int64_t>(state.failed.size()));
    if (!state.done.empty()) set_text(status, "completedIndexes", ranges(state.done), arena);
    object_at(status, "uncountedTerminatedPods", arena);
    if (!suspended && text_at(status, "startTime").empty()) set_text(status, "startTime", now, arena);
    const json::Value* conditions = find(status, "conditions");
    const bool was = conditions && std::ranges::any_of(conditions->elements(), [](const json::Value& each) {
                       return text_at(each, "type") == "Suspended" && text_at(each, "status") == "True";
                     });
    if (suspended && !was) {
      json::remove(status, "startTime");
      add_condition(status, "Suspended", "True", "JobSuspended", "Job suspended", now, arena);
    }
    if (!suspended && was)
      add_condition(status, "Suspended", "False", "JobResumed", "Job resumed", now, arena);
    if (finished.empty()) return;
    add_condition(status, finished == "Complete" ? "SuccessCriteriaMet" : "FailureTarget", "True", reason,
                  message, now, arena);
    add_condition(status, finished, "True", reason, message, now, arena);
    if (finished == "Complete") set_text(status, "completionTime", now, arena);
  };
  const ObjectPtr fresh = jobs_.objects->get(job.ns, job.name);
  if (!fresh || fresh->uid != job.uid) return;
  json::Document was, is;
  load(*fresh, was);
  load(*fresh, is);
  edit(is);
  if (!(static_cast<const json::Value&>(was) == is)) verbs_.write_trusted(jobs_, *fresh, edit);
}

}  // namespace koord::sandbox
