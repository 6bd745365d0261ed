// authentication.k8s.io/v1: TokenReview.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct UserInfo {
  std::string username;
  std::string uid;
  std::vector<std::string> groups;
  FlatMap<std::vector<std::string>> extra;

  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};
KOORD_API_SCHEMA(UserInfo);

struct TokenReviewSpec {
  std::string token;
  std::vector<std::string> audiences;

  friend bool operator==(const TokenReviewSpec&, const TokenReviewSpec&) = default;
};
KOORD_API_SCHEMA(TokenReviewSpec);

struct TokenReviewStatus {
  bool authenticated = false;
  UserInfo user;
  std::vector<std::string> audiences;
  std::string error;

  friend bool operator==(const TokenReviewStatus&, const TokenReviewStatus&) = default;
};
KOORD_API_SCHEMA(TokenReviewStatus);

struct TokenReview {
  ObjectMeta metadata;
  TokenReviewSpec spec;
  TokenReviewStatus status;

  friend bool operator==(const TokenReview&, const TokenReview&) = default;
};
KOORD_API_SCHEMA(TokenReview);

}  // namespace koord::api
