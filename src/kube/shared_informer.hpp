// SharedInformer: one collection followed on the server, and everyone who is told of its changes.
#pragma once

#include <list>
#include <map>
#include <utility>

#include "koord/kube/client.hpp"
#include "reflector_state.hpp"
#include "scope_filter.hpp"

namespace koord::kube {

/// What the informers of a set keep of lines whose end has not come: a server may tell all of them one
/// without an end.
struct LongLines {
  std::size_t bytes = 0;
};

/// Drives a ReflectorState: does what it says with a Client, and keeps the Store.
class SharedInformer {
 public:
  /// `lines` outlives it.
  SharedInformer(const ObjectType& type, Client& client, Clock& clock, LongLines& lines, Scope scope,
                 ReflectorOptions options, const std::optional<Logger>& log);
  SharedInformer(const SharedInformer&) = delete;
  SharedInformer& operator=(const SharedInformer&) = delete;
  ~SharedInformer();

  /// Follows until cancelled.
  Task<Result<>> run();
  /// See AnyInformer::catch_up(). Beside run().
  Task<Result<>> catch_up();

  const ObjectType& type() const { return type_; }
  const Scope& scope() const { return scope_; }
  Client& client() const { return client_; }
  Store& store() { return store_; }
  koord::Event& synced() { return synced_; }
  koord::Event& listed() { return listed_; }
  /// The server does not serve this kind, and said so last.
  bool undefined() const { return undefined_; }
  InformerStatus status() const;

  void attach(DeliveryQueue& queue, DeliveryQueue::SourceId source, ScopeFilter filter);

 private:
  struct Listener {
    DeliveryQueue* queue;
    DeliveryQueue::SourceId source;
    ScopeFilter filter;
  };
  class PageSink;

  /// The version of what the server has now; empty: it does not serve the kind.
  Task<Result<std::string>> newest();
  /// Whether the store is known to be whole up to this version.
  bool reached(std::string_view version) const;
  /// Waits until all that the server has now is here, as it has it: a whole list.
  Task<Result<>> compare_all() const;
  /// Waits until what the probe saw up to the version is here; of a server that does not say how far its
  /// watch is, compare_all().
  Task<Result<>> compare(const SharedInformer& probe, std::string_view version) const;
  // False: cancelled.
  Task<bool> list(ReflectorState::List list);
  Task<bool> watch(ReflectorState::Watch watch);
  // False: the watch is over, and the state knows why.
  bool take_line(std::string_view line);
  bool take_lines(std::string_view bytes);
  void begin_replace();
  void end_replace();
  void put(Object object);
  void remove(const KeyView& key);
  void skip(const api::ObjectMeta& meta, const Error& error);
  // False: the line is too long.
  bool keep_partial(std::string_view bytes);
  void drop_partial();
  void apply_effect(ReflectorState::Effect effect);
  void failed(const Error& error);
  void recovered();
  /// What a stream that was open until now has shown, even if it told nothing.
  void stream_over();
  void tell(const Object& before, const Object& after);

  const ObjectType& type_;
  Client& client_;
  Clock& clock_;
  LongLines& lines_;
  Scope scope_;
  std::optional<Logger> log_;
  ReflectorState state_;
  Store store_;
  koord::Event synced_, listed_;
  std::list<Listener> listeners_;
  std::string partial_;  // a line whose end has not come yet
  InformerStatus status_;
  /// Of what cannot be decoded: by name, with the number of the replacement that has seen it last; and items
  /// of lists whose names cannot be read either, in the last whole list and in the one that is being read.
  std::map<std::pair<std::string, std::string>, std::uint32_t> malformed_;
  std::uint32_t replacement_ = 0;
  std::size_t nameless_ = 0, nameless_now_ = 0;
  bool undefined_ = false;
  MonoTime told_{};  // of the error in status_
  /// Since when a stream is open that has not told anything yet; what fails at once was no recovery.
  std::optional<MonoTime> opened_;
};

}  // namespace koord::kube
