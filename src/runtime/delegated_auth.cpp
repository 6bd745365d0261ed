// Delegated authentication and authorization: TokenReview, SubjectAccessReview, two small caches.
#include "delegated_auth.hpp"

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "koord/kube/client.hpp"

namespace koord::runtime {
namespace {

constexpr std::size_t kMaxRemembered = 4096;  // outside input makes the keys

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::optional<std::string> bearer_token(const net::Request& request) {
  const std::string_view value = request.headers.get("Authorization");
  if (value.size() < 8 || lower(value.substr(0, 7)) != "bearer ") return std::nullopt;
  return std::string(value.substr(7));
}

}  // namespace

Task<Result<api::TokenReviewStatus>> KubeReviewer::review(std::string token) {
  api::TokenReview question;
  question.spec.token = std::move(token);
  std::string body = api::encode(question);
  KOORD_CO_TRY(answer,
               co_await authentication_.create_raw(api::kind<api::TokenReview>(), "", std::move(body)));
  KOORD_CO_TRY(review, api::decode<api::TokenReview>(answer));
  co_return std::move(review.status);
}

Task<Result<api::SubjectAccessReviewStatus>> KubeReviewer::review(api::SubjectAccessReviewSpec spec) {
  api::SubjectAccessReview question;
  question.spec = std::move(spec);
  std::string body = api::encode(question);
  KOORD_CO_TRY(
      answer, co_await authorization_.create_raw(api::kind<api::SubjectAccessReview>(), "", std::move(body)));
  KOORD_CO_TRY(review, api::decode<api::SubjectAccessReview>(answer));
  co_return std::move(review.status);
}

DelegatedAuth::DelegatedAuth(Reviewer& reviewer, Clock& clock, AuthSettings settings)
    : reviewer_(reviewer), clock_(clock), settings_(std::move(settings)) {}

bool DelegatedAuth::always_allowed(std::string_view path) const {
  return std::any_of(settings_.always_allow_paths.begin(), settings_.always_allow_paths.end(),
                     [&](std::string_view allowed) {
                       if (allowed.ends_with('*'))
                         return path.starts_with(allowed.substr(0, allowed.size() - 1));
                       return path == allowed;
                     });
}

const DelegatedAuth::Verdict* DelegatedAuth::remembered(Cache& cache, const std::string& key) const {
  const auto found = cache.find(key);
  if (found == cache.end() || found->second.until <= clock_.mono()) return nullptr;
  return &found->second;
}

void DelegatedAuth::remember(Cache& cache, std::string key, Verdict verdict) const {
  if (cache.size() >= kMaxRemembered) {
    const MonoTime now = clock_.mono();
    std::erase_if(cache, [&](const auto& entry) { return entry.second.until <= now; });
    if (cache.size() >= kMaxRemembered) cache.clear();
  }
  cache.insert_or_assign(std::move(key), std::move(verdict));
}

// As kube-apiserver's aggregator and other front proxies name their users; nothing if this is none.
std::optional<api::UserInfo> DelegatedAuth::behind_proxy(const net::Request& request) const {
  if (!request.peer->proxy_verified || !request_headers_) return std::nullopt;
  const RequestHeaders& names = *request_headers_;
  if (!names.allowed_names.empty() && std::find(names.allowed_names.begin(), names.allowed_names.end(),
                                                request.peer->common_name) == names.allowed_names.end())
    return std::nullopt;
  auto first = [&](const std::vector<std::string>& headers) {
    for (const std::string& header : headers)
      if (const std::string_view value = request.headers.get(header); !value.empty())
        return std::string(value);
    return std::string();
  };
  api::UserInfo user;
  user.username = first(names.username_headers);
  if (user.username.empty()) return std::nullopt;
  user.uid = first(names.uid_headers);
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const auto [name, value] = request.headers.at(i);
    for (const std::string& header : names.group_headers)
      if (lower(name) == lower(header)) user.groups.emplace_back(value);
    for (const std::string& prefix : names.extra_prefixes)
      if (lower(name).starts_with(lower(prefix)) && name.size() > prefix.size())
        user.extra[lower(name).substr(prefix.size())].emplace_back(value);
  }
  user.groups.emplace_back("system:authenticated");
  return user;
}

// Nothing: credentials were given and are not accepted.
Task<Result<std::optional<api::UserInfo>>> DelegatedAuth::who(const net::Request& request) {
  if (std::optional<api::UserInfo> user = behind_proxy(request)) co_return std::move(user);
  if (request.peer->certificate_verified) {
    api::UserInfo user;
    user.username = request.peer->common_name;
    user.groups = request.peer->organizations;
    user.groups.emplace_back("system:authenticated");
    co_return std::optional<api::UserInfo>(std::move(user));
  }
  std::optional<std::string> token = bearer_token(request);
  if (!token && request.peer->certificate_given) co_return std::optional<api::UserInfo>();
  if (!token) {
    api::UserInfo anonymous;
    anonymous.username = "system:anonymous";
    anonymous.groups = {"system:unauthenticated"};
    co_return std::optional<api::UserInfo>(std::move(anonymous));
  }
  if (const Verdict* known = remembered(tokens_, *token)) {
    if (!known->allowed) co_return std::optional<api::UserInfo>();
    co_return std::optional<api::UserInfo>(known->user);
  }
  KOORD_CO_TRY(status, co_await reviewer_.review(*token));
  Verdict verdict{clock_.mono() + settings_.token_ttl, status.authenticated, status.user};
  remember(tokens_, std::move(*token), std::move(verdict));
  if (!status.authenticated) co_return std::optional<api::UserInfo>();
  co_return std::optional<api::UserInfo>(std::move(status.user));
}

Task<std::optional<net::Response>> DelegatedAuth::refuse(const net::Request& request, bool debug) {
  if (!debug && always_allowed(request.path)) co_return std::nullopt;
  const Result<std::optional<api::UserInfo>> user = co_await who(request);
  if (!user) co_return net::Response::text(500, "the credentials could not be checked\n");
  if (!*user || (debug && (*user)->username == "system:anonymous"))
    co_return net::Response::text(401, "Unauthorized\n");
  const api::UserInfo& asking = **user;
  if (std::find(asking.groups.begin(), asking.groups.end(), "system:masters") != asking.groups.end())
    co_return std::nullopt;
  const std::string verb = lower(request.method);
  std::string key = verb + " " + request.path + "\n" + asking.username;
  for (const std::string& group : asking.groups) key += "\n" + group;
  bool allowed = false;
  if (const Verdict* known = remembered(accesses_, key)) {
    allowed = known->allowed;
  } else {
    api::SubjectAccessReviewSpec spec;
    spec.user = asking.username;
    spec.groups = asking.groups;
    spec.uid = asking.uid;
    spec.extra = asking.extra;
    spec.non_resource_attributes.emplace().verb = verb;
    spec.non_resource_attributes->path = request.path;
    const Result<api::SubjectAccessReviewStatus> status = co_await reviewer_.review(std::move(spec));
    if (!status) co_return net::Response::text(500, "the permission could not be checked\n");
    allowed = status->allowed && !status->denied;
    const nanoseconds ttl = allowed ? settings_.allowed_ttl : settings_.denied_ttl;
    remember(accesses_, std::move(key), {clock_.mono() + ttl, allowed, {}});
  }
  if (allowed) co_return std::nullopt;
  co_return net::Response::text(
      403, "forbidden: User \"" + asking.username + "\" cannot " + verb + " path \"" + request.path + "\"\n");
}

}  // namespace koord::runtime
