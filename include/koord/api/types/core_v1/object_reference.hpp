// ObjectReference (v1).
#pragma once

#include <string>

#include "koord/api/schema/schema.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

/// A reference to another object; the fields that the referrer leaves out are empty.
struct ObjectReference {
  Symbol kind;
  Symbol namespace_;
  std::string name;
  std::string uid;
  Symbol api_version;
  std::string resource_version;
  std::string field_path;
  KOORD_STRUCT(ObjectReference);
};

}  // namespace koord::api
