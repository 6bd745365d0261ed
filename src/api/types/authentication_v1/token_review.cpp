// The schema tables of koord/api/types/authentication_v1/token_review.hpp: TokenReview.
#include "koord/api/types/authentication_v1/token_review.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(UserInfo, ROW(username), ROW(uid), ROW(groups), ROW(extra));
KOORD_SCHEMA(TokenReviewSpec, ROW(token), ROW(audiences));
KOORD_SCHEMA(TokenReviewStatus, ROW(authenticated), ROW(user), ROW(audiences), ROW(error));
KOORD_OBJECT(TokenReview, Kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews").cluster_scoped(),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
