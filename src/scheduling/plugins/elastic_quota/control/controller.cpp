// The controller of ElasticQuotas: see controller.hpp.
#include "scheduling/plugins/elastic_quota/control/controller.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/channel.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"
#include "scheduling/plugin/work_off.hpp"
#include "scheduling/plugins/elastic_quota/control/gauges.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

/// A quota is written so often at most, and what failed is tried again after that, and then less and less
/// often.
constexpr nanoseconds kEvery = std::chrono::seconds(1), kSeldom = std::chrono::seconds(60);
/// So many are written at a time: what one of them waits for does not hold up the others.
constexpr int kWriters = 8;
/// So many pods may wait for their eviction.
constexpr std::size_t kRevoked = 1000;

using Key = std::pair<std::string, std::string>;  // namespace, name
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    return std::hash<std::string>()(key.first) * 31 + std::hash<std::string>()(key.second);
  }
};

class Controller final : public PluginController {
 public:
  Controller(BuiltIn built_in, std::shared_ptr<QuotaBoard> board, kube::InformerSet& informers,
             kube::Client& client)
      : built_in_(std::move(built_in)),
        board_(std::move(board)),
        quotas_(informers.informer<api::ElasticQuota>(client)) {}

  Task<Result<>> run(Context context) override {
    Run run(*this, std::move(context), co_await asio::this_coro::executor);
    co_return co_await run.all();
  }

 private:
  /// What is there while it runs.
  struct Run {
    Run(Controller& controller, Context with, const asio::any_io_executor& executor)
        : is(controller),
          context(std::move(with)),
          gauges(context.metrics),
          seconds(write_seconds(context.metrics)),
          work(context.clock, {.backoff_first = kEvery, .backoff_max = kSeldom}),
          tasks(executor),
          news(std::make_shared<Event>()) {
      is.board_->call([executor, told = std::weak_ptr(news)] {
        asio::post(executor, [told] {
          if (const auto event = told.lock()) event->set();
        });
      });
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() { is.board_->call(nullptr); }

    Task<Result<>> all();
    Task<Result<>> follow();
    Task<Result<>> hear();
    Task<Result<>> settle();
    Task<Result<>> look_at(const Key& key);
    Task<Result<>> evict();
    Task<Result<>> make_built_in();
    Task<Result<>> make(const api::ElasticQuota& quota);
    void changed(const kube::Change& change);

    Controller& is;
    Context context;
    QuotaGauges gauges;
    metrics::Histogram seconds;
    kube::DeliveryQueue queue;
    kube::WorkQueue<Key, KeyHash> work;
    TaskGroup tasks;
    std::shared_ptr<Event> news;
    Channel<QuotaBoard::Revoked> revoked{kRevoked};
    std::map<std::string, QuotaSummary> summaries;         // by name
    std::map<std::string, std::set<std::string>> objects;  // namespaces by name
    std::unordered_map<Key, MonoTime, KeyHash> written;    // when it was, last
  };

  const BuiltIn built_in_;
  const std::shared_ptr<QuotaBoard> board_;
  kube::Informer<api::ElasticQuota> quotas_;
};

Task<Result<>> Controller::Run::all() {
  is.quotas_.deliver_to(queue);
  tasks.spawn("quotas' objects", follow());
  tasks.spawn("what became of quotas", hear());
  tasks.spawn("pods of quotas that use too much", evict());
  tasks.spawn("the built-in quotas", make_built_in());
  for (int i = 0; i < kWriters; ++i) tasks.spawn("quotas' status", settle());
  Task<Result<>> ended = tasks.join();
  co_return co_await with_cleanup(std::move(ended), tasks.stop(context.clock, std::chrono::seconds(2)));
}

Task<Result<>> Controller::Run::follow() {
  for (;;) {
    KOORD_CO_TRY(batch, co_await queue.next());
    for (const kube::Change& change : batch.changes) changed(change);
  }
}

void Controller::Run::changed(const kube::Change& change) {
  const auto before = change.old_object<api::ElasticQuota>(), now = change.new_object<api::ElasticQuota>();
  const api::ObjectMeta& meta = (now ? now : before)->metadata;
  const Key key{meta.namespace_.str(), meta.name};
  if (now) {
    objects[meta.name].insert(key.first);
    return work.add(key);
  }
  written.erase(key);
  const auto named = objects.find(meta.name);
  if (named == objects.end()) return;
  named->second.erase(key.first);
  if (named->second.empty()) objects.erase(named);
}

Task<Result<>> Controller::Run::hear() {
  for (;;) {
    KOORD_CO_CHECK(co_await news->wait());
    news->reset();
    // What there is no room for is found anew later, if it still has to go.
    for (QuotaBoard::Revoked& pod : is.board_->take_revoked()) (void)revoked.try_push(std::move(pod));
    for (auto& [name, summary] : is.board_->take()) {
      if (const auto before = summaries.find(name); before != summaries.end()) {
        gauges.remove(before->second);
        if (!summary) summaries.erase(before);
      }
      if (!summary) continue;
      gauges.put(*summary);
      summaries.insert_or_assign(name, *std::move(summary));
      if (const auto named = objects.find(name); named != objects.end())
        for (const std::string& ns : named->second) work.add({ns, name});
    }
  }
}

Task<Result<>> Controller::Run::settle() {
  return work_off(
      work, [this](const Key& key) { return look_at(key); },
      [this](const Key& key, const Error& error) {
        context.log.warn("an ElasticQuota's status could not be written: tried again with a backoff",
                         kv("namespace", key.first), kv("elasticquota", key.second), kv("error", error));
      });
}

Task<Result<>> Controller::Run::look_at(const Key& key) {
  const std::shared_ptr<const api::ElasticQuota> now = is.quotas_.get(key.first, key.second);
  const auto known = summaries.find(key.second);
  if (!now || known == summaries.end() || now->metadata.deletion_timestamp || !context.may_write())
    co_return Result<>();
  const std::optional<api::Patch> patch = status_patch(*now, known->second);
  if (!patch) co_return Result<>();
  if (const auto last = written.find(key); last != written.end())
    if (const nanoseconds rest = last->second + kEvery - context.clock.mono(); rest > nanoseconds::zero()) {
      work.add_after(key, rest);
      co_return Result<>();
    }
  const MonoTime began = context.clock.mono();
  const auto done =
      co_await context.client.patch_raw(api::kind<api::ElasticQuota>(), {key.first, key.second}, patch->body,
                                        {.type = patch->type, .may_go = context.may_write});
  seconds.observe(std::chrono::duration<double>(context.clock.mono() - began).count());
  if (done) {
    if (objects.contains(key.second)) written.insert_or_assign(key, context.clock.mono());
    co_return Result<>();
  }
  // It is gone, or another one by now, of which its own change tells.
  if (done.error().code() == Code::not_found || done.error().code() == Code::conflict) co_return Result<>();
  co_return done.error();
}

/// Disruption budgets are kept: whom one protects is asked again when its quota has used too much for as long
/// once more.
Task<Result<>> Controller::Run::evict() {
  for (;;) {
    KOORD_CO_TRY(next, co_await revoked.pop());
    if (!next) co_return Result<>();
    if (!context.may_write()) continue;
    const api::ObjectMeta& pod = next->pod->metadata;
    const Result<> done = co_await context.client.evict({pod.namespace_.str(), pod.name},
                                                        {.uid = pod.uid, .may_go = context.may_write});
    if (done) {
      context.log.info("a pod is evicted: its quota uses more than it may",
                       kv("namespace", pod.namespace_.view()), kv("pod", pod.name),
                       kv("elasticquota", next->quota));
    } else if (done.error().code() == Code::cancelled) {
      co_return done;
    } else if (done.error().code() != Code::not_found && done.error().code() != Code::conflict) {
      context.log.warn("a pod could not be evicted, whose quota uses more than it may: tried again later",
                       kv("namespace", pod.namespace_.view()), kv("pod", pod.name),
                       kv("elasticquota", next->quota), kv("error", done.error()));
    }
  }
}

Task<Result<>> Controller::Run::make_built_in() {
  KOORD_CO_CHECK(co_await is.quotas_.wait_listed());
  for (const api::ElasticQuota& quota : built_in_quotas(is.built_in_)) KOORD_CO_CHECK(co_await make(quota));
  co_return Result<>();
}

/// Unless it is there.
Task<Result<>> Controller::Run::make(const api::ElasticQuota& quota) {
  const std::string ns = quota.metadata.namespace_.str();
  for (nanoseconds wait = kEvery;; wait = std::min(wait * 2, kSeldom)) {
    if (is.quotas_.get(ns, quota.metadata.name)) co_return Result<>();
    if (context.may_write()) {
      const auto made = co_await context.client.create(quota);
      if (made) {
        context.log.info("a built-in ElasticQuota is made", kv("namespace", ns),
                         kv("elasticquota", quota.metadata.name));
        co_return Result<>();
      }
      if (made.error().code() == Code::cancelled) co_return made.error();
      if (made.error().code() == Code::already_exists) co_return Result<>();
      if (wait == kEvery)
        context.log.warn("a built-in ElasticQuota could not be made: tried again with a backoff",
                         kv("namespace", ns), kv("elasticquota", quota.metadata.name),
                         kv("error", made.error()));
    }
    KOORD_CO_CHECK(co_await sleep(context.clock, wait));
  }
}

}  // namespace

std::unique_ptr<PluginController> make_controller(BuiltIn built_in, std::shared_ptr<QuotaBoard> board,
                                                  kube::InformerSet& informers, kube::Client& client) {
  return std::make_unique<Controller>(std::move(built_in), std::move(board), informers, client);
}

}  // namespace koord::scheduling::elastic_quota
