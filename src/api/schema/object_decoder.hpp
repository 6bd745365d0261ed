// ObjectDecoder: fills a struct from JSON events by its schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/schema/table.hpp"
#include "koord/json/reader.hpp"
#include "scalar.hpp"

namespace koord::api {

/// Takes the events of exactly one JSON value at a time. After an error the rest of the value is skipped,
/// so that a reader of lists can go on with the next one.
class ObjectDecoder final : public json::Events {
 public:
  enum class Mode {
    tolerant,
    strict,  // see decode_strict
  };

  explicit ObjectDecoder(Mode mode, bool stop_on_error) : mode_(mode), stop_on_error_(stop_on_error) {}

  /// The next value goes into `target`, a default-constructed one of the type. `prefix` starts the paths of
  /// errors. `object` says that it is a whole API object, whose kind is checked.
  void start(const Type& type, void* target, bool object, std::string prefix = {});
  /// True when the value that start() announced is complete.
  bool done() const { return done_; }
  const std::optional<Error>& error() const { return error_; }
  /// Of the value that is being read: ".spec.containers[0].name".
  std::string path() const;

  bool on_null() override;
  bool on_bool(bool value) override;
  bool on_number(std::string_view text) override;
  bool on_string(std::string_view value) override;
  bool on_begin_object() override;
  bool on_key(std::string_view key) override;
  bool on_end_object() override;
  bool on_begin_array() override;
  bool on_end_array() override;
  Error stop_error() override;

 private:
  struct Frame {
    const Type* type = nullptr;  // structure, list or map
    void* value = nullptr;
    const Schema* schema = nullptr;  // of a structure
    const Field* field = nullptr;    // of a structure: the member being read; else: the row of the container
    std::string key;                 // of a map, and of undescribed members
    std::string greatest;            // of a map: of its keys so far
    size_t index = 0;  // of a list: the element after the one being read; of a map: so many members; else: of
                       // the first seen bit
  };
  struct Slot {
    const Type* type;  // never optional
    void* value;
    const Field* field;  // the row that it belongs to, nullptr at the root
  };

  // Where the value that begins goes, optionals resolved. False if nobody wants it.
  bool slot(Slot& out, bool null);
  bool on_map_key(Frame& frame, std::string_view key);
  bool scalar(Token token, std::string_view text);
  bool begin(bool object);
  bool end();
  bool close_structure(const Frame& frame);
  bool undescribed(Token token, std::string_view text);
  bool check(const Slot& at, std::string_view text);
  bool fail(std::string_view what, Code code = Code::parse);
  void raw_value(std::string_view text, bool quoted);

  const Mode mode_;
  const bool stop_on_error_;
  std::string prefix_;
  const Type* root_type_ = nullptr;
  void* root_ = nullptr;
  bool object_ = false;
  std::vector<Frame> frames_;  // the first live_ of them; the others keep their strings' memory
  size_t live_ = 0;
  std::vector<bool> seen_;      // strict: a bit per row of each open structure
  size_t moves_ = 0;            // members of maps that made room for one that came out of order
  int depth_ = 0;               // open containers of the value
  int skip_until_ = -1;         // skipping until depth_ is back at this
  std::string* raw_ = nullptr;  // the raw value that is being captured
  int raw_until_ = 0;
  bool done_ = true;
  std::optional<Error> error_;
};

}  // namespace koord::api
