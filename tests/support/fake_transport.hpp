// FakeTransport: an API server that a test plays, in memory and in virtual time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/async/event.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/transport.hpp"

namespace koord::test {

/// The body of one open stream, as the test lets it come.
class FakeBody {
 public:
  void feed(std::string bytes) { push(std::move(bytes)); }
  /// The orderly end.
  void end() { push(std::string()); }
  /// The connection breaks.
  void cut() { push(Error(Code::unavailable, "connection reset by peer")); }
  /// True once nobody reads any more.
  bool dropped() const { return dropped_; }

 private:
  friend class FakeStream;
  void push(Result<std::string> chunk) {
    chunks_.push_back(std::move(chunk));
    readable_.set();
  }
  std::deque<Result<std::string>> chunks_;
  Event readable_;
  bool dropped_ = false;
};

class FakeStream final : public net::Stream {
 public:
  FakeStream(Clock& clock, net::Response head, std::shared_ptr<FakeBody> body)
      : clock_(clock), head_(std::move(head)), body_(std::move(body)) {}
  ~FakeStream() override { body_->dropped_ = true; }
  const net::Response& head() const override { return head_; }
  Task<Result<std::string_view>> read(nanoseconds idle) override {
    while (body_->chunks_.empty()) {
      body_->readable_.reset();
      if (idle <= nanoseconds::zero()) {
        KOORD_CO_CHECK(co_await body_->readable_.wait());
      } else {
        Task<Result<>> readable = body_->readable_.wait();
        KOORD_CO_CHECK(co_await with_timeout(clock_, idle, std::move(readable)));
      }
    }
    last_ = std::move(body_->chunks_.front());
    body_->chunks_.pop_front();
    if (!last_) co_return last_.error();
    co_return std::string_view(*last_);
  }

 private:
  Clock& clock_;
  net::Response head_;
  std::shared_ptr<FakeBody> body_;
  Result<std::string> last_{std::string()};
};

/// Answers from a function; a request that takes time is one whose `delay` the function sets.
class FakeTransport final : public kube::Transport {
 public:
  using Answer = std::function<Result<net::Response>(const net::Request&)>;
  explicit FakeTransport(Clock& clock) : clock_(clock) {}

  /// For send() and for the head of a stream; watches are recognised by "watch=" in the target.
  Answer answer = [](const net::Request&) { return Error(Code::unavailable, "connection refused"); };
  nanoseconds delay{0};
  /// Told of each request of send() that has arrived, before it is answered.
  std::function<void(const net::Request&)> arrives;
  std::vector<net::Request> requests;
  /// Each stream that was opened with status 200, in order.
  std::vector<std::shared_ptr<FakeBody>> bodies;
  int in_flight = 0, most_in_flight = 0;

  Task<Result<net::Response>> send(const net::Request& request) override {
    requests.push_back(request);
    most_in_flight = std::max(most_in_flight, ++in_flight);
    if (delay > nanoseconds::zero()) {
      const Result<> slept = co_await sleep(clock_, delay);
      if (!slept) {
        --in_flight;
        co_return slept.error();
      }
    }
    --in_flight;
    if (request.may_go && !request.may_go())
      co_return Error(Code::unavailable, "the request may not go any more");
    if (arrives) arrives(request);
    co_return answer(request);
  }
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override {
    requests.push_back(request);
    Result<net::Response> head = answer(request);
    if (!head) co_return head.error();
    auto body = std::make_shared<FakeBody>();
    if (!head->body.empty()) body->feed(head->body);
    if (head->status == 200)
      bodies.push_back(body);
    else
      body->end();
    co_return std::make_unique<FakeStream>(clock_, std::move(*head), std::move(body));
  }

 private:
  Clock& clock_;
};

inline net::Response json_response(unsigned status, std::string body) {
  return net::Response::json(status, std::move(body));
}

/// What the API server says when it says no.
inline net::Response status_response(unsigned code, std::string reason, std::string message = "no") {
  return json_response(code, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":")" + reason +
                                 R"(","message":")" + message + R"(","code":)" + std::to_string(code) + "}");
}

}  // namespace koord::test
