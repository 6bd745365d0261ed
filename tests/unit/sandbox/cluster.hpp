// A cluster in memory for tests: the API without sockets, on a manual clock.
#pragma once

#include <fmt/format.h>

#include <string>

#include "koord/base/manual_clock.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/builtin/builtin_kinds.hpp"

namespace koord::sandbox {

struct TestCluster {
  ManualClock clock;
  Store store;
  Registry registry{store};
  Verbs verbs{store, registry, clock, 1};
  Api api{verbs, {}};

  explicit TestCluster(std::size_t window = 50'000, std::size_t history_bytes = Store::kHistoryBytes)
      : store(window, 5'000, history_bytes) {
    add_builtin_kinds(registry);
    add_initial_objects(verbs);
  }

  struct Answer {
    unsigned status;
    std::string body;
    json::Document doc;
    std::unique_ptr<Watch> watch;
    std::string text(const char* a, const char* b = nullptr, const char* c = nullptr) const {
      const json::Value* value = find(doc, a);
      if (value && b) value = find(*value, b);
      if (value && c) value = find(*value, c);
      return !value ? "" : value->is_string() ? std::string(value->text()) : json::to_text(*value);
    }
  };

  /// `target` is a path with a query; the query's values need no decoding.
  Answer call(const std::string& method, const std::string& target, const std::string& body = "",
              const std::string& content_type = "application/json",
              const std::string& accept = "application/json") {
    net::Request request;
    request.method = method;
    request.target = target;
    std::size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    std::string query = mark == std::string::npos ? "" : target.substr(mark + 1);
    while (!query.empty()) {
      std::size_t end = std::min(query.find('&'), query.size());
      std::string pair = query.substr(0, end);
      query.erase(0, end + 1);
      std::size_t equals = std::min(pair.find('='), pair.size());
      request.query.emplace_back(pair.substr(0, equals), equals < pair.size() ? pair.substr(equals + 1) : "");
    }
    request.body = body;
    request.headers.add("Content-Type", content_type);
    request.headers.add("Accept", accept);
    Reply reply = api.handle(request);
    Answer answer{reply.http.status, reply.http.body, {}, std::move(reply.watch)};
    for (const auto& part : reply.http.parts) answer.body += *part;
    if (!answer.body.empty()) (void)answer.doc.read(answer.body);
    return answer;
  }

  static std::string pod(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"busybox:1.36","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}])" +
           more + "}}";
  }
  static std::string read(Watch& watch) {
    std::vector<Bytes> out;
    while (watch.read(out) == Watch::State::ready) {
    }
    std::string text;
    for (const auto& bytes : out) text += *bytes;
    return text;
  }
};

inline const std::string kPods = "/api/v1/namespaces/default/pods";

}  // namespace koord::sandbox
