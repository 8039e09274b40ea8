internal import BalloonJSON
internal import CZlib

/// A gzip decompressor with size limits, which reuses its memory between calls; belongs to one isolation
/// domain.
@safe package final class GzipDecompressor {
    // zlib's state points back to the stream, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// The format of the compressed data.
    package enum Format: Sendable {
        /// RFC 1952.
        case gzip
        /// RFC 1950, as in PNG files.
        case zlib
    }

    /// Creates a decompressor that accepts only this format, and no raw deflate data.
    package init(_ format: Format = .gzip) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status =
            switch format {
            case .gzip: unsafe balloon_inflate_init(stream)
            case .zlib: unsafe balloon_inflate_init_zlib(stream)
            }
        precondition(status == Z_OK, "out of memory")
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Replaces `output`, reusing its storage, with the decompressed `input`.
    ///
    /// `input` must consist of one or more gzip members (RFC 1952 §2.2), or of one stream of zlib. The result may have at most
    /// `maximumBytes`. A result of more than 64 KiB may also have at most `maximumRatio` times the bytes of
    /// `input`. Memory use never exceeds these limits. Throws a gzip case of `WireError`; `output` is then
    /// empty.
    @specialized(where Input == ArraySlice<UInt8>)
    package func decompress<Input: Collection<UInt8>>(
        _ input: Input, into output: inout [UInt8], maximumBytes: Int, maximumRatio: Int
    ) throws(WireError) {
        output.removeAll(keepingCapacity: true)
        let (byRatio, isBeyondMemory) = input.count.multipliedReportingOverflow(by: maximumRatio)
        let bound = isBeyondMemory ? maximumBytes : min(maximumBytes, max(byRatio, ratioFloorBytes))
        do throws(WireError) {
            try input.withSpan { input throws(WireError) in
                try inflateMembers(input, into: &output, bound: min(bound, .max - 1))
            }
        } catch {
            output.removeAll(keepingCapacity: true)
            throw error
        }
    }

    /// Appends the decompressed content of all members.
    private func inflateMembers(
        _ input: Span<UInt8>, into output: inout [UInt8], bound: Int
    ) throws(WireError) {
        var used = try inflateMember(input, into: &output, bound: bound)
        while used < input.count {
            let rest = input.extracting(droppingFirst: used)
            guard rest.count >= 2, rest[0] == Gzip.magic[0], rest[1] == Gzip.magic[1] else {
                throw .gzipTrailingData
            }
            used += try inflateMember(rest, into: &output, bound: bound)
        }
    }

    /// Appends the decompressed content of the first member of `input`, and returns that member's compressed
    /// length in bytes.
    private func inflateMember(
        _ input: Span<UInt8>, into output: inout [UInt8], bound: Int
    ) throws(WireError) -> Int {
        unsafe inflateReset(stream)
        var used = 0
        var wantedBytes = expectedBytes(of: input)
        while true {
            // Allow one byte more than the limit, to distinguish a result that is too large from one of
            // maximum size.
            let roomBytes = min(wantedBytes, bound + 1 - output.count)
            let countBefore = output.count
            let (code, read) = inflateStep(
                input.extracting(droppingFirst: used), into: &output, roomBytes: roomBytes)
            used += read
            if output.count > bound { throw .gzipTooLarge(maximumBytes: bound) }
            switch code {
            case Z_STREAM_END: return used
            case Z_OK where output.count == countBefore + roomBytes || used < input.count:
                wantedBytes = max(output.count, 16 * 1024)
            case Z_OK, Z_BUF_ERROR: throw .gzipTruncated
            default: throw .gzipMalformed
            }
        }
    }

    /// Appends at most `roomBytes` and returns zlib's code and the number of consumed bytes.
    private func inflateStep(
        _ input: Span<UInt8>, into output: inout [UInt8], roomBytes: Int
    ) -> (code: Int32, read: Int) {
        var step: (code: Int32, read: Int) = (Z_OK, 0)
        unsafe input.withUnsafeBufferPointer { input in
            output.append(addingCapacity: roomBytes) { output in
                unsafe output.withUnsafeMutableBufferPointer { output, count in
                    // Sound: inflate only reads from next_in, although the C declaration lacks const; it
                    // stays within both sizes, and `count` grows by the written bytes.
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
                    unsafe stream.pointee.next_out = output.baseAddress?.advanced(by: count)
                    unsafe stream.pointee.avail_out = UInt32(clamping: roomBytes)
                    unsafe step.code = inflate(stream, Z_NO_FLUSH)
                    unsafe step.read = Int(UInt32(clamping: input.count) - stream.pointee.avail_in)
                    unsafe count += Int(UInt32(clamping: roomBytes) - stream.pointee.avail_out)
                }
            }
        }
        return step
    }

    /// Returns the initial capacity: the size that the last four bytes state (RFC 1952 §2.3.1, ISIZE), if
    /// plausible.
    private func expectedBytes(of input: Span<UInt8>) -> Int {
        // Text is rarely compressed to less than an eighth, so a larger stated size is not trusted. The slack
        // is needed because inflate's fast loop stops 258 bytes before the end of its output.
        let (plausibleRatio, slackBytes) = (8, 512)
        guard input.count >= 18 else { return slackBytes }
        var claim = 0
        for index in 1...4 { claim = claim << 8 | Int(input[input.count - index]) }
        return min(claim, input.count * plausibleRatio) + slackBytes
    }
}

/// The result size up to which the ratio is not checked, because short repetitive texts have a very high
/// ratio.
private let ratioFloorBytes = 64 * 1024
