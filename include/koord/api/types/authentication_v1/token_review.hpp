// authentication.k8s.io/v1: TokenReview.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct UserInfo {
  std::string username;
  std::string uid;
  std::vector<std::string> groups;
  FlatMap<std::vector<std::string>> extra;
  KOORD_STRUCT(UserInfo);
};

struct TokenReviewSpec {
  std::string token;
  std::vector<std::string> audiences;
  KOORD_STRUCT(TokenReviewSpec);
};

struct TokenReviewStatus {
  bool authenticated = false;
  UserInfo user;
  std::vector<std::string> audiences;
  std::string error;
  KOORD_STRUCT(TokenReviewStatus);
};

struct TokenReview {
  ObjectMeta metadata;
  TokenReviewSpec spec;
  TokenReviewStatus status;
  KOORD_STRUCT(TokenReview);
};

}  // namespace koord::api
