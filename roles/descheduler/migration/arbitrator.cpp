// arbitrate(): see arbitrator.hpp.
#include "migration/arbitrator.hpp"

#include "migration/arbitration_order.hpp"

namespace koord::descheduler::migration {

std::vector<std::string> arbitrate(
    JobBook& book, const std::function<Filters&(const api::PodMigrationJob&)>& filters,
    const std::function<JobBook::PodPtr(const api::PodMigrationJob&)>& pod_of,
    const std::function<void(const api::PodMigrationJob&, const std::string& why)>& why_waiting) {
  std::vector<WaitingJob> jobs;
  jobs.reserve(book.waiting().size());
  for (const std::string& name : book.waiting()) {
    JobPtr job = book.find(name);
    JobBook::PodPtr pod = pod_of(*job);
    jobs.push_back({std::move(job), std::move(pod)});
  }
  const api::Pod nobody;
  order(jobs, [&](std::string_view uid) {
    return book.counts().of_controller(uid, nobody, Counted::arbitrated).size();
  });
  std::vector<std::string> decided;
  for (const WaitingJob& each : jobs) {
    const std::string& name = each.job->metadata.name;
    Verdict verdict;
    if (each.pod) {
      verdict = book.counts().has_other(*each.job, Counted::arbitrated)
                    ? Verdict{Verdict::Is::waits, "another PodMigrationJob moves the pod"}
                    : filters(*each.job).arbitrate(*each.pod);
    }
    if (verdict.is == Verdict::Is::waits) {
      if (why_waiting) why_waiting(*each.job, verdict.why);
      continue;
    }
    book.decide(name, verdict.passes() ? Decision::passed : Decision::forbidden, each.pod);
    decided.push_back(name);
  }
  return decided;
}

}  // namespace koord::descheduler::migration
