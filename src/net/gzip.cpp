// zlib's inflate over one whole body.
#include "gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace koord::net {

Result<std::string> gunzip(std::string_view packed, std::size_t limit) {
  if (packed.size() > 0xffffffff) return Error(Code::too_large, "a gzip body of 4 GiB or more");
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return Error(Code::internal, "zlib cannot start");
  struct End {
    z_stream& stream;
    ~End() { inflateEnd(&stream); }
  } const end{stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  // API objects shrink to about a tenth.
  out.resize(std::min(limit, std::max<std::size_t>(4096, packed.size() * 8)));
  std::size_t used = 0;
  for (;;) {
    if (used == out.size()) {
      if (used >= limit)
        return Error(Code::too_large, fmt::format("the body is larger than {} bytes", limit));
      out.resize(std::min(limit, out.size() * 2));
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - used, 1u << 30));
    const uInt room = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (status == Z_STREAM_END) break;
    if (status != Z_OK && !(status == Z_BUF_ERROR && stream.avail_out == 0))
      return Error(Code::parse, "a damaged or cut gzip body");
    if (stream.avail_in == 0 && stream.avail_out != 0) return Error(Code::parse, "a cut gzip body");
  }
  out.resize(used);
  return out;
}

}  // namespace koord::net
