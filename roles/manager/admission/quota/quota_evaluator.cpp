// Pods and the room of quotas: see quota_evaluator.hpp.
#include "admission/quota/quota_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "admission/quota/amounts.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {
namespace {

constexpr int kLeastRetries = 3;
constexpr std::size_t kMaxWritten = 1000;  // beyond it those are looked for that are seen by now
/// A quota that names none of these is no matter of pods.
constexpr std::array kOfPods = {api::kBatchCpu,
                                api::kBatchMemory,
                                api::kMidCpu,
                                api::kMidMemory,
                                api::kGpu,
                                api::kNvidiaGpu,
                                api::kGpuShared,
                                api::kGpuMemoryRatio,
                                std::string_view("cpu"),
                                std::string_view("memory"),
                                std::string_view("ephemeral-storage"),
                                std::string_view("requests.cpu"),
                                std::string_view("requests.memory"),
                                std::string_view("requests.ephemeral-storage")};

std::uint64_t version_of(const api::ElasticQuota& quota) {
  const std::string& text = quota.metadata.resource_version;
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Of `amounts` what `names` names, zeros left out.
api::ResourceList masked(const api::ResourceList& amounts, const api::ResourceList& names) {
  api::ResourceList some;
  for (const auto& [name, amount] : amounts)
    if (names.contains(name) && !amount.is_zero()) some[name] = amount;
  return some;
}

api::ResourceList only(const api::ResourceList& amounts, const api::ResourceList& names) {
  api::ResourceList some;
  for (const auto& [name, amount] : amounts)
    if (names.contains(name)) some[name] = amount;
  return some;
}

Result<api::ResourceList> said(const api::ElasticQuota& quota, std::string_view annotation) {
  KOORD_TRY(read, api::read_annotation<api::AnnotatedResources>(quota.metadata.annotations, annotation));
  return read ? std::move(read->resources) : api::ResourceList();
}

}  // namespace

int quota_write_retries(std::size_t pods, int most) {
  most = std::max(most, kLeastRetries);
  if (pods <= 1) return kLeastRetries;
  return std::min(most, kLeastRetries + static_cast<int>(std::bit_width(pods)) - 1);
}

Task<Result<std::string>> QuotaEvaluator::evaluate(std::string ns, std::string name,
                                                   api::ResourceList requests, bool dry_run) {
  const Key key(std::move(ns), std::move(name));
  const auto waiter = std::make_shared<Waiter>();
  waiter->requests = std::move(requests);
  waiter->dry_run = dry_run;
  queues_[key].waiting.push_back(waiter);
  // Who is cut short leaves the queue, and the work to who waits.
  struct Place {
    QuotaEvaluator& in;
    const Key& key;
    const std::shared_ptr<Waiter>& waiter;
    ~Place() {
      const auto queue = in.queues_.find(key);
      if (queue == in.queues_.end()) return;
      std::erase(queue->second.waiting, waiter);
      if (queue->second.busy) return;
      if (queue->second.waiting.empty())
        in.queues_.erase(queue);
      else
        queue->second.waiting.front()->changed.set();
    }
  } const place{*this, key, waiter};
  while (!waiter->done) {
    Queue& queue = queues_[key];
    if (queue.busy) {
      KOORD_CO_CHECK(co_await waiter->changed.wait());
      waiter->changed.reset();
      continue;
    }
    struct Batch {
      QuotaEvaluator& in;
      const Key& key;
      std::deque<std::shared_ptr<Waiter>> waiters;
      ~Batch() {
        Queue& queue = in.queues_[key];
        queue.busy = false;
        for (auto each = waiters.rbegin(); each != waiters.rend(); ++each) {
          if (!(*each)->done) queue.waiting.push_front(*each);
          (*each)->changed.set();
        }
        for (const auto& each : queue.waiting) each->changed.set();
      }
    } batch{*this, key, std::exchange(queue.waiting, {})};
    queue.busy = true;
    const Result<> counted = co_await count(key, batch.waiters);
    if (!counted && counted.error().code() == Code::cancelled) co_return counted.error();
    for (const auto& each : batch.waiters) {
      if (each->done) continue;
      each->done = true;
      if (!counted) each->outcome = counted.error();
    }
  }
  co_return waiter->outcome;
}

QuotaEvaluator::Quota QuotaEvaluator::newest(const Key& key) {
  parts_.catalog->refresh();
  const auto known = parts_.catalog->find(key.first, key.second);
  const auto written = written_.find(key);
  if (written == written_.end()) return known ? known->object : nullptr;
  if (known && version_of(*known->object) < version_of(*written->second)) return written->second;
  written_.erase(written);
  return known ? known->object : nullptr;
}

std::size_t QuotaEvaluator::check(const api::ElasticQuota& quota, std::deque<std::shared_ptr<Waiter>>& batch,
                                  api::ResourceList& used) const {
  const auto child_request = said(quota, api::kQuotaChildRequest),
             admission = said(quota, api::kQuotaAdmission);
  const bool of_pods =
      std::ranges::any_of(kOfPods, [&](std::string_view name) { return quota.spec.max.contains(name); });
  std::string broken;
  if (!child_request && !admission)
    broken = fmt::format("[{}, {}]", child_request.error().message(), admission.error().message());
  else if (!child_request || !admission)
    broken = (child_request ? admission : child_request).error().message();
  if (child_request) used = *child_request;
  const api::ResourceList& limit = admission && !admission->empty() ? *admission : quota.spec.max;
  std::size_t counted = 0;
  for (const auto& waiter : batch) {
    if (waiter->done) continue;
    waiter->counted = false;
    const api::ResourceList wanted = masked(waiter->requests, quota.spec.max);
    if (!broken.empty()) {
      waiter->outcome = broken;
    } else if (of_pods && !wanted.empty()) {
      api::ResourceList after = used, exceeded;
      add(after, wanted);
      for (const auto& [name, amount] : wanted)
        if (const api::Quantity* const most = limit.find(name); most != nullptr && *after.find(name) > *most)
          exceeded[name] = amount;
      if (!exceeded.empty()) {
        waiter->outcome =
            fmt::format("exceeded quota: {}/{}, requested: {}, used: {}, limited: {}",
                        quota.metadata.namespace_.view(), quota.metadata.name, to_text(exceeded),
                        to_text(only(used, exceeded)), to_text(only(limit, exceeded)));
      } else if (!waiter->dry_run) {
        used = std::move(after);
        waiter->counted = true;
        ++counted;
      }
    }
    waiter->done = !waiter->counted;
  }
  return counted;
}

Task<Result<>> QuotaEvaluator::write(const api::ElasticQuota& quota, const api::ResourceList& used) {
  json::Document body;
  json::Value& annotations =
      json::object_at(json::object_at(body, "metadata", body.arena()), "annotations", body.arena());
  json::set_text(annotations, api::kQuotaChildRequest, api::encode_annotation(api::AnnotatedResources{used}),
                 body.arena());
  api::Patch patch =
      api::make_patch(api::PatchType::merge, body,
                      {.uid = quota.metadata.uid, .resource_version = quota.metadata.resource_version});
  const Key key(quota.metadata.namespace_.str(), quota.metadata.name);
  // Those of quotas that nobody asks about any more.
  if (written_.size() >= kMaxWritten)
    std::erase_if(written_, [&](const auto& entry) {
      const auto known = parts_.catalog->find(entry.first.first, entry.first.second);
      return !known || version_of(*known->object) >= version_of(*entry.second);
    });
  KOORD_CO_TRY(answer, co_await parts_.client.patch_raw(api::kind<api::ElasticQuota>(),
                                                        {key.first, key.second}, std::move(patch.body), {}));
  KOORD_CO_TRY(now, api::decode<api::ElasticQuota>(answer));
  written_[key] = std::make_shared<const api::ElasticQuota>(std::move(now));
  co_return Result<>();
}

Task<Result<>> QuotaEvaluator::count(const Key& key, std::deque<std::shared_ptr<Waiter>>& batch) {
  int left = std::max(parts_.settings.max_retries, kLeastRetries);
  nanoseconds rested{};
  Quota quota = newest(key);
  for (;;) {
    if (!quota) co_return Error(Code::not_found, fmt::format("elastic quota {} not found", key.second));
    api::ResourceList used;
    const std::size_t counted = check(*quota, batch, used);
    if (counted == 0) co_return Result<>();
    left = std::min(left, quota_write_retries(counted, parts_.settings.max_retries));
    const Result<> written = co_await write(*quota, used);
    if (written || written.error().code() == Code::cancelled || left-- <= 0) co_return written;
    if (const nanoseconds jitter = parts_.settings.jitter;
        jitter > nanoseconds::zero() && rested + jitter <= parts_.settings.max_total_jitter) {
      rested += jitter;
      const double part = std::uniform_real_distribution<double>(0.5, 1.0)(random_);
      KOORD_CO_CHECK(co_await sleep(parts_.clock, std::chrono::duration_cast<nanoseconds>(jitter * part)));
    }
    // As it is stored now: what the informer has may be what lost a moment ago.
    auto fresh = co_await parts_.client.get<api::ElasticQuota>({key.first, key.second});
    if (!fresh && fresh.error().code() == Code::not_found) {
      quota = nullptr;
      continue;
    }
    if (!fresh) co_return written;
    quota = std::make_shared<const api::ElasticQuota>(*std::move(fresh));
  }
}

}  // namespace koord::manager
