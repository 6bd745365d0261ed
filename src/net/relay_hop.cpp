// One task carries the answer, a second one the request's body, or whatever comes once a connection was
// taken over.
#include "relay_hop.hpp"

#include <fmt/format.h>

#include <iterator>

#include "relay_head.hpp"

namespace koord::net {
namespace {

void add_chunk(std::string& out, std::string_view bytes) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes).append("\r\n");
}

struct Told {
  Event& event;
  ~Told() { event.set(); }
};

struct Counted {
  explicit Counted(RelayCounts& all) : counts(all) {
    ++counts.requests;
    ++counts.open;
  }
  ~Counted() { --counts.open; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  RelayCounts& counts;
};

}  // namespace

RelayHop::RelayHop(Relay::Impl& relay) : relay_(relay) {}
RelayHop::~RelayHop() = default;

Response RelayHop::answer_to(const Error& error) const {
  if (relay_.options.failed) return relay_.options.failed(error);
  return Response::text(502, fmt::format("{}\n", error.message()));
}

Task<RelayEnd> RelayHop::run(std::shared_ptr<RelayFront> front) {
  const Counted counted(relay_.counts);
  const std::string& method = front->request().method;
  const bool repeatable = front->body_done() && (method == "GET" || method == "HEAD");
  for (;;) {
    const bool reused = back_ && !back_->dead();
    RelayEnd end;
    bool untouched = true;
    Result<> result;
    if (!reused) {
      auto fresh = co_await relay_.connect();
      if (fresh)
        back_ = std::move(*fresh);
      else
        result = std::move(fresh).error();
    }
    if (result)
      result = co_await exchange(front, end, untouched);
    else
      end.failed = result.error();
    if (!result) {
      back_.reset();
      // The server may end an idle connection just when a request is on its way.
      if (reused && untouched && repeatable && result.error().code() == Code::unavailable) continue;
      if (!end.whole) ++relay_.counts.failed;
    }
    co_return end;
  }
}

Task<Result<>> RelayHop::exchange(const std::shared_ptr<RelayFront>& front, RelayEnd& end, bool& untouched) {
  const bool upgrade = asks_upgrade(front->request());
  out_.clear();
  write_relayed_request(out_, front->request(), front->chunked_body(), upgrade);
  Result<> result = co_await back_->write(out_);
  body_sent_.reset();
  reading_ended_.reset();
  body_failed_ = !result;
  front->spawn(pass_body(front));

  ResponseParser parser(front->request().method, {.upgrade = upgrade, .any_encoding = true});
  body_.clear();
  extra_.clear();
  result = {};
  while (result && !parser.head_done()) {
    result = co_await more(parser);
    untouched = untouched && !parser.started();
  }
  if (!result) {
    co_await end_reading(*front);
    end.failed = result.error();
    co_return result;
  }
  const bool changed = parser.head().status == 101;
  if (changed || (parser.until_end() && relay_.options.takes_over &&
                  relay_.options.takes_over(front->request(), parser.head()))) {
    result = co_await body_sent_.wait();
    co_await end_reading(*front);
    KOORD_CO_CHECK(result);
    front->answered(parser.head().status);
    out_.clear();
    write_relayed_answer(out_, parser.head(), parser.reason(), {.verbatim = true});
    result = co_await take_over(front, changed ? extra_ : body_, end);
    back_.reset();
    co_return result;
  }
  result = co_await pass_answer(*front, parser, end);
  const bool all_sent = body_sent_.is_set() && !body_failed_ && front->body_done();
  co_await end_reading(*front);
  if (!result || !parser.keep_alive() || !all_sent || !extra_.empty()) back_.reset();
  end.keep = end.keep && all_sent;
  co_return result;
}

Task<Result<>> RelayHop::pass_answer(RelayFront& front, ResponseParser& parser, RelayEnd& end) {
  const bool chunked = parser.chunked() && !front.http_1_0();
  // Where the end of the body is the end of the connection, the client's ends with it.
  const bool last = parser.until_end() || (parser.chunked() && front.http_1_0());
  const bool keep = front.keep_alive() && !last;
  front.answered(parser.head().status);
  out_.clear();
  write_relayed_answer(out_, parser.head(), parser.reason(),
                       {.chunked = chunked, .http_1_0 = front.http_1_0(), .keep_alive = keep});
  for (;;) {
    add_body(body_, chunked);
    body_.clear();
    if (parser.done() && chunked) write_last_chunk(out_, parser.trailers());
    if (!out_.empty()) KOORD_CO_CHECK(co_await front.write(out_));
    out_.clear();
    if (parser.done()) break;
    KOORD_CO_CHECK(co_await more(parser));
  }
  end.whole = true;
  end.keep = keep;
  if (last) co_return Error(Code::unavailable, "the connection ends with the answer");
  co_return Result<>();
}

void RelayHop::add_body(std::string_view bytes, bool chunked) {
  if (bytes.empty()) return;
  relay_.counts.to_client += bytes.size();
  if (chunked)
    add_chunk(out_, bytes);
  else
    out_.append(bytes);
}

/// Reads once; what it has of the body is added to body_.
Task<Result<>> RelayHop::more(ResponseParser& parser) {
  KOORD_CO_TRY(received, co_await back_->read());
  if (received.empty()) co_return parser.finish();
  KOORD_CO_TRY(used, parser.feed(received, body_));
  if (used < received.size()) extra_.assign(received.substr(used));
  co_return Result<>();
}

Task<> RelayHop::pass_body(std::shared_ptr<RelayFront> front) {
  const Told ended{reading_ended_};
  {
    const Told sent{body_sent_};
    const bool chunked = front->chunked_body();
    std::string out;
    while (!body_failed_ && !front->body_done()) {
      const Result<std::string_view> bytes = co_await front->read_body();
      if (!bytes) {
        body_failed_ = true;
        back_->close();
        co_return;
      }
      relay_.counts.to_server += bytes->size();
      out.clear();
      if (chunked && !bytes->empty()) add_chunk(out, *bytes);
      if (chunked && front->body_done()) write_last_chunk(out, front->trailers());
      const Result<> written = co_await back_->write(chunked ? std::string_view(out) : *bytes);
      // A server that refuses a body answers and closes: the answer is worth reading.
      body_failed_ = !written;
    }
  }
  if (body_failed_) co_return;
  // Who asks and goes away ends what it has asked for.
  const Result<> gone = co_await front->wait_end();
  if (gone || gone.error().code() != Code::cancelled) back_->close();
}

Task<> RelayHop::end_reading(RelayFront& front) {
  if (!body_sent_.is_set()) back_->close();  // it may wait for the server to take more
  front.interrupt(true);
  const Result<> ended = co_await reading_ended_.wait();
  if (ended) front.interrupt(false);
}

Task<Result<>> RelayHop::take_over(const std::shared_ptr<RelayFront>& front, std::string_view first,
                                   RelayEnd& end) {
  ++relay_.counts.taken_over;
  relay_.counts.to_client += first.size();
  out_.append(first);
  reading_ended_.reset();
  front->spawn(pass_raw(front));
  Result<> result = co_await front->write(out_);
  while (result) {
    const Result<std::string_view> received = co_await back_->read();
    if (!received) {
      result = received.error();
    } else if (received->empty()) {
      break;
    } else {
      relay_.counts.to_client += received->size();
      out_.assign(*received);  // the room is everybody's
      result = co_await front->write(out_);
    }
  }
  if (result) {
    end.whole = true;
    front->shut_down_write();
    if (!back_->hung_up()) result = co_await reading_ended_.wait();
  }
  back_->close();
  co_await end_reading(*front);
  co_return result;
}

Task<> RelayHop::pass_raw(std::shared_ptr<RelayFront> front) {
  const Told ended{reading_ended_};
  for (;;) {
    const Result<std::string_view> bytes = co_await front->read_raw();
    if (!bytes) {
      if (bytes.error().code() != Code::cancelled) back_->close();
      co_return;
    }
    if (bytes->empty()) {
      if (front->hung_up())
        back_->close();
      else
        back_->shut_down_write();
      co_return;
    }
    relay_.counts.to_server += bytes->size();
    const Result<> written = co_await back_->write(*bytes);
    if (!written) co_return;
  }
}

}  // namespace koord::net
