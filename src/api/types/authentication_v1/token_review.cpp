// The schema tables of koord/api/types/authentication_v1/token_review.hpp: TokenReview.
#include "koord/api/types/authentication_v1/token_review.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kTokenReview = {.group = "authentication.k8s.io",
                               .version = "v1",
                               .kind = "TokenReview",
                               .plural = "tokenreviews",
                               .singular = "tokenreview",
                               .namespaced = false};

}  // namespace

template <>
const Schema& schema<UserInfo>() {
  using T = UserInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(username, "username"),
      KOORD_FIELD(uid, "uid"),
      KOORD_FIELD(groups, "groups"),
      KOORD_FIELD(extra, "extra"),
  };
  static const Schema kSchema("UserInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<TokenReviewSpec>() {
  using T = TokenReviewSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(token, "token"),
      KOORD_FIELD(audiences, "audiences"),
  };
  static const Schema kSchema("TokenReviewSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<TokenReviewStatus>() {
  using T = TokenReviewStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(authenticated, "authenticated"),
      KOORD_FIELD(user, "user"),
      KOORD_FIELD(audiences, "audiences"),
      KOORD_FIELD(error, "error"),
  };
  static const Schema kSchema("TokenReviewStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<TokenReview>() {
  using T = TokenReview;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("TokenReview", kRows, type_of<T>, &kTokenReview);
  return kSchema;
}

}  // namespace koord::api
