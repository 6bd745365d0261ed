// Failure: a refusal as Kubernetes words it; becomes a meta/v1 Status on the wire.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koord::sandbox {

struct Cause {
  std::string reason, message, field;
};

struct Failure {
  int code = 500;
  std::string reason;
  std::string message;
  std::string group, kind, name, uid;  // details: of what (kind is the resource for most reasons)
  std::vector<Cause> causes;
  int retry_after_seconds = 0;

  /// The Status object as JSON.
  std::string to_json() const;
};

[[noreturn]] void throw_exception_from_error(const Failure& failure, const boost::source_location& loc);

/// A value or a refusal.
template <class T = void>
using Outcome = boost::system::result<T, Failure>;

/// The group and the resource (or kind) that a message names: "pods", "deployments.apps".
struct Named {
  std::string_view group, resource;
  std::string qualified() const;
};

Failure bad_request(std::string message);
Failure not_found(Named what, std::string_view name);
Failure already_exists(Named what, std::string_view name);
Failure conflict(Named what, std::string_view name, std::string_view why);
/// The object has been modified since it was read.
Failure stale(Named what, std::string_view name);
Failure forbidden(Named what, std::string_view name, std::string_view why);
Failure method_not_allowed(Named what, std::string_view verb);
Failure no_route();
Failure unsupported_media(std::string_view supported);
Failure expired(std::string message);
Failure gone(std::string message);
Failure too_large(std::string message);
Failure unprocessable(std::string message);
Failure too_many_requests(std::string message, int retry_after_seconds);
Failure internal_error(std::string message);
/// 500 in these words alone.
Failure internal_failure(std::string message);
Failure unauthorized();
Failure resource_version_too_large(std::uint64_t asked, std::uint64_t current);

/// Validation errors in Kubernetes' words, collected over an object: the first kMost, and how many more there
/// are. Of a long value its beginning is shown.
class StatusCauses {
 public:
  static constexpr std::size_t kMost = 20;
  static constexpr std::size_t kMostShown = 1024;  // bytes of a value

  void required(std::string field, std::string_view detail = {});
  /// `value` is quoted as a string.
  void invalid(std::string field, std::string_view value, std::string_view detail);
  /// `value` is shown as it is (numbers, JSON).
  void invalid_raw(std::string field, std::string_view value, std::string_view detail);
  void unsupported(std::string field, std::string_view value, const std::vector<std::string_view>& supported);
  void forbidden(std::string field, std::string_view detail);
  void duplicate(std::string field, std::string_view value);
  void too_long(std::string field, std::size_t max);
  void too_many(std::string field, std::size_t count, std::size_t max);
  /// Of what the server itself could not do.
  void internal(std::string field, std::string_view detail);
  /// The value has another JSON type than the field.
  void wrong_type(std::string field, std::string_view value, std::string_view detail);
  void not_found(std::string field, std::string_view value, std::string_view detail = {});
  /// Of an object or a list, which is not shown.
  void invalid_part(std::string field, std::string_view detail);
  void duplicate_part(std::string field);

  bool empty() const { return causes_.empty(); }
  /// Whether what follows is only counted.
  bool full() const { return causes_.size() >= kMost; }
  /// Whether one of them keeps kube-apiserver from asking the rules of a custom resource.
  bool block_rules() const;
  /// Counts an error if there is no room to show it, so that its texts need not be made; false if there is.
  bool skip() {
    if (!full()) return false;
    ++more_;
    return true;
  }
  /// 422: `Pod "web" is invalid: ...`; `kind` is qualified with its group.
  Failure failure(std::string_view group, std::string_view kind, std::string_view name) const;

 private:
  void add(std::string_view reason, std::string field, std::string message);
  std::vector<Cause> causes_;
  std::size_t more_ = 0;
};

#define KOORD_PASS(...) \
  if (auto pass_outcome = (__VA_ARGS__); !pass_outcome) return std::move(pass_outcome).error()

}  // namespace koord::sandbox
