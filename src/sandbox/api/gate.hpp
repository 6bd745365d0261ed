// Gate: where a write stops to be reviewed by admission webhooks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "koord/json/value.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

struct Kind;

enum class Operation : std::uint8_t { create, update, remove, connect };

/// A write as those see it who are asked about it. All of it lives as long as the call.
struct Attempt {
  Operation operation = Operation::create;
  const Kind& kind;  // of the resource that is written, in the form in which it is stored
  std::string_view ns, name, subresource = {};
  json::Document* object = nullptr;  // null where an object goes; a gate may change it
  const json::Value* old = nullptr;  // null where there is none
  std::uint64_t version = 0;         // the resourceVersion of what is there, 0 where that does not matter
  std::string_view object_version = {}, object_kind = {};  // of an object of another kind: a Binding, a Scale
  std::string_view resource = {};                          // where it is not the kind's: bare bindings
  bool dry_run = false;
  bool changed = false;  // out: the object is another now; references into it are stale
};

/// The reviews of one request. A review takes time, and a write holds nothing while it waits: the first
/// pass() for which nobody has an answer yet fails, the request is left, and run again from its beginning
/// when the answers are there. What it reads then is the present state, and an answer that was given for
/// another one is not used.
class Gate {
 public:
  /// The object may be changed; again, by those who want to see what others made of it; may be refused.
  enum class Stage : std::uint8_t { mutate, reinvoke, validate };

  virtual ~Gate() = default;
  virtual Outcome<void> pass(Stage stage, Attempt& attempt) = 0;
  /// An answer is missing: what the request came to is not to be told to anyone.
  virtual bool waiting() const = 0;
  virtual bool first_run() const = 0;
  /// Both stages of what changes nothing or is not looked at again afterwards.
  Outcome<void> pass_both(Attempt& attempt) {
    KOORD_PASS(pass(Stage::mutate, attempt));
    if (attempt.changed) KOORD_PASS(pass(Stage::reinvoke, attempt));
    return pass(Stage::validate, attempt);
  }

  /// What the server gives a new object: the same however often the request is run.
  struct Identity {
    std::string uid, created, suffix;
  };
  std::optional<Identity> identity;
  /// The form of the kind that the request named, where it is not the stored one; null: the stored one.
  std::shared_ptr<const Kind> asked;
  /// CreateOptions and the like, as JSON.
  std::string options = "null";
};

}  // namespace koord::sandbox
