internal import BalloonJSON
internal import CZlib

/// A gzip compressor that reuses its memory between calls; belongs to one isolation domain.
@safe package final class GzipCompressor {
    // zlib's state points back to the stream, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// Creates a compressor with zlib's default level.
    package init() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe balloon_deflate_init(stream)
        precondition(status == Z_OK, "out of memory")
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Compresses `input` to one gzip member without a name or a time.
    package func compress(_ input: some Collection<UInt8>) -> [UInt8] {
        input.withSpan { compress($0) }
    }

    private func compress(_ input: Span<UInt8>) -> [UInt8] {
        precondition(input.count <= Int(UInt32.max) / 2, "zlib counts in 32 bits")
        unsafe deflateReset(stream)
        let bound = unsafe Int(deflateBound(stream, UInt(input.count)))
        return unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            unsafe input.withUnsafeBufferPointer { input in
                // deflate only reads from next_in, although the C declaration lacks const.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                unsafe stream.pointee.avail_in = UInt32(input.count)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(bound)
                // The output has deflateBound bytes, so one call finishes.
                let status = unsafe deflate(stream, Z_FINISH)
                precondition(status == Z_STREAM_END, "deflateBound was too small")
                count = unsafe bound - Int(stream.pointee.avail_out)
            }
        }
    }
}
