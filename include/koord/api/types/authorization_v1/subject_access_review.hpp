// authorization.k8s.io/v1: SubjectAccessReview, SelfSubjectAccessReview.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ResourceAttributes {
  std::string namespace_;
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name;
  KOORD_STRUCT(ResourceAttributes);
};

struct NonResourceAttributes {
  std::string path;
  std::string verb;
  KOORD_STRUCT(NonResourceAttributes);
};

/// Exactly one of the two attributes is set.
struct SubjectAccessReviewSpec {
  Box<ResourceAttributes> resource_attributes;
  Box<NonResourceAttributes> non_resource_attributes;
  std::string user;
  std::vector<std::string> groups;
  FlatMap<std::vector<std::string>> extra;
  std::string uid;
  KOORD_STRUCT(SubjectAccessReviewSpec);
};

struct SubjectAccessReviewStatus {
  bool allowed = false;
  bool denied = false;
  std::string reason;
  std::string evaluation_error;
  KOORD_STRUCT(SubjectAccessReviewStatus);
};

struct SubjectAccessReview {
  ObjectMeta metadata;
  SubjectAccessReviewSpec spec;
  SubjectAccessReviewStatus status;
  KOORD_STRUCT(SubjectAccessReview);
};

/// Exactly one of the two attributes is set.
struct SelfSubjectAccessReviewSpec {
  Box<ResourceAttributes> resource_attributes;
  Box<NonResourceAttributes> non_resource_attributes;
  KOORD_STRUCT(SelfSubjectAccessReviewSpec);
};

/// What whoever asks may do himself.
struct SelfSubjectAccessReview {
  ObjectMeta metadata;
  SelfSubjectAccessReviewSpec spec;
  SubjectAccessReviewStatus status;
  KOORD_STRUCT(SelfSubjectAccessReview);
};

}  // namespace koord::api
