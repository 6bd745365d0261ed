// The page's files by name: bytes that embed.py packed at build.
#include "view/page/files.hpp"

#include <fmt/format.h>

#include "page_bytes.hpp"
#include "view/page/gate.hpp"

namespace koord::view {

std::optional<net::Response> page_file(const net::Request& request) {
  std::string_view name = request.path;
  if (!name.starts_with(kPageRoot)) return std::nullopt;
  name.remove_prefix(kPageRoot.size());
  if (name.empty()) name = "index.html";
  for (const PackedFile& file : kPackedFiles) {
    if (file.name != name) continue;
    net::Response response;
    const std::string tag = fmt::format("\"{}\"", file.digest);
    response.headers.add("ETag", tag);
    if (request.headers.get("If-None-Match") == tag) {
      response.status = 304;
      return response;
    }
    // Whatever the request says it takes: every browser unpacks, and so does curl --compressed.
    response.content_type = file.type;
    response.headers.add("Content-Encoding", "gzip");
    response.body.assign(reinterpret_cast<const char*>(file.bytes), file.size);
    return response;
  }
  return std::nullopt;
}

}  // namespace koord::view
