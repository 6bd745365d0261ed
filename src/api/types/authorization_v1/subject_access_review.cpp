// The schema tables of koord/api/types/authorization_v1/subject_access_review.hpp: SubjectAccessReview.
#include "koord/api/types/authorization_v1/subject_access_review.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kSubjectAccessReview = {.group = "authorization.k8s.io",
                                       .version = "v1",
                                       .kind = "SubjectAccessReview",
                                       .plural = "subjectaccessreviews",
                                       .singular = "subjectaccessreview",
                                       .namespaced = false};

}  // namespace

template <>
const Schema& schema<ResourceAttributes>() {
  using T = ResourceAttributes;
  static constexpr Field kRows[] = {
      KOORD_FIELD(namespace_, "namespace"),
      KOORD_FIELD(verb, "verb"),
      KOORD_FIELD(group, "group"),
      KOORD_FIELD(version, "version"),
      KOORD_FIELD(resource, "resource"),
      KOORD_FIELD(subresource, "subresource"),
      KOORD_FIELD(name, "name"),
  };
  static const Schema kSchema("ResourceAttributes", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NonResourceAttributes>() {
  using T = NonResourceAttributes;
  static constexpr Field kRows[] = {
      KOORD_FIELD(path, "path"),
      KOORD_FIELD(verb, "verb"),
  };
  static const Schema kSchema("NonResourceAttributes", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<SubjectAccessReviewSpec>() {
  using T = SubjectAccessReviewSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resource_attributes, "resourceAttributes"),
      KOORD_FIELD(non_resource_attributes, "nonResourceAttributes"),
      KOORD_FIELD(user, "user"),
      KOORD_FIELD(groups, "groups"),
      KOORD_FIELD(extra, "extra"),
      KOORD_FIELD(uid, "uid"),
  };
  static const Schema kSchema("SubjectAccessReviewSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<SubjectAccessReviewStatus>() {
  using T = SubjectAccessReviewStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(allowed, "allowed").required(),
      KOORD_FIELD(denied, "denied"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(evaluation_error, "evaluationError"),
  };
  static const Schema kSchema("SubjectAccessReviewStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<SubjectAccessReview>() {
  using T = SubjectAccessReview;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("SubjectAccessReview", kRows, type_of<T>, &kSubjectAccessReview);
  return kSchema;
}

}  // namespace koord::api
