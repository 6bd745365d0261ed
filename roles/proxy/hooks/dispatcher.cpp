// Asking hook servers: see dispatcher.hpp.
#include "hooks/dispatcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "hooks/folder_watch.hpp"
#include "hooks/hook_folder.hpp"
#include "hooks/hook_keep.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/text.hpp"
#include "koord/rpc/channel.hpp"
#include "merge/answer.hpp"
#include "merge/merge.hpp"

namespace koord::proxy {

namespace {

using metrics::Metric;
using metrics::Type;

const Metric kCalls{
    .name = "koord_runtimeproxy_hook_calls_total",
    .help =
        "Calls of hook servers, by their file, and how they ended: answered, timeout, unavailable, error, "
        "unreadable, or skipped because one that does not answer is left alone for a while.",
    .labels = {"stage", "file", "result"},
    .max_series = 1000};
const Metric kSeconds{.name = "koord_runtimeproxy_hook_seconds",
                      .type = Type::histogram,
                      .help = "How long hook servers took to answer.",
                      .labels = {"stage"},
                      .bounds = metrics::exponential_bounds(0.0001, 2, 16)};
const Metric kUnhooked{.name = "koord_runtimeproxy_unhooked_total",
                       .help =
                           "Requests that went on without what a hook server should have said, by its "
                           "policy Ignore or because their pod is not known.",
                       .labels = {"stage"}};
const Metric kRefused{
    .name = "koord_runtimeproxy_refused_total",
    .help = "Requests that were refused because a hook server with the policy Fail did not answer.",
    .labels = {"stage"}};
const Metric kFiles{.name = "koord_runtimeproxy_hook_files",
                    .type = Type::gauge,
                    .help = "Files that name hook servers and are in effect."};
const Metric kBadFiles{.name = "koord_runtimeproxy_bad_hook_files",
                       .type = Type::gauge,
                       .help = "Files of hook servers, or their folder, that cannot be read as they are."};

constexpr std::size_t kMostAnswer = std::size_t{4} << 20;
/// How often the folder is read without being told of a change.
constexpr nanoseconds kReread = std::chrono::minutes(1);

/// What has happened cannot be refused.
bool is_post(rpc::hooks::Stage stage) { return rpc::hooks::to_string(stage).starts_with("Post"); }

HookTexts load_kept(const std::string& file, const Logger& log) {
  auto kept = read_kept(file);
  if (kept) return std::move(*kept);
  if (kept.error().code() != Code::not_found)
    log.warn("what was kept of hook servers' files cannot be used", kv("error", kept.error()));
  return {};
}

std::string shown(const rpc::Status& status) {
  return fmt::format("rpc error: code = {} desc = {}", rpc::to_string(status.code),
                     utf8_prefix(status.message, 1024));
}

}  // namespace

const metrics::Table Dispatcher::kMetrics = {&kCalls, &kSeconds, &kUnhooked, &kRefused, &kFiles, &kBadFiles};

struct Dispatcher::Server {
  Server(rpc::Engine& engine, rpc::ChannelOptions options) : channel(engine, std::move(options)) {}

  rpc::Channel channel;
  Breaker breaker;
  std::string problem;  // of the last call; empty: it answered
};

struct Dispatcher::Answer {
  std::string_view result;  // as kCalls has it
  std::string message;      // of the answer, or why there is none
  std::shared_ptr<Server> server;
};

Dispatcher::Dispatcher(Parts parts)
    : parts_(std::move(parts)),
      servers_(load_kept(parts_.keep_file, parts_.log)),
      current_(std::make_shared<const std::vector<HookServer>>()),
      calls_(parts_.metrics.counters(kCalls)),
      unhooked_(parts_.metrics.counters(kUnhooked)),
      refused_(parts_.metrics.counters(kRefused)),
      seconds_(parts_.metrics.histograms(kSeconds)),
      files_(parts_.metrics.gauge(kFiles)),
      bad_files_(parts_.metrics.gauge(kBadFiles)) {
  read_folder();
}

Dispatcher::~Dispatcher() = default;

void Dispatcher::keep() {
  HookTexts good = servers_.good();
  if (kept_ == good && ::access(parts_.keep_file.c_str(), F_OK) == 0) return;
  const auto kept = write_kept(parts_.keep_file, good);
  // It is tried again, a minute later at the latest: a disk is not full for ever.
  if (!kept && keeps_)
    parts_.log.warn("hook servers' files are not kept for the next start", kv("error", kept.error()));
  if (kept && !keeps_) parts_.log.info("hook servers' files are kept again", kv("file", parts_.keep_file));
  keeps_ = kept.has_value();
  kept_.reset();
  if (kept) kept_ = std::move(good);
}

void Dispatcher::read_folder() {
  const HookServers::News news = servers_.update(read_hook_folder(parts_.folder));
  for (const std::string& line : news.told) parts_.log.info("hook server", kv("file", line));
  for (const std::string& line : news.problems)
    parts_.log.warn("a hook server's file is not as it should be", kv("file", line));
  bad_files_.set(static_cast<double>(servers_.bad()));
  files_.set(static_cast<double>(servers_.all().size()));
  if (!news.changed) return;
  current_ = std::make_shared<const std::vector<HookServer>>(servers_.all());
  asked_.reset();
  insisted_.reset();
  for (const HookServer& server : *current_) {
    asked_ |= server.stages;
    if (server.fail) insisted_ |= server.stages;
  }
  for (std::size_t i = 0; i < insisted_.size(); ++i)
    if (is_post(static_cast<rpc::hooks::Stage>(i))) insisted_.reset(i);
  std::erase_if(by_endpoint_, [this](const auto& entry) {
    return std::ranges::find(*current_, entry.first, &HookServer::endpoint) == current_->end();
  });
}

void Dispatcher::renew(const std::string& endpoint) { by_endpoint_.erase(endpoint); }

std::shared_ptr<Dispatcher::Server> Dispatcher::server_at(const std::string& endpoint) {
  auto& server = by_endpoint_[endpoint];
  if (!server)
    server = std::make_shared<Server>(
        parts_.engine, rpc::ChannelOptions{.path = endpoint,
                                           .max_message = kMostAnswer,
                                           .user_agent = {},
                                           // The call's own end comes first, so that it counts as one.
                                           .connect_within = 2 * parts_.timeout,
                                           .most_backoff = std::chrono::seconds(1)});
  return server;
}

Task<Dispatcher::Answer> Dispatcher::ask_one(const HookServer& server, rpc::hooks::Stage stage,
                                             std::string message, nanoseconds limit) {
  Answer answer{.result = "answered", .message = {}, .server = server_at(server.endpoint)};
  Breaker& breaker = answer.server->breaker;
  const MonoTime began = parts_.clock.mono();
  if (!breaker.may_ask(began)) {
    answer.result = "skipped";
    answer.message = fmt::format(
        "rpc error: code = Unavailable desc = {} did not answer, and is asked again in {:.1f}s",
        server.endpoint,
        std::chrono::duration<double>(std::max(nanoseconds::zero(), breaker.left(began))).count());
    co_return answer;
  }
  // What is cancelled while it waits says nothing of the server.
  struct Asking {
    Breaker* breaker;
    ~Asking() {
      if (breaker) breaker->gave_up();
    }
  } asking{&breaker};
  rpc::Reply reply =
      co_await answer.server->channel.call({.method = std::string(rpc::hooks::method_of(stage)),
                                            .message = std::move(message),
                                            .metadata = {},
                                            .time_left = limit});
  const MonoTime ended = parts_.clock.mono();
  if (const auto state = co_await asio::this_coro::cancellation_state;
      state.cancelled() != asio::cancellation_type::none) {
    answer.result = "cancelled";
    co_return answer;
  }
  if (reply.status.code == rpc::StatusCode::deadline_exceeded) {
    answer.result = "timeout";
    if (limit >= parts_.timeout) {  // not the caller's own time that was over
      asking.breaker = nullptr;
      breaker.timed_out(ended);
    }
    answer.message = fmt::format("rpc error: code = DeadlineExceeded desc = {} did not answer within {:.3g}s",
                                 server.endpoint, std::chrono::duration<double>(limit).count());
    co_return answer;
  }
  asking.breaker = nullptr;
  const bool late = reply.status.code == rpc::StatusCode::unavailable && ended - began >= parts_.timeout / 2;
  if (late)
    breaker.timed_out(ended);  // of a connection that came to nothing
  else
    breaker.answered();
  if (reply.status.ok()) {
    seconds_.with({rpc::hooks::to_string(stage)})
        .observe(std::chrono::duration<double>(ended - began).count());
    answer.message = std::move(reply.message);
    co_return answer;
  }
  answer.result = reply.status.code == rpc::StatusCode::unavailable ? "unavailable" : "error";
  answer.message = shown(reply.status);
  co_return answer;
}

Result<> Dispatcher::failed(const HookServer& server, rpc::hooks::Stage stage, const Answer& answer) {
  const bool refuses = server.fail && !is_post(stage);
  if (answer.server->problem.empty())
    parts_.log.warn("a hook server gives no answer", kv("file", server.file),
                    kv("stage", rpc::hooks::to_string(stage)), kv("error", answer.message),
                    kv("then", refuses ? "the request is refused" : "the request goes on"));
  answer.server->problem = answer.message;
  if (!refuses) {
    unhooked_.with({rpc::hooks::to_string(stage)}).inc();
    return {};
  }
  refused_.with({rpc::hooks::to_string(stage)}).inc();
  return Error(Code::unavailable, fmt::format("hook server err: {}", answer.message));
}

template <class Request, class Decode>
Task<Result<>> Dispatcher::ask_all(rpc::hooks::Stage stage, Request& request,
                                   std::optional<nanoseconds> time_left, Decode decode) {
  const auto servers = current_;  // those of now, whatever the folder says meanwhile
  const MonoTime began = parts_.clock.mono();
  for (const HookServer& server : *servers) {
    if (!server.has(stage)) continue;
    nanoseconds limit = parts_.timeout;
    if (time_left) limit = std::clamp(*time_left - (parts_.clock.mono() - began), nanoseconds(1), limit);
    Answer answer = co_await ask_one(server, stage, rpc::hooks::encode(request), limit);
    if (answer.result == "answered") {
      auto said = decode(answer.message);
      if (said)
        if (const auto fine = check_answer(request, *said); !fine) said = fine.error();
      if (said) {
        if (!answer.server->problem.empty())
          parts_.log.info("a hook server answers again", kv("file", server.file));
        answer.server->problem.clear();
        merge(request, *said);
      } else {
        answer.result = "unreadable";
        answer.message = said.error().context(server.file).message();
      }
    }
    if (answer.result == "cancelled") co_return Error(Code::cancelled, "the caller has gone");
    calls_.with({rpc::hooks::to_string(stage), server.file, answer.result}).inc();
    if (answer.result == "answered") continue;
    KOORD_CO_CHECK(failed(server, stage, answer));
  }
  co_return Result<>();
}

Task<Result<>> Dispatcher::ask(rpc::hooks::Stage stage, rpc::hooks::PodRequest& request,
                               std::optional<nanoseconds> time_left) {
  return ask_all(stage, request, time_left, &rpc::hooks::decode_pod_response);
}

Task<Result<>> Dispatcher::ask(rpc::hooks::Stage stage, rpc::hooks::ContainerRequest& request,
                               std::optional<nanoseconds> time_left) {
  return ask_all(stage, request, time_left, &rpc::hooks::decode_container_response);
}

Result<> Dispatcher::cannot_ask(rpc::hooks::Stage stage, const Error& why) {
  if (!asks(stage)) return {};
  if (!insists(stage)) {
    unhooked_.with({rpc::hooks::to_string(stage)}).inc();
    parts_.log.warn("a request goes on without its hooks", kv("stage", rpc::hooks::to_string(stage)),
                    kv("error", why.message()));
    return {};
  }
  refused_.with({rpc::hooks::to_string(stage)}).inc();
  return Error(Code::unavailable, fmt::format("hook server err: {}", why.message()));
}

Task<Result<>> Dispatcher::follow() {
  KOORD_CO_TRY(watch, FolderWatch::open(parts_.executor, parts_.folder));
  for (;;) {
    keep();
    watch.follow(*current_);
    const auto changed = co_await with_timeout(parts_.clock, kReread, watch.next());
    if (!changed && changed.error().code() == Code::cancelled) co_return changed.error();
    if (!changed && changed.error().code() != Code::timeout)
      parts_.log.warn("the hook servers' folder cannot be followed", kv("error", changed.error().message()));
    if (changed)
      for (const std::string& endpoint : changed->sockets) renew(endpoint);
    read_folder();
    // Who writes his file again has begun again.
    if (changed)
      for (const HookServer& server : *current_)
        if (std::ranges::find(changed->files, server.file) != changed->files.end()) {
          const auto found = by_endpoint_.find(server.endpoint);
          if (found != by_endpoint_.end() && !found->second->problem.empty()) by_endpoint_.erase(found);
        }
  }
}

}  // namespace koord::proxy
