// One round of arbitration: which of the jobs that wait may go on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "migration/filters.hpp"
#include "migration/jobs/book.hpp"

namespace koord::descheduler::migration {

/// Decides about jobs of the book that wait, in the order of order(): what may go is counted at once, so that
/// the next one sees it. A job whose pod is gone passes: it has nothing to wait for, and its end is said
/// where its steps are. One whose pod has another job that is being done waits. `filters`: those that the job
/// is judged by; `pod_of`: its pod, nullptr where there is none of that UID. Returns the names of those
/// decided. `why_waiting`, if it is there, is told of the others.
std::vector<std::string> arbitrate(
    JobBook& book, const std::function<Filters&(const api::PodMigrationJob&)>& filters,
    const std::function<JobBook::PodPtr(const api::PodMigrationJob&)>& pod_of,
    const std::function<void(const api::PodMigrationJob&, const std::string& why)>& why_waiting = {});

}  // namespace koord::descheduler::migration
