// JobBook: see book.hpp.
#include "migration/jobs/book.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "koord/api/koordinator/migration.hpp"
#include "migration/jobs/progress.hpp"

namespace koord::descheduler::migration {

namespace {

/// Of a version that is no number nothing is known: it is taken for the newer one.
bool is_older(std::string_view version, std::string_view known) {
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto a = number(version), b = number(known);
  return a && b && *a < *b;
}

std::string_view reservation_of(const api::PodMigrationJob& job) {
  return job.spec.reservation_options && job.spec.reservation_options->reservation_ref
             ? std::string_view(job.spec.reservation_options->reservation_ref->name)
             : std::string_view();
}

bool has_passed(const api::PodMigrationJob& job) {
  return api::value_or(job.metadata.annotations, api::kPassedArbitrationAnnotation) == "true";
}

std::string pod_index(std::string_view ns, std::string_view name) { return fmt::format("p/{}/{}", ns, name); }
std::string reservation_index(std::string_view name) { return fmt::format("r/{}", name); }
std::string workload_index(std::string_view uid) { return fmt::format("w/{}", uid); }

}  // namespace

std::string_view workload_of(const api::PodMigrationJob& job) {
  return api::value_or(job.metadata.annotations, api::kJobWorkloadAnnotation);
}

std::string_view from_node(const api::PodMigrationJob& job) {
  return api::value_or(job.metadata.annotations, api::kJobNodeAnnotation);
}

std::string pod_key(const api::PodMigrationJob& job) {
  return job.spec.pod_ref ? fmt::format("{}/{}", job.spec.pod_ref->namespace_.view(), job.spec.pod_ref->name)
                          : std::string();
}

bool JobBook::put(JobPtr job, PodPtr pod) {
  const std::string& name = job->metadata.name;
  Known& known = jobs_[name];
  if (known.job) {
    if (known.job->metadata.uid == job->metadata.uid) {
      if (is_older(job->metadata.resource_version, known.job->metadata.resource_version)) return false;
    } else {
      known.decision = Decision::none;
    }
    unlink(known);
  }
  known.job = std::move(job);
  const api::PodMigrationJob& now = *known.job;
  if (is_finished(now) || now.spec.paused || has_passed(now)) known.decision = Decision::none;
  counts_.put(now, known.decision == Decision::passed, std::move(pod));
  link(known);
  return true;
}

void JobBook::remove(const std::string& name, std::string_view uid) {
  const auto it = jobs_.find(name);
  if (it == jobs_.end() || it->second.job->metadata.uid != uid) return;
  unlink(it->second);
  counts_.remove(name);
  jobs_.erase(it);
}

void JobBook::link(Known& known) {
  const api::PodMigrationJob& job = *known.job;
  if (const std::string_view name = reservation_of(job); !name.empty()) ++reservations_[std::string(name)];
  if (!job.metadata.uid.empty()) ++reservations_[job.metadata.uid];
  if (is_finished(job)) return;
  if (job.spec.pod_ref)
    known.keys.push_back(pod_index(job.spec.pod_ref->namespace_.view(), job.spec.pod_ref->name));
  if (job.status.pod_ref)
    known.keys.push_back(pod_index(job.status.pod_ref->namespace_.view(), job.status.pod_ref->name));
  if (const std::string_view name = reservation_of(job); !name.empty())
    known.keys.push_back(reservation_index(name));
  if (const std::string_view uid = workload_of(job); !uid.empty()) known.keys.push_back(workload_index(uid));
  for (const std::string& key : known.keys) index_[key].insert(job.metadata.name);
  if (!job.spec.paused && !has_passed(job) && known.decision == Decision::none)
    waiting_.insert(job.metadata.name);
}

void JobBook::unlink(Known& known) {
  const api::PodMigrationJob& job = *known.job;
  const auto drop = [&](const std::string& name) {
    if (const auto it = reservations_.find(name); it != reservations_.end() && --it->second == 0)
      reservations_.erase(it);
  };
  if (const std::string_view name = reservation_of(job); !name.empty()) drop(std::string(name));
  if (!job.metadata.uid.empty()) drop(job.metadata.uid);
  for (const std::string& key : known.keys) {
    const auto it = index_.find(key);
    if (it == index_.end()) continue;
    it->second.erase(job.metadata.name);
    if (it->second.empty()) index_.erase(it);
  }
  known.keys.clear();
  waiting_.erase(job.metadata.name);
}

JobPtr JobBook::find(const std::string& name) const {
  const auto it = jobs_.find(name);
  return it == jobs_.end() ? nullptr : it->second.job;
}

Decision JobBook::decision(const std::string& name) const {
  const auto it = jobs_.find(name);
  return it == jobs_.end() ? Decision::none : it->second.decision;
}

void JobBook::decide(const std::string& name, Decision decision, PodPtr pod) {
  const auto it = jobs_.find(name);
  if (it == jobs_.end()) return;
  it->second.decision = decision;
  counts_.put(*it->second.job, decision == Decision::passed, std::move(pod));
  if (decision == Decision::none)
    waiting_.insert(name);
  else
    waiting_.erase(name);
}

std::vector<std::string> JobBook::of_key(const std::string& key) const {
  const auto it = index_.find(key);
  return it == index_.end() ? std::vector<std::string>()
                            : std::vector<std::string>(it->second.begin(), it->second.end());
}

std::vector<std::string> JobBook::of_pod(std::string_view ns, std::string_view name) const {
  return index_.empty() ? std::vector<std::string>() : of_key(pod_index(ns, name));
}

std::vector<std::string> JobBook::of_reservation(std::string_view name) const {
  return of_key(reservation_index(name));
}

std::vector<std::string> JobBook::of_workload(std::string_view uid) const {
  return of_key(workload_index(uid));
}

bool JobBook::knows_reservation(std::string_view name) const {
  return reservations_.contains(std::string(name));
}

std::vector<JobPtr> JobBook::all() const {
  std::vector<JobPtr> jobs;
  jobs.reserve(jobs_.size());
  for (const auto& [name, known] : jobs_) jobs.push_back(known.job);
  return jobs;
}

}  // namespace koord::descheduler::migration
