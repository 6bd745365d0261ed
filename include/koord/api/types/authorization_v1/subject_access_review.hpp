// authorization.k8s.io/v1: SubjectAccessReview.
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

  friend bool operator==(const ResourceAttributes&, const ResourceAttributes&) = default;
};
KOORD_API_SCHEMA(ResourceAttributes);

struct NonResourceAttributes {
  std::string path;
  std::string verb;

  friend bool operator==(const NonResourceAttributes&, const NonResourceAttributes&) = default;
};
KOORD_API_SCHEMA(NonResourceAttributes);

/// Exactly one of the two attributes is set.
struct SubjectAccessReviewSpec {
  Box<ResourceAttributes> resource_attributes;
  Box<NonResourceAttributes> non_resource_attributes;
  std::string user;
  std::vector<std::string> groups;
  FlatMap<std::vector<std::string>> extra;
  std::string uid;

  friend bool operator==(const SubjectAccessReviewSpec&, const SubjectAccessReviewSpec&) = default;
};
KOORD_API_SCHEMA(SubjectAccessReviewSpec);

struct SubjectAccessReviewStatus {
  bool allowed = false;
  bool denied = false;
  std::string reason;
  std::string evaluation_error;

  friend bool operator==(const SubjectAccessReviewStatus&, const SubjectAccessReviewStatus&) = default;
};
KOORD_API_SCHEMA(SubjectAccessReviewStatus);

struct SubjectAccessReview {
  ObjectMeta metadata;
  SubjectAccessReviewSpec spec;
  SubjectAccessReviewStatus status;

  friend bool operator==(const SubjectAccessReview&, const SubjectAccessReview&) = default;
};
KOORD_API_SCHEMA(SubjectAccessReview);

}  // namespace koord::api
