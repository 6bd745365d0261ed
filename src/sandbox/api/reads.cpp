// get, list, watch.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sandbox/api/api.hpp"
#include "sandbox/api/table.hpp"

namespace koord::sandbox {
namespace {

// As long as kube-apiserver lets a watch live when none is asked for (it draws 30 to 60 minutes).
constexpr std::chrono::seconds kWatchTimeout{45 * 60};
constexpr std::size_t kMaxPages = 32;

Outcome<std::optional<std::uint64_t>> version_of(const runtime::HttpRequest& request, const Store& store) {
  std::string_view text = request.query_get("resourceVersion");
  if (text.empty()) return std::optional<std::uint64_t>();
  std::uint64_t version = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) {
    FieldErrors errors;
    errors.invalid("resourceVersion", text,
                   fmt::format("strconv.ParseUint: parsing {}: invalid syntax", quote_json(text)));
    Failure failure = errors.failure("", "ListOptions", "");
    failure.code = 400;
    failure.reason = "BadRequest";
    failure.message = fmt::format("Invalid value: {}: strconv.ParseUint: parsing {}: invalid syntax",
                                  quote_json(text), quote_json(text));
    return failure;
  }
  if (version > store.version()) return resource_version_too_large(version, store.version());
  return std::optional(version);
}

Failure too_old(std::uint64_t asked, const Collection& objects) {
  return expired(fmt::format("too old resource version: {} ({})", asked, objects.forgotten() + 1));
}

std::string partial(const Kind& kind, const ObjectPtr& object) { return partial_json(kind, *object); }

}  // namespace

Reply Api::object_reply(const Call& call, const ObjectPtr& object, unsigned status) const {
  const Kind& kind = *call.kind;
  Reply reply = json_reply(status, {});
  if (call.view == View::table)
    reply.http.body = table_json(kind, {object}, object->rv, {}, {}, call.request.query_get("includeObject"),
                                 verbs_.clock().now());
  else if (call.view == View::partial)
    reply.http.body = partial(kind, object);
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
  std::string head = fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}")",
                                 parts_only ? "PartialObjectMetadataList" : kind.kind + "List",
                                 parts_only ? "meta.k8s.io/v1" : kind.api_version(), version);
  if (!next.empty()) head += ",\"continue\":" + quote_json(next);
  if (remaining) head += fmt::format(",\"remainingItemCount\":{}", *remaining);
  head += "},\"items\":[";
  Reply reply = json_reply(200, std::move(head));
  static const Bytes kComma = std::make_shared<const std::string>(",");
  static const Bytes kEnd = std::make_shared<const std::string>("]}");
  reply.http.parts.reserve(2 * objects.size() + 1);
  for (const ObjectPtr& object : objects) {
    if (&object != &objects.front()) reply.http.parts.push_back(kComma);
    reply.http.parts.push_back(parts_only ? std::make_shared<const std::string>(partial(kind, object))
                                          : show(kind, object));
  }
  reply.http.parts.push_back(kEnd);
  return reply;
}

Api::Answer Api::get(Call& call) {
  const Kind& kind = *call.kind;
  if (auto version = version_of(call.request, verbs_.store()); !version) return std::move(version).error();
  ObjectPtr object = kind.objects->get(call.route.ns, call.route.name);
  if (!object) return not_found(kind.named(), call.route.name);
  return object_reply(call, object, 200);
}

Outcome<std::vector<ObjectPtr>> Api::select_objects(const Call& call, const Selection& selection,
                                                    std::uint64_t& version) {
  const Collection& all = *call.kind->objects;
  std::vector<ObjectPtr> found;
  auto take = [&](const ObjectPtr& object) {
    if (!call.route.ns.empty() && object->ns != call.route.ns) return;
    if (selection.matches(*object)) found.push_back(object);
  };
  if (version == verbs_.store().version()) {
    auto it = all.objects().begin(), end = all.objects().end();
    if (!call.route.ns.empty()) {  // keys begin with the namespace
      it = all.objects().lower_bound(std::string(call.route.ns) + "/");
      end = all.objects().lower_bound(std::string(call.route.ns) + "0");
    }
    for (; it != end; ++it) take(it->second);
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
  for (const auto& [key, object] : then) take(object);
  return found;
}

Api::Answer Api::list(Call& call) {
  const runtime::HttpRequest& request = call.request;
  auto limit = query_int(request, "limit").value_or(0);
  std::string_view token = request.query_get("continue");
  if (!token.empty()) {
    std::uint64_t id = 0, offset = 0;
    std::size_t dot = token.find('.');
    bool good =
        dot != std::string_view::npos &&
        std::from_chars(token.data(), token.data() + dot, id).ec == std::errc() &&
        std::from_chars(token.data() + dot + 1, token.data() + token.size(), offset).ec == std::errc();
    if (!good) return bad_request("continue key is not valid: unable to decode continue token");
    auto pages = std::find_if(pages_.begin(), pages_.end(), [&](const Pages& p) { return p.id == id; });
    if (pages == pages_.end() || offset > pages->objects.size())
      return expired(
          "The provided continue parameter is too old to display a consistent list result. You can start a "
          "new list without the "
          "continue parameter.");
    std::size_t left = pages->objects.size() - offset;
    std::size_t count = limit > 0 ? std::min<std::size_t>(left, static_cast<std::size_t>(limit)) : left;
    auto from = pages->objects.begin() + static_cast<std::ptrdiff_t>(offset);
    std::vector<ObjectPtr> page(from, from + static_cast<std::ptrdiff_t>(count));
    std::string next = count < left ? fmt::format("{}.{}", id, offset + count) : "";
    return list_reply(call, page, pages->version, next,
                      next.empty() ? std::nullopt : std::optional<std::uint64_t>(left - count));
  }
  auto selection =
      Selection::parse(request.query_get("labelSelector"), request.query_get("fieldSelector"), *call.kind);
  if (!selection) return std::move(selection).error();
  auto asked = version_of(request, verbs_.store());
  if (!asked) return std::move(asked).error();
  std::uint64_t version = verbs_.store().version();
  std::string_view match = request.query_get("resourceVersionMatch");
  if (!match.empty() && match != "Exact" && match != "NotOlderThan")
    return unprocessable(fmt::format(
        "resourceVersionMatch: Unsupported value: {}: supported values: \"Exact\", \"NotOlderThan\", \"\"",
        quote_json(match)));
  if (match == "Exact" && *asked) version = **asked;
  auto objects = select_objects(call, *selection, version);
  if (!objects) return std::move(objects).error();
  if (limit <= 0 || static_cast<std::size_t>(limit) >= objects->size())
    return list_reply(call, *objects, version, {}, {});
  std::vector<ObjectPtr> page(objects->begin(), objects->begin() + limit);
  std::optional<std::uint64_t> remaining;
  if (selection->empty()) remaining = objects->size() - page.size();
  std::string next = fmt::format("{}.{}", next_pages_, limit);
  pages_.push_back({next_pages_++, version, std::move(*objects)});
  if (pages_.size() > kMaxPages) pages_.pop_front();
  return list_reply(call, page, version, next, remaining);
}

Api::Answer Api::watch(Call& call) {
  const runtime::HttpRequest& request = call.request;
  const Kind& kind = *call.kind;
  auto selection =
      Selection::parse(request.query_get("labelSelector"), request.query_get("fieldSelector"), kind);
  if (!selection) return std::move(selection).error();
  bool initial = query_true(request, "sendInitialEvents");
  std::string_view match = request.query_get("resourceVersionMatch");
  if (request.query_has("sendInitialEvents") && match != "NotOlderThan")
    return unprocessable(
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents "
        "requires setting "
        "resourceVersionMatch to NotOlderThan");
  if (!request.query_has("sendInitialEvents") && !match.empty())
    return unprocessable(
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is "
        "forbidden for watch "
        "unless sendInitialEvents is provided");
  auto asked = version_of(request, verbs_.store());
  if (!asked) return std::move(asked).error();
  WatchOptions options;
  options.ns = call.route.ns;
  options.name = call.route.name;
  options.api_version = kind.api_version();
  options.kind = kind.kind;
  options.bookmarks = query_true(request, "allowWatchBookmarks");
  options.initial_end = initial && options.bookmarks;
  if (!initial && *asked && **asked > 0) {
    if (**asked < kind.objects->forgotten()) return too_old(**asked, *kind.objects);
    options.after = **asked;
  }
  if (request.query_has("sendInitialEvents") && !initial && !*asked) options.after = verbs_.store().version();
  if (!selection->empty())
    options.match = [chosen = std::move(*selection)](const Object& object) { return chosen.matches(object); };
  auto timeout = query_int(request, "timeoutSeconds").value_or(0);
  options.deadline = verbs_.clock().mono() + (timeout > 0 ? std::chrono::seconds(timeout) : kWatchTimeout);
  if (call.view == View::table) {
    options.render = [kind = call.kind, include = std::string(request.query_get("includeObject")),
                      &clock = verbs_.clock(),
                      first = std::make_shared<bool>(true)](const ObjectPtr& object) -> Bytes {
      return std::make_shared<const std::string>(table_json(*kind, {object}, object->rv, {}, {}, include,
                                                            clock.now(), std::exchange(*first, false)));
    };
  } else if (call.view == View::partial) {
    options.render = [kind = call.kind](const ObjectPtr& object) -> Bytes {
      return std::make_shared<const std::string>(partial_json(*kind, *object));
    };
  } else if (!kind.is_stored_form()) {
    options.render = [kind = call.kind](const ObjectPtr& object) { return show(*kind, object); };
  }
  Reply reply = json_reply(200, {});
  reply.watch = std::make_unique<Watch>(*kind.objects, std::move(options));
  return reply;
}

}  // namespace koord::sandbox
