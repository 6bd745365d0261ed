// Delegated authentication and authorization: TokenReview, SubjectAccessReview, two small caches of hashes.
#include "delegated_auth.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <new>

#include "koord/api/schema/codec.hpp"
#include "koord/base/utf8.hpp"
#include "koord/kube/client.hpp"

namespace koord::runtime {
namespace {

std::size_t bytes_of(const api::UserInfo& user) {
  std::size_t bytes = user.username.size() + user.uid.size();
  for (const std::string& group : user.groups) bytes += sizeof group + group.size();
  for (const auto& [key, values] : user.extra) {
    bytes += sizeof key + sizeof values + 32;
    for (const std::string& value : values) bytes += sizeof value + value.size();
  }
  return bytes;
}

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

Digest digest_of(std::string_view question) {
  Digest digest;
  unsigned size = digest.size();
  if (EVP_Digest(question.data(), question.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
  return digest;
}

DelegatedAuth::DelegatedAuth(asio::any_io_executor executor, Reviewer& reviewer, Clock& clock,
                             AuthSettings settings)
    : reviewer_(reviewer),
      settings_(std::move(settings)),
      tokens_(executor, clock, kReviewBytes,
              [this](const api::TokenReviewStatus& status) {
                return std::pair(settings_.token_ttl, bytes_of(status.user) + status.error.size());
              }),
      accesses_(executor, clock, kReviewBytes, [this](const api::SubjectAccessReviewStatus& status) {
        const bool allowed = status.allowed && !status.denied;
        return std::pair(allowed ? settings_.allowed_ttl : settings_.denied_ttl,
                         status.reason.size() + status.evaluation_error.size());
      }) {}

Task<> DelegatedAuth::stop() {
  co_await tokens_.stop();
  co_await accesses_.stop();
}

bool DelegatedAuth::always_allowed(std::string_view path) const {
  return std::any_of(settings_.always_allow_paths.begin(), settings_.always_allow_paths.end(),
                     [&](std::string_view allowed) {
                       if (allowed.ends_with('*'))
                         return path.starts_with(allowed.substr(0, allowed.size() - 1));
                       return path == allowed;
                     });
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
        return to_utf8(std::string(value));
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
  api::TokenReviewSpec question;
  question.token = *token;
  const auto ask = [this, token = std::move(*token)] { return reviewer_.review(token); };
  KOORD_CO_TRY(status, co_await tokens_.get(digest_of(api::encode(question)), ask));
  if (!status->authenticated) co_return std::optional<api::UserInfo>();
  co_return std::optional<api::UserInfo>(status->user);
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
  // What is no UTF-8 is no text that can be asked about, nor the path of a route.
  const std::string path = to_utf8(request.path);
  api::SubjectAccessReviewSpec spec;
  spec.user = asking.username;
  spec.groups = asking.groups;
  spec.uid = asking.uid;
  spec.extra = asking.extra;
  spec.non_resource_attributes.emplace().verb = verb;
  spec.non_resource_attributes->path = path;
  const Digest key = digest_of(api::encode(spec));
  const auto ask = [this, spec = std::move(spec)] { return reviewer_.review(spec); };
  const auto status = co_await accesses_.get(key, ask);
  if (!status) co_return net::Response::text(500, "the permission could not be checked\n");
  if ((*status)->allowed && !(*status)->denied) co_return std::nullopt;
  co_return net::Response::text(
      403, fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"\n", asking.username, verb, path));
}

}  // namespace koord::runtime
