// Who asks, and may they: delegated to the API server, remembered for a while.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/authentication_v1/token_review.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "review_cache.hpp"

namespace koord::kube {
class Client;
}

namespace koord::runtime {

/// The two questions; a test answers them without an API server.
class Reviewer {
 public:
  virtual ~Reviewer() = default;
  virtual Task<Result<api::TokenReviewStatus>> review(std::string token) = 0;
  virtual Task<Result<api::SubjectAccessReviewStatus>> review(api::SubjectAccessReviewSpec spec) = 0;
};

class KubeReviewer final : public Reviewer {
 public:
  KubeReviewer(kube::Client& authentication, kube::Client& authorization)
      : authentication_(authentication), authorization_(authorization) {}
  Task<Result<api::TokenReviewStatus>> review(std::string token) override;
  Task<Result<api::SubjectAccessReviewStatus>> review(api::SubjectAccessReviewSpec spec) override;

 private:
  kube::Client& authentication_;
  kube::Client& authorization_;
};

/// How a proxy, known by its certificate, says who asks.
struct RequestHeaders {
  std::vector<std::string> allowed_names;  // CNs of proxies; empty: any
  std::vector<std::string> username_headers, uid_headers, group_headers, extra_prefixes;

  friend bool operator==(const RequestHeaders&, const RequestHeaders&) = default;
};

struct AuthSettings {
  nanoseconds token_ttl = std::chrono::seconds{10};
  nanoseconds allowed_ttl = std::chrono::seconds{10};
  nanoseconds denied_ttl = std::chrono::seconds{10};
  std::vector<std::string> always_allow_paths;
};

/// What strangers ask is remembered too: each of the two caches keeps this many bytes at most.
inline constexpr std::size_t kReviewBytes = std::size_t{1} << 20;

class DelegatedAuth {
 public:
  DelegatedAuth(asio::any_io_executor executor, Reviewer& reviewer, Clock& clock, AuthSettings settings);
  /// Nothing if the request may go on, else the refusal. `debug`: never anonymous, never always allowed.
  Task<std::optional<net::Response>> refuse(const net::Request& request, bool debug);
  /// --authorization-always-allow-paths: anybody gets these.
  bool always_allowed(std::string_view path) const;
  /// Replaces what was set before; without it proxies' headers mean nothing.
  void set_request_headers(RequestHeaders headers) { request_headers_ = std::move(headers); }
  /// Before the end, where a question may be under way.
  Task<> stop();
  /// Of both caches.
  std::size_t remembered_bytes() const { return tokens_.bytes() + accesses_.bytes(); }

 private:
  std::optional<api::UserInfo> behind_proxy(const net::Request& request) const;
  Task<Result<std::optional<api::UserInfo>>> who(const net::Request& request);

  Reviewer& reviewer_;
  AuthSettings settings_;
  std::optional<RequestHeaders> request_headers_;
  ReviewCache<api::TokenReviewStatus> tokens_;
  ReviewCache<api::SubjectAccessReviewStatus> accesses_;
};

}  // namespace koord::runtime
