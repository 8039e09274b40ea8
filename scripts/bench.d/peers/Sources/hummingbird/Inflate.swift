import CInflate

struct InflateError: Error {}

/// Takes the gzip coding off; at most a megabyte comes out.
func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    guard inflate_init_gzip(&stream) == Z_OK else { throw InflateError() }
    defer { inflateEnd(&stream) }
    var input = bytes
    let count = input.count
    return try input.withUnsafeMutableBufferPointer { input in
        try [UInt8](unsafeUninitializedCapacity: max(8192, count * 8)) { output, written in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            guard inflate(&stream, Z_FINISH) == Z_STREAM_END else { throw InflateError() }
            written = output.count - Int(stream.avail_out)
        }
    }
}
