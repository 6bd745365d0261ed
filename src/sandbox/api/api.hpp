// Api: the Kubernetes API as a function from request to answer; sockets and TLS are elsewhere.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/net/message.hpp"
#include "koord/net/server.hpp"
#include "sandbox/api/request.hpp"
#include "sandbox/api/verbs.hpp"
#include "sandbox/select/selection.hpp"
#include "sandbox/store/watch.hpp"

namespace koord::sandbox {

/// An answer; if `watch` is set, it is the body.
struct Reply {
  net::Response http;
  std::unique_ptr<Watch> watch;
};

/// One thread. The store must have its namespaces (see add_initial_objects).
class Api {
 public:
  struct Options {
    std::string token;                    // empty: everyone is admitted
    std::string address = "127.0.0.1:0";  // for discovery
  };
  Api(Verbs& verbs, Options options);

  /// Whether a request may bring its body, judged by its header.
  net::Admission admit(const net::Request& request) const;
  /// `gate`: who is asked about what it writes. While that waits the reply is to be thrown away, and the
  /// request handled again.
  Reply handle(const net::Request& request, Gate* gate = nullptr);

  /// Asked before each request (tests): an answer given here is the request's. Empty: none.
  void set_interceptor(std::function<std::optional<Reply>(const net::Request&)> interceptor) {
    interceptor_ = std::move(interceptor);
  }
  Verbs& verbs() { return verbs_; }
  std::uint64_t requests() const { return requests_; }

 private:
  struct Call {
    const net::Request& request;
    Route route;
    std::shared_ptr<const Kind> kind;
    View view;
    Gate* gate = nullptr;
  };
  using Answer = Outcome<Reply>;

  Answer dispatch(const net::Request& request, Gate* gate);
  std::optional<Reply> fixed_path(const net::Request& request, View view);
  Answer on_resource(Call& call);
  Answer on_subresource(Call& call);
  // reads.cpp
  Answer get(Call& call);
  Answer list(Call& call);
  Answer usage(const Call& call) const;
  Answer log(const Call& call) const;
  Answer next_page(const Call& call, const ListOptions& options);
  Answer watch(Call& call, const ListOptions& options);
  Outcome<std::vector<ObjectPtr>> select_objects(const Call& call, const Selection& selection,
                                                 std::uint64_t& version);
  // writes.cpp
  Answer create(Call& call);
  Answer update(Call& call);
  Answer patch(Call& call);
  Answer remove(Call& call);
  Answer remove_collection(Call& call);
  Outcome<WriteOptions> write_options(const Call& call, std::string_view kind);
  Outcome<DeleteOptions> delete_options(const Call& call);
  Answer bind(Call& call);
  Answer evict(Call& call);
  Answer scale(Call& call);
  Outcome<void> review_body(const Call& call, json::Document& doc, std::string_view version,
                            std::string_view kind, bool dry_run);
  Answer review(Call& call);
  Answer connect(Call& call);

  /// The body as a document.
  Outcome<void> read_body(const net::Request& request, json::Document& doc);
  Reply object_reply(const Call& call, const ObjectPtr& object, unsigned status) const;
  Reply list_reply(const Call& call, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                   const std::string& next, std::optional<std::uint64_t> remaining) const;

  /// What is left of a list that is read in pages, as it was at its first page.
  struct Pages {
    std::uint64_t id, version;
    std::size_t bytes;  // of all its objects
    std::vector<ObjectPtr> objects;
  };
  void keep_pages(Pages pages);

  Verbs& verbs_;
  Options options_;
  std::function<std::optional<Reply>(const net::Request&)> interceptor_;
  std::deque<Pages> pages_;
  std::size_t pages_bytes_ = 0;
  std::uint64_t next_pages_ = 1;
  std::uint64_t requests_ = 0;
};

Reply json_reply(unsigned status, std::string body);
Reply failure_reply(const Failure& failure);

/// Namespaces and priority classes that a new cluster has.
void add_initial_objects(Verbs& verbs);

}  // namespace koord::sandbox
