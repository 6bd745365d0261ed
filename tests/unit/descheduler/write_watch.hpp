// WriteWatch: the log of a client's writes, so that no request of a test goes unrecorded: without it, or
// without saying on whose behalf.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"

namespace koord::descheduler::test {

class WriteWatch final : public kube::WriteLog {
 public:
  struct Seen {
    std::string request;  // "PATCH /api/v1/nodes/n"
    kube::Initiator by;
    bool known = false;  // on whose behalf
    bool ended = false;
    Outcome outcome{};
  };
  std::vector<Seen> all;

  /// It outlives what is written over the client.
  void watch(kube::Client& client) { client.set_write_log(this); }
  /// Each write that arrives has been told.
  void guard(koord::test::FakeTransport& server) {
    server.arrives = [this](const net::Request& request) { CHECK(missing(request) == ""); };
  }

  Task<Result<std::uint64_t>> begin(const net::Request& request, const kube::Initiator* by) override {
    all.push_back(
        {.request = text_of(request), .by = by != nullptr ? *by : kube::Initiator{}, .known = by != nullptr});
    co_return std::uint64_t{all.size()};
  }
  void end(std::uint64_t number, Outcome outcome, const Error* error) override {
    (void)error;
    Seen& seen = all.at(number - 1);
    seen.ended = true;
    seen.outcome = outcome;
  }

  /// Why a request that has just arrived would be missing in an audit; empty: it is there, whole.
  std::string missing(const net::Request& request) const {
    if (request.method == "GET" || request.method == "HEAD") return {};
    if (request.target.find("/events") != std::string::npos) return {};  // they tell of a modification
    const std::string text = text_of(request);
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (it->request != text || it->ended) continue;
      if (!it->known) return fmt::format("{}: on nobody's behalf", text);
      if (it->by.plugin.empty() || it->by.reason.empty())
        return fmt::format("{}: no plugin or no reason", text);
      return {};
    }
    return fmt::format("{}: it was not told before it went", text);
  }

 private:
  static std::string text_of(const net::Request& request) {
    return fmt::format("{} {}", request.method, request.target);
  }
};

}  // namespace koord::descheduler::test
