// FakeCluster: an API server of jobs, reservations and pods, and those who work on them besides: a scheduler,
// the pods' workload and a kubelet, each as far as the test lets it.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/patch.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/rights_check.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler::migration::test {

class FakeCluster {
 public:
  struct Path {
    std::string plural, ns, name, sub;
    std::string key() const { return plural + "/" + ns + "/" + name; }
  };
  explicit FakeCluster(koord::test::Loop& loop) : loop(loop) {
    server.answer = [this](const net::Request& request) { return serve(request); };
    watch.guard(server);
  }

  koord::test::Loop& loop;
  koord::test::FakeTransport server{loop.clock};
  descheduler::test::WriteWatch watch;         // of each client that writes here
  std::map<std::string, std::string> objects;  // by Path::key()
  std::vector<std::string> writes;             // "PATCH podmigrationjobs/j status"
  int evictions = 0, reservations_made = 0;
  std::string refusal;           // of evictions: a budget's words
  std::string stays;             // the pod that may not be evicted, by its name
  bool lets_go = true;           // the kubelet ends pods that are asked to go
  bool schedules = true;         // reservations get a node
  bool replaces = true;          // pods that have gone come again, in their reservation
  std::optional<int> dies_with;  // this write is done, and nobody hears of it, nor of what follows
  bool dead = false;
  std::function<void()> before_write;  // once: somebody is faster, and nobody has heard of it yet

  json::Document read(const std::string& key) const { return json::parse(objects.at(key)).value(); }
  std::string text_at(const std::string& key, std::string_view pointer_a, std::string_view pointer_b) const {
    return std::string(json::text_at(read(key), pointer_a, pointer_b));
  }
  bool has(const std::string& key) const { return objects.contains(key); }

  /// Anybody's write.
  void put(const std::string& key, json::Document object) {
    const bool added = !objects.contains(key);
    json::Value& metadata = json::object_at(object, "metadata", object.arena());
    json::set_text(metadata, "resourceVersion", std::to_string(++version_), object.arena());
    if (json::text_at(metadata, "uid").empty())
      json::set_text(metadata, "uid", fmt::format("00000000-0000-0000-0000-{:012}", version_),
                     object.arena());
    if (json::text_at(metadata, "creationTimestamp").empty())
      json::set_text(metadata, "creationTimestamp", api::Time(loop.clock.now()).to_string(), object.arena());
    objects[key] = json::to_text(object);
    tell(key, added ? "ADDED" : "MODIFIED", objects[key]);
  }
  void put(const std::string& key, std::string_view text) { put(key, json::parse(text).value()); }
  void change(const std::string& key, std::string_view merge) {
    json::Document object = read(key);
    json::merge_patch(object, json::parse(merge).value(), object.arena());
    put(key, std::move(object));
  }
  void erase(const std::string& key) {
    const auto it = objects.find(key);
    if (it == objects.end()) return;
    const std::string last = it->second;
    objects.erase(it);
    ++version_;
    tell(key, "DELETED", last);
  }

  /// One round of those who work beside the descheduler.
  void work() {
    for (const auto& [key, text] : std::map(objects)) {
      if (key.starts_with("reservations/")) schedule(key);
      if (key.starts_with("pods/") && lets_go && !text_at(key, "metadata", "deletionTimestamp").empty())
        end_pod(key);
    }
  }
  void run(int rounds = 40) {
    for (int i = 0; i < rounds; ++i) {
      loop.advance(std::chrono::milliseconds(50));
      work();
    }
  }

 private:
  static Path parse(std::string_view target) {
    std::string_view path = target.substr(0, target.find('?'));
    std::vector<std::string> parts;
    for (std::size_t at = 1; at <= path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      parts.emplace_back(path.substr(at, end - at));
      at = end + 1;
    }
    parts.erase(parts.begin(), parts.begin() + (parts[0] == "api" ? 2 : 3));
    Path found;
    if (parts.size() >= 2 && parts[0] == "namespaces") {
      found.ns = parts[1];
      parts.erase(parts.begin(), parts.begin() + 2);
    }
    found.plural = parts[0];
    if (parts.size() > 1) found.name = parts[1];
    if (parts.size() > 2) found.sub = parts[2];
    return found;
  }

  Result<net::Response> serve(const net::Request& request) {
    CHECK(descheduler::test::lacking_right(request) == "");
    const Path path = parse(request.target);
    if (request.method == "GET" && path.name.empty()) return collection(request, path);
    if (dead) return Error(Code::unavailable, "connection refused");
    if (request.method == "GET") {
      const auto it = objects.find(path.key());
      if (it == objects.end()) return koord::test::status_response(404, "NotFound", "not found");
      return koord::test::json_response(200, it->second);
    }
    writes.push_back(fmt::format("{} {}/{}{}{}", request.method, path.plural, path.name,
                                 path.sub.empty() ? "" : " ", path.sub));
    if (before_write) std::exchange(before_write, nullptr)();
    Result<net::Response> answer = write(request, path);
    if (dies_with && static_cast<int>(writes.size()) == *dies_with) {
      dead = true;
      return Error(Code::unavailable, "connection reset");
    }
    return answer;
  }

  Result<net::Response> collection(const net::Request& request, const Path& path) {
    if (request.target.find("sendInitialEvents") != std::string::npos)
      return koord::test::status_response(422, "Invalid");
    if (request.target.find("watch=") == std::string::npos) {
      std::string items;
      for (const auto& [key, object] : objects)
        if (key.starts_with(path.plural + "/")) items += (items.empty() ? "" : ",") + object;
      return koord::test::json_response(
          200, fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version_, items));
    }
    const std::string_view mark = "resourceVersion=";
    const std::size_t at = request.target.find(mark);
    const long since = at == std::string::npos ? 0 : std::stol(request.target.substr(at + mark.size()));
    std::string missed;
    for (const auto& [version, line] : log_[path.plural])
      if (version > since) missed += line;
    streams_[path.plural] = server.bodies.size();
    return koord::test::json_response(200, missed);
  }

  Result<net::Response> write(const net::Request& request, const Path& path) {
    const std::string key = path.key();
    if (request.method == "POST" && path.sub == "eviction") return evict(key);
    json::Document body;
    if (!request.body.empty()) body = json::parse(request.body).value();
    if (request.method == "POST") {
      Path made = path;
      made.name = std::string(json::text_at(body, "metadata", "name"));
      if (has(made.key())) return koord::test::status_response(409, "AlreadyExists");
      if (path.plural == "reservations") ++reservations_made;
      json::remove(body, "status");
      put(made.key(), std::move(body));
      return koord::test::json_response(201, objects[made.key()]);
    }
    if (!has(key)) return koord::test::status_response(404, "NotFound");
    json::Document object = read(key);
    if (request.method == "DELETE") {
      for (const std::string_view field : {"resourceVersion", "uid"})
        if (const std::string_view wanted = json::text_at(body, "preconditions", field);
            !wanted.empty() && wanted != json::text_at(object, "metadata", field))
          return koord::test::status_response(409, "Conflict");
      erase(key);
      return koord::test::json_response(200, "{}");
    }
    for (const std::string_view field : {"resourceVersion", "uid"})
      if (const std::string_view wanted = json::text_at(body, "metadata", field);
          !wanted.empty() && wanted != json::text_at(object, "metadata", field))
        return koord::test::status_response(409, "Conflict");
    // The subresource writes the status alone, the object everything else.
    if (path.sub == "status") {
      json::Document status;
      if (json::Value* part = json::find(body, "status"))
        json::set(status, "status", json::clone(*part, status.arena()), status.arena());
      json::merge_patch(object, status, object.arena());
    } else {
      json::remove(body, "status");
      json::merge_patch(object, body, object.arena());
    }
    put(key, std::move(object));
    return koord::test::json_response(200, objects[key]);
  }

  Result<net::Response> evict(const std::string& key) {
    if (!has(key)) return koord::test::status_response(404, "NotFound");
    if (!stays.empty() && key.ends_with("/" + stays))
      return koord::test::status_response(429, "TooManyRequests", "not yet");
    if (!refusal.empty()) return koord::test::status_response(429, "TooManyRequests", refusal);
    ++evictions;
    change(key, fmt::format(R"({{"metadata":{{"deletionTimestamp":"{}"}}}})",
                            api::Time(loop.clock.now()).to_string()));
    return koord::test::json_response(201, "{}");
  }

  void schedule(const std::string& key) {
    if (!schedules || !text_at(key, "status", "phase").empty()) return;
    change(key, R"({"status":{"phase":"Available","nodeName":"node-1",)"
                R"("conditions":[{"type":"Scheduled","status":"True","reason":"Scheduled"}]}})");
  }

  void end_pod(const std::string& key) {
    const json::Document old = read(key);
    const std::string name(json::text_at(old, "metadata", "name"));
    erase(key);
    if (!replaces) return;
    json::Document next = json::clone(old);
    json::Value& metadata = json::object_at(next, "metadata", next.arena());
    for (const std::string_view field : {"uid", "deletionTimestamp", "creationTimestamp"})
      json::remove(metadata, field);
    json::set_text(metadata, "name", name + "-next", next.arena());
    json::set_text(json::object_at(next, "spec", next.arena()), "nodeName", "node-1", next.arena());
    const std::string next_key = "pods/default/" + name + "-next";
    put(next_key, std::move(next));
    for (const auto& [reservation, text] : std::map(objects)) {
      if (!reservation.starts_with("reservations/") || text_at(reservation, "status", "phase") != "Available")
        continue;
      change(reservation,
             fmt::format(R"({{"status":{{"phase":"Succeeded","currentOwners":[{{"namespace":"default",)"
                         R"("name":"{}-next","uid":"{}"}}]}}}})",
                         name, text_at(next_key, "metadata", "uid")));
      break;
    }
  }

  void tell(const std::string& key, std::string_view type, const std::string& object) {
    const std::string plural = key.substr(0, key.find('/'));
    json::Document document = json::parse(object).value();
    json::set_text(json::object_at(document, "metadata", document.arena()), "resourceVersion",
                   std::to_string(version_), document.arena());
    const std::string line =
        fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json::to_text(document));
    log_[plural].emplace_back(version_, line);
    if (const auto it = streams_.find(plural); it != streams_.end() && it->second < server.bodies.size())
      server.bodies[it->second]->feed(line);
  }

  long version_ = 100;
  std::map<std::string, std::size_t> streams_;
  std::map<std::string, std::vector<std::pair<long, std::string>>> log_;
};

}  // namespace koord::descheduler::migration::test
