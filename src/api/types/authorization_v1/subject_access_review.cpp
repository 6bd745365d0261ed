// The schema tables of koord/api/types/authorization_v1/subject_access_review.hpp.
#include "koord/api/types/authorization_v1/subject_access_review.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ResourceAttributes, ROW(namespace_), ROW(verb), ROW(group), ROW(version), ROW(resource),
             ROW(subresource), ROW(name));
KOORD_SCHEMA(NonResourceAttributes, ROW(path), ROW(verb));
KOORD_SCHEMA(SubjectAccessReviewSpec, ROW(resource_attributes), ROW(non_resource_attributes), ROW(user),
             ROW(groups), ROW(extra), ROW(uid));
KOORD_SCHEMA(SubjectAccessReviewStatus, ROW(allowed).required(), ROW(denied), ROW(reason),
             ROW(evaluation_error));
KOORD_OBJECT(SubjectAccessReview,
             Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews").cluster_scoped(),
             ROW(metadata), ROW(spec), ROW(status));
KOORD_SCHEMA(SelfSubjectAccessReviewSpec, ROW(resource_attributes), ROW(non_resource_attributes));
KOORD_OBJECT(
    SelfSubjectAccessReview,
    Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews").cluster_scoped(),
    ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
