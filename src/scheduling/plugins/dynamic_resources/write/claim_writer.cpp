// The controller of DynamicResources: see claim_writer.hpp.
#include "scheduling/plugins/dynamic_resources/write/claim_writer.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/async/channel.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

constexpr int kWriters = 8, kTries = 4;
constexpr nanoseconds kFirstPause = std::chrono::milliseconds(200);

class ClaimWriter final : public PluginController {
 public:
  explicit ClaimWriter(std::shared_ptr<ClaimBoard> board) : board_(std::move(board)) {}
  Task<Result<>> run(Context context) override;

 private:
  struct Running {
    const Context& context;
    Channel<ClaimChange> changes{ClaimBoard::kMost};
    std::shared_ptr<Event> told = std::make_shared<Event>();
  };
  Task<Result<>> hear(Running& running);
  Task<Result<>> work(Running& running);
  static Task<Result<>> write(const Context& context, const ClaimChange& change);
  static Task<Result<>> write_once(const Context& context, const ClaimChange& change);
  static Task<Result<>> remove(const Context& context, const api::ResourceClaim& claim);

  const std::shared_ptr<ClaimBoard> board_;
};

Task<Result<>> ClaimWriter::run(Context context) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Running running{context};
  const std::weak_ptr<Event> told = running.told;
  board_->call([executor, told] {
    asio::post(executor, [told] {
      if (const auto event = told.lock()) event->set();
    });
  });
  struct Deaf {
    ClaimBoard& board;
    ~Deaf() { board.call(nullptr); }
  } const deaf{*board_};
  TaskGroup tasks(executor);
  tasks.spawn("changes of claims", hear(running));
  for (int i = 0; i < kWriters; ++i) tasks.spawn("claims' status", work(running));
  Task<Result<>> ended = tasks.join();
  co_return co_await with_cleanup(std::move(ended), tasks.stop(context.clock, std::chrono::seconds(2)));
}

Task<Result<>> ClaimWriter::hear(Running& running) {
  for (;;) {
    KOORD_CO_CHECK(co_await running.told->wait());
    running.told->reset();
    for (ClaimChange& change : board_->take())
      KOORD_CO_CHECK(co_await running.changes.push(std::move(change)));
  }
}

Task<Result<>> ClaimWriter::work(Running& running) {
  for (;;) {
    KOORD_CO_TRY(change, co_await running.changes.pop());
    if (!change) co_return Result<>();
    Task<Result<>> writing = write(running.context, *change);
    const Result<> written = co_await std::move(writing);
    board_->done(*change->claim);
    if (written || written.error().code() == Code::not_found) continue;
    if (written.error().code() == Code::cancelled) co_return written;
    const api::ObjectMeta& claim = change->claim->metadata;
    running.context.log.warn(
        change->remove ? "a ResourceClaim of a pod's extended resources stays: it could not be deleted"
        : change->pod_uid.empty() ? "a ResourceClaim keeps its devices: its status could not be written"
                                  : "a ResourceClaim stays kept for a pod: its status could not be written",
        kv("namespace", claim.namespace_.view()), kv("resourceclaim", claim.name),
        kv("error", written.error()));
  }
}

Task<Result<>> ClaimWriter::write(const Context& context, const ClaimChange& change) {
  nanoseconds pause = kFirstPause;
  for (int n = 1;; ++n, pause *= 2) {
    Task<Result<>> once = write_once(context, change);
    const Result<> written = co_await std::move(once);
    if (written || n == kTries || !retriable(written.error().code())) co_return written;
    KOORD_CO_CHECK(co_await sleep(context.clock, pause));
  }
}

Task<Result<>> ClaimWriter::write_once(const Context& context, const ClaimChange& change) {
  if (!context.may_write()) co_return Error(Code::conflict, "another scheduler may hold the lease");
  const api::ResourceClaim& claim = *change.claim;
  kube::ObjectKey key{claim.metadata.namespace_.str(), claim.metadata.name};
  if (change.remove) {
    Task<Result<>> removing = remove(context, claim);
    co_return co_await std::move(removing);
  }
  if (change.pod_uid.empty()) {
    const auto put = co_await context.client.update_raw(api::kind<api::ResourceClaim>(), std::move(key),
                                                        api::encode(deallocated(claim)), "status");
    co_return put ? Result<>() : Result<>(put.error());
  }
  const auto patched = co_await context.client.patch_raw(
      api::kind<api::ResourceClaim>(), std::move(key), release_patch(claim, change.pod_uid),
      {.type = api::PatchType::strategic, .subresource = "status", .may_go = context.may_write});
  co_return patched ? Result<>() : Result<>(patched.error());
}

/// As it is now, since drivers may have put finalizers there of their own: the scheduler's would keep it.
Task<Result<>> ClaimWriter::remove(const Context& context, const api::ResourceClaim& claim) {
  const kube::ObjectKey key{claim.metadata.namespace_.str(), claim.metadata.name};
  Result<> removed;
  for (int n = 0; n < kTries; ++n) {
    auto now = co_await context.client.get<api::ResourceClaim>(key);
    if (!now) co_return now.error();
    if (now->metadata.uid != claim.metadata.uid) co_return Result<>();
    auto& finalizers = now->metadata.finalizers;
    if (const auto it = std::ranges::find(finalizers, Symbol(kDeleteProtection)); it != finalizers.end()) {
      finalizers.erase(it);
      const auto put =
          co_await context.client.update_raw(api::kind<api::ResourceClaim>(), key, api::encode(*now));
      removed = put ? Result<>() : Result<>(put.error());
      if (!removed && removed.error().code() == Code::conflict) continue;
      if (!removed) co_return removed;
    }
    co_return co_await context.client.remove<api::ResourceClaim>(
        key, {.uid = claim.metadata.uid, .may_go = context.may_write});
  }
  co_return removed;
}

}  // namespace

std::string release_patch(const api::ResourceClaim& claim, std::string_view pod_uid) {
  std::string body;
  json::Writer json(body);
  json.begin_object().key("metadata").begin_object().member("uid", claim.metadata.uid).end_object();
  json.key("status").begin_object().key("reservedFor").begin_array();
  json.begin_object().member("$patch", "delete").member("uid", pod_uid).end_object();
  json.end_array().end_object().end_object();
  return body;
}

api::ResourceClaim deallocated(const api::ResourceClaim& claim) {
  api::ResourceClaim without = claim;
  without.status = {};
  return without;
}

std::unique_ptr<PluginController> make_claim_writer(std::shared_ptr<ClaimBoard> board) {
  return std::make_unique<ClaimWriter>(std::move(board));
}

}  // namespace koord::scheduling::dynamic_resources
