// zlib's inflate over one whole body, a piece at a time.
#include "gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace koord::net {

struct Gunzip::State {
  z_stream stream{};
  bool open = false;
  ~State() {
    if (open) inflateEnd(&stream);
  }
};

Gunzip::Gunzip(std::string_view packed, std::size_t limit)
    : packed_(packed), limit_(limit), state_(std::make_unique<State>()) {
  z_stream& stream = state_->stream;
  state_->open = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  // API objects shrink to about a tenth.
  text_.reserve(std::min(limit, packed.size() * 8));
}

Gunzip::~Gunzip() = default;

Result<bool> Gunzip::step() {
  if (packed_.size() > 0xffffffff) return Error(Code::too_large, "a gzip body of 4 GiB or more");
  if (!state_->open) return Error(Code::internal, "zlib cannot start");
  if (text_.size() >= limit_)
    return Error(Code::too_large, fmt::format("the body is larger than {} bytes", limit_));
  z_stream& stream = state_->stream;
  const std::size_t before = text_.size(), room = std::min(kStep, limit_ - before);
  text_.resize(before + room);
  stream.next_out = reinterpret_cast<Bytef*>(text_.data() + before);
  stream.avail_out = static_cast<uInt>(room);
  const int status = inflate(&stream, Z_NO_FLUSH);
  text_.resize(before + room - stream.avail_out);
  if (status == Z_STREAM_END) return true;
  if (status != Z_OK && !(status == Z_BUF_ERROR && stream.avail_out == 0))
    return Error(Code::parse, "a damaged or cut gzip body");
  if (stream.avail_in == 0 && stream.avail_out != 0) return Error(Code::parse, "a cut gzip body");
  return false;
}

Result<std::string> gunzip(std::string_view packed, std::size_t limit) {
  Gunzip unpacking(packed, limit);
  for (;;) {
    KOORD_TRY(whole, unpacking.step());
    if (whole) return std::move(unpacking.text());
  }
}

}  // namespace koord::net
