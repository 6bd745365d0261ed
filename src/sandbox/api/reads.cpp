// get, list, watch.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/json/writer.hpp"
#include "sandbox/api/api.hpp"
#include "sandbox/api/metrics.hpp"
#include "sandbox/api/table.hpp"

namespace koord::sandbox {
namespace {

// As long as kube-apiserver lets a watch live when none is asked for (it draws 30 to 60 minutes).
constexpr std::chrono::seconds kWatchTimeout{45 * 60};
// A watch that is asked to live longer does not: a year is never reached.
constexpr std::chrono::seconds kMaxTimeout{365 * 24 * 3600};
// So long before its end a watcher is told how far it is, as by kube-apiserver: not in watches that are no
// longer.
constexpr std::chrono::seconds kLastBookmark{2};
// In which a watch's first objects must have been read: they may be the last to hold on to them.
constexpr std::chrono::minutes kInitialTime{5};
// What pages of lists may hold on to: the oldest go first, the newest may always stay.
constexpr std::size_t kMaxPages = 32;
constexpr std::size_t kMaxPagesBytes = std::size_t{128} * 1024 * 1024;

// A version that is still to come is not waited for.
Outcome<void> check_version(const std::optional<std::uint64_t>& asked, const Store& store) {
  if (asked && *asked > store.version()) return resource_version_too_large(*asked, store.version());
  return {};
}

Failure too_old(std::uint64_t asked, const Collection& objects) {
  return expired(fmt::format("too old resource version: {} ({})", asked, objects.forgotten() + 1));
}

}  // namespace

Reply Api::object_reply(const Call& call, const ObjectPtr& object, unsigned status) const {
  const Kind& kind = *call.kind;
  Reply reply = json_reply(status, {});
  if (call.view == View::table)
    reply.http.body = table_json(kind, {object}, object->rv, {}, {}, call.request.query_get("includeObject"),
                                 verbs_.clock().now());
  else if (call.view == View::partial)
    reply.http.body = partial_json(*object);
  else
    reply.http.parts.push_back(show(kind, object));
  return reply;
}

Reply Api::list_reply(const Call& call, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                      const std::string& next, std::optional<std::uint64_t> remaining) const {
  const Kind& kind = *call.kind;
  if (call.view == View::table)
    return json_reply(200, table_json(kind, objects, version, next, remaining,
                                      call.request.query_get("includeObject"), verbs_.clock().now()));
  bool parts_only = call.view == View::partial;
  std::string head;
  json::Writer json(head);
  json.begin_object().member("kind",
                             parts_only ? "PartialObjectMetadataList" : fmt::format("{}List", kind.kind));
  json.member("apiVersion", parts_only ? "meta.k8s.io/v1" : kind.api_version());
  json.key("metadata").begin_object().member("resourceVersion", fmt::to_string(version));
  json.member_if("continue", next);
  if (remaining) json.member("remainingItemCount", *remaining);
  json.end_object().key("items").begin_array();
  Reply reply = json_reply(200, std::move(head));
  static const Bytes kComma = std::make_shared<const std::string>(",");
  static const Bytes kEnd = std::make_shared<const std::string>("]}");
  reply.http.parts.reserve(2 * objects.size() + 1);
  for (const ObjectPtr& object : objects) {
    if (&object != &objects.front()) reply.http.parts.push_back(kComma);
    reply.http.parts.push_back(parts_only ? std::make_shared<const std::string>(partial_json(*object))
                                          : show(kind, object));
  }
  reply.http.parts.push_back(kEnd);
  return reply;
}

Api::Answer Api::get(Call& call) {
  const Kind& kind = *call.kind;
  auto version = query_version(call.request);
  if (!version) return std::move(version).error();
  KOORD_PASS(check_version(*version, verbs_.store()));
  ObjectPtr object = kind.objects->get(call.route.ns, call.route.name);
  if (!object) return not_found(kind.named(), call.route.name);
  return object_reply(call, object, 200);
}

Outcome<std::vector<ObjectPtr>> Api::select_objects(const Call& call, const Selection& selection,
                                                    std::uint64_t& version) {
  const Collection& all = *call.kind->objects;
  std::vector<ObjectPtr> found;
  if (version == verbs_.store().version()) {
    for (const auto& [key, object] : all.in_namespace(call.route.ns))
      if (selection.matches(*object)) found.push_back(object);
    return found;
  }
  // As of an older version: today's objects with the changes since then undone.
  if (version < all.forgotten()) return too_old(version, all);
  Collection::Map then = all.objects();
  for (std::uint64_t n = all.end_change(); n > all.change_after(version); --n) {
    const Change& change = all.change(n - 1);
    if (change.previous)
      then[change.object->key()] = change.previous;
    else
      then.erase(change.object->key());
  }
  for (const auto& [key, object] : then)
    if ((call.route.ns.empty() || object->ns == call.route.ns) && selection.matches(*object))
      found.push_back(object);
  return found;
}

Api::Answer Api::list(Call& call) {
  auto asked = parse_list_options(call.request);
  if (!asked) return std::move(asked).error();
  const ListOptions& options = *asked;
  if (options.watch) return watch(call, options);
  if (!options.continue_token.empty()) return next_page(call, options);
  auto selection = Selection::parse(options.labels, options.fields, *call.kind);
  if (!selection) return std::move(selection).error();
  KOORD_PASS(check_version(options.version, verbs_.store()));
  std::uint64_t version = verbs_.store().version();
  if (options.match == "Exact") version = *options.version;
  auto objects = select_objects(call, *selection, version);
  if (!objects) return std::move(objects).error();
  if (options.limit <= 0 || static_cast<std::size_t>(options.limit) >= objects->size())
    return list_reply(call, *objects, version, {}, {});
  std::vector<ObjectPtr> page(objects->begin(), objects->begin() + options.limit);
  std::optional<std::uint64_t> remaining;
  if (selection->empty()) remaining = objects->size() - page.size();
  const std::string next = fmt::format("{}.{}", next_pages_, options.limit);
  keep_pages({next_pages_++, version, 0, std::move(*objects)});
  return list_reply(call, page, version, next, remaining);
}

void Api::keep_pages(Pages pages) {
  for (const ObjectPtr& object : pages.objects) pages.bytes += object->bytes.size();
  pages_bytes_ += pages.bytes;
  pages_.push_back(std::move(pages));
  while (pages_.size() > 1 && (pages_.size() > kMaxPages || pages_bytes_ > kMaxPagesBytes)) {
    pages_bytes_ -= pages_.front().bytes;
    pages_.pop_front();
  }
}

Api::Answer Api::next_page(const Call& call, const ListOptions& options) {
  if (options.version.value_or(0) != 0)
    return bad_request("specifying resource version is not allowed when using continue");
  const std::string_view token = options.continue_token;
  std::uint64_t id = 0, offset = 0;
  const char* const end = token.data() + token.size();
  auto read = std::from_chars(token.data(), end, id);
  const bool dot = read.ec == std::errc() && read.ptr != end && *read.ptr == '.';
  if (dot) read = std::from_chars(read.ptr + 1, end, offset);
  if (!dot || read.ec != std::errc() || read.ptr != end)
    return bad_request("invalid continue token: continue key is not valid");
  const auto pages = std::find_if(pages_.begin(), pages_.end(), [&](const Pages& p) { return p.id == id; });
  if (pages == pages_.end() || offset > pages->objects.size())
    return expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a "
        "new list without the continue parameter.");
  const std::size_t left = pages->objects.size() - offset;
  const std::size_t count =
      options.limit > 0 ? std::min<std::size_t>(left, static_cast<std::size_t>(options.limit)) : left;
  const auto from = pages->objects.begin() + static_cast<std::ptrdiff_t>(offset);
  const std::vector<ObjectPtr> page(from, from + static_cast<std::ptrdiff_t>(count));
  const std::string next = count < left ? fmt::format("{}.{}", id, offset + count) : "";
  return list_reply(call, page, pages->version, next,
                    next.empty() ? std::nullopt : std::optional<std::uint64_t>(left - count));
}

Api::Answer Api::usage(const Call& call) const {
  const Kind& kind = *call.kind;
  if (call.request.method != "GET" || !call.route.subresource.empty() ||
      query_bool(call.request, "watch").value_or(false))
    return method_not_allowed(kind.named(), call.request.method);
  auto body = usage_json(verbs_, kind, call.route.ns, call.route.name,
                         call.request.query_get("labelSelector"), call.request.query_get("fieldSelector"));
  if (!body) return std::move(body).error();
  return json_reply(200, std::move(*body));
}

// What a simulated container has to say: that it is one.
Api::Answer Api::log(const Call& call) const {
  const ObjectPtr pod = call.kind->objects->get(call.route.ns, call.route.name);
  if (!pod) return not_found(call.kind->named(), call.route.name);
  json::Document doc;
  load(*pod, doc);
  std::vector<std::string_view> names;
  for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
    if (const json::Value* containers = find(doc, "spec", list))
      for (const json::Value& container : containers->elements()) names.push_back(text_at(container, "name"));
  std::string_view name = call.request.query_get("container");
  if (name.empty()) {
    const json::Value* containers = find(doc, "spec", "containers");
    if (containers && containers->size() > 1)
      return bad_request(fmt::format(
          "a container name must be specified for pod {}, choose one of: [{}]", pod->name,
          fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(containers->size()), " ")));
    name = names.empty() ? std::string_view() : names.front();
  } else if (std::ranges::find(names, name) == names.end()) {
    return bad_request(fmt::format("container {} is not valid for pod {}", name, pod->name));
  }
  Reply reply;
  reply.http = net::Response::text(200, "");
  if (pod->field("spec.nodeName").empty()) return reply;
  const std::string_view phase = pod->field("status.phase");
  if (phase.empty() || phase == "Pending")
    return bad_request(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: ContainerCreating",
                                   name, pod->name));
  reply.http.body = fmt::format(
      "Container {} of pod {}/{} is simulated by koord's sandbox on node {}: no process runs in it, and "
      "nothing is "
      "logged.\n",
      name, pod->ns, pod->name, pod->field("spec.nodeName"));
  return reply;
}

Api::Answer Api::watch(Call& call, const ListOptions& asked) {
  const Kind& kind = *call.kind;
  auto selection = Selection::parse(asked.labels, asked.fields, kind);
  if (!selection) return std::move(selection).error();
  KOORD_PASS(check_version(asked.version, verbs_.store()));
  WatchOptions options;
  options.ns = call.route.ns;
  options.name = call.route.name;
  options.api_version = kind.api_version();
  options.kind = kind.kind;
  options.bookmarks = asked.bookmarks;
  const bool initial = asked.initial_events.value_or(false);
  options.initial_end = initial && options.bookmarks;
  if (!initial && asked.version.value_or(0) > 0) {
    if (*asked.version < kind.objects->forgotten()) return too_old(*asked.version, *kind.objects);
    options.after = *asked.version;
  }
  if (asked.initial_events && !initial && !asked.version) options.after = verbs_.store().version();
  if (!selection->empty())
    options.match = [chosen = std::move(*selection)](const Object& object) { return chosen.matches(object); };
  // One that is negative ends at once, as it does there.
  const std::int64_t timeout = asked.timeout_seconds.value_or(0);
  const std::chrono::seconds lives(std::clamp<std::int64_t>(timeout, -1, kMaxTimeout.count()));
  options.deadline = verbs_.clock().mono() + (timeout == 0 ? kWatchTimeout : lives);
  if (lives > kLastBookmark) options.last_bookmark = options.deadline - kLastBookmark;
  options.initial_deadline = verbs_.clock().mono() + kInitialTime;
  if (call.view == View::table) {
    options.render = [kind = call.kind, include = std::string(call.request.query_get("includeObject")),
                      &clock = verbs_.clock(),
                      first = std::make_shared<bool>(true)](const ObjectPtr& object) -> Bytes {
      return std::make_shared<const std::string>(table_json(*kind, {object}, object->rv, {}, {}, include,
                                                            clock.now(), std::exchange(*first, false)));
    };
  } else if (call.view == View::partial) {
    options.render = [](const ObjectPtr& object) -> Bytes {
      return std::make_shared<const std::string>(partial_json(*object));
    };
  } else if (!kind.is_stored_form()) {
    options.render = [kind = call.kind](const ObjectPtr& object) { return show(*kind, object); };
  }
  Reply reply = json_reply(200, {});
  reply.watch = std::make_unique<Watch>(*kind.objects, std::move(options));
  return reply;
}

}  // namespace koord::sandbox
