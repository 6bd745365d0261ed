// AdmissionReview: what a webhook is asked, and what its answer says. Text in, text out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/net/message.hpp"
#include "sandbox/api/gate.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// An Attempt that owns what it speaks of.
struct Subject {
  using KindPtr = std::shared_ptr<const Kind>;

  Operation operation = Operation::create;
  KindPtr kind;   // as it is stored
  KindPtr asked;  // as the request named it
  std::string resource, subresource, ns, name, object_version, object_kind, options;
  bool dry_run = false;
  bool has_object = false, has_old = false;
  json::Document object, old;  // in the form of `kind`, unless object_kind says another

  /// The namespace as rules and requests have it: a Namespace's own name for a Namespace.
  const std::string& request_ns() const;
  /// False for a Binding and what else is posted to an object and never stored.
  bool is_own_object() const { return object_kind.empty(); }
};

/// As Go's decoder calls it: "bool", "object".
std::string_view type_name(const json::Value& value);
/// As rules and reviews have it: "CREATE".
std::string_view operation_name(Operation operation);
/// The form of `doc`, which is a stored one, as `form`; and back. Nothing where it is of a kind of its own.
void to_form(const Subject& subject, const Kind& form, json::Document& doc);
void from_form(const Subject& subject, const Kind& form, json::Document& doc);

/// The request's body. `version` is "v1" or "v1beta1", `form` how the webhook wants to see objects.
std::string review_text(std::string_view version, std::string_view uid, const Subject& subject,
                        const Kind& form);

/// What a webhook says.
struct Verdict {
  bool allowed = false;
  std::optional<Failure> status;  // as it was sent; see refusal()
  std::string patch;              // JSON, empty if there is none
  std::string patch_type;
  std::vector<std::string> warnings;
};

/// An HTTP answer as a verdict. An error's message is why there is none, as kube-apiserver tells it behind
/// "failed calling webhook NAME: ".
Result<Verdict> read_verdict(const net::Response& response, std::string_view version, std::string_view uid,
                             bool mutating);

/// The refusal of a request that `webhook` did not allow.
Failure refusal(std::string_view webhook, std::optional<Failure> status);
/// The value of a Warning header.
std::string warning_header(std::string_view text);

}  // namespace koord::sandbox
