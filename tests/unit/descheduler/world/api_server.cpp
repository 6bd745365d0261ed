// ApiServer: see api_server.hpp.
#include "world/api_server.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "koord/api/kinds/crd.hpp"
#include "koord/async/timer.hpp"
#include "sandbox/builtin/builtin_kinds.hpp"
#include "sandbox/load/loader.hpp"

namespace koord::descheduler::world {

namespace {

using namespace std::chrono_literals;

constexpr nanoseconds kBookmarks = 50s;

/// What the path and the query of a target are.
net::Request parsed(net::Request request) {
  const std::string_view target = request.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = net::percent_decode(target.substr(0, mark)).value();
  for (std::string_view rest = target.substr(std::min(mark + 1, target.size())); !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    request.query.emplace_back(
        net::percent_decode(pair.substr(0, equals), true).value(),
        net::percent_decode(pair.substr(std::min(equals + 1, pair.size())), true).value());
  }
  return request;
}

net::Response whole(net::Response response) {
  for (const auto& part : response.parts) response.body += *part;
  response.parts.clear();
  return response;
}

class WatchStream final : public net::Stream {
 public:
  WatchStream(Clock& clock, sandbox::Reply reply, std::list<sandbox::Watch*>& open)
      : clock_(clock), head_(std::move(reply.http)), watch_(std::move(reply.watch)), open_(open) {
    if (watch_) place_ = open_.insert(open_.end(), watch_.get());
    rest_ = std::exchange(head_.body, {});
  }
  ~WatchStream() override {
    if (watch_) open_.erase(place_);
  }
  const net::Response& head() const override { return head_; }
  Task<Result<std::string_view>> read(nanoseconds idle) override {
    text_ = std::exchange(rest_, {});
    while (text_.empty() && watch_) {
      std::vector<sandbox::Bytes> frames;
      const sandbox::Watch::State state = watch_->read(frames);
      for (const auto& frame : frames) text_ += *frame;
      if (!text_.empty() || state == sandbox::Watch::State::ended) break;
      if (state == sandbox::Watch::State::ready) continue;
      news_.reset();
      watch_->set_wake([this] { news_.set(); });
      Task<Result<>> news = news_.wait();
      Result<> woken = idle <= nanoseconds::zero() ? co_await std::move(news)
                                                   : co_await with_timeout(clock_, idle, std::move(news));
      if (!woken) co_return woken.error();
    }
    co_return std::string_view(text_);
  }

 private:
  Clock& clock_;
  net::Response head_;
  std::unique_ptr<sandbox::Watch> watch_;
  std::list<sandbox::Watch*>& open_;
  std::list<sandbox::Watch*>::iterator place_;
  Event news_;
  std::string text_, rest_;
};

sandbox::Registry& with_kinds(sandbox::Registry& registry) {
  sandbox::add_builtin_kinds(registry);
  return registry;
}

}  // namespace

sandbox::Reply DirectTransport::ask(const net::Request& request) {
  const net::Request asked = parsed(request);
  if (before)
    if (auto said = before(asked)) return {std::move(*said), nullptr};
  sandbox::Reply reply = api_.handle(asked);
  reply.http = whole(std::move(reply.http));
  if (after) after(asked, reply.http);
  return reply;
}

Task<Result<net::Response>> DirectTransport::send(const net::Request& request) {
  co_return ask(request).http;
}

Task<Result<std::unique_ptr<net::Stream>>> DirectTransport::open_stream(net::Request request) {
  co_return std::make_unique<WatchStream>(clock_, ask(request), open_);
}

ApiServer::ApiServer(Clock& clock, std::uint64_t seed)
    : clock_(clock),
      verbs_(store_, with_kinds(registry_), clock, seed),
      api_(verbs_, {}),
      registrar_(registry_, clock),
      garbage_(verbs_),
      workloads_(verbs_),
      stateful_sets_(verbs_),
      disruptions_(verbs_),
      kubelets_(verbs_, {.start_delay = 2s, .stop_delay = 5s, .lease_period = 600s}) {
  sandbox::add_initial_objects(verbs_);
  for (const api::Schema* schema : api::custom_resources()) create(api::crd_manifest_json(*schema));
  tick();
}

ApiServer::~ApiServer() { clock_.cancel(timer_); }

DirectTransport& ApiServer::connect() { return transports_.emplace_back(api_, clock_, open_); }

void ApiServer::create(const std::string& json) {
  if (const Result<> made = sandbox::load_object(verbs_, json); !made) FAIL(made.error().message());
}

void ApiServer::edit(std::string_view resource, std::string_view ns, std::string_view name,
                     const std::function<void(json::Document&)>& change) {
  for (const auto& kind : registry_.all()) {
    if (kind->resource != resource) continue;
    const auto done =
        verbs_.modify(*kind, ns, name, "", [&](json::Document& object) -> sandbox::Outcome<void> {
          change(object);
          return {};
        });
    if (!done) FAIL(done.error().message);
    return;
  }
  FAIL("no such kind");
}

/// Watches hear that nothing has happened, and end when they are old.
void ApiServer::tick() {
  for (sandbox::Watch* watch : open_)
    if (watch->overdue(clock_.mono()))
      watch->end();
    else
      watch->want_bookmark();
  timer_ = clock_.call_at(clock_.mono() + kBookmarks, [this] { tick(); });
}

}  // namespace koord::descheduler::world
