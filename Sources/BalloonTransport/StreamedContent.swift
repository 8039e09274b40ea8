/// The streamed content of one transfer, in both directions.
struct StreamedContent {
    private let source: ContentSource?
    private let sink: ContentSink?
    private var reader: ContentSource.Reader?
    private var writer: ContentSink.Writer?
    private var leftBytes: Int
    /// Whether the reader or the writer threw an error, or the reader returned too few or too many bytes.
    private(set) var hasFailed = false

    init(_ request: TransportRequest) {
        source = request.source
        sink = request.sink
        leftBytes = request.source?.sizeBytes ?? 0
    }

    var hasSink: Bool { sink != nil }

    /// Returns the next piece, empty at the end of the content; nil after a failure.
    mutating func next(maximumBytes: Int) -> [UInt8]? {
        guard let source, leftBytes > 0 else { return [] }
        do {
            let reader = try self.reader ?? source.open()
            self.reader = reader
            let piece = try reader(min(maximumBytes, leftBytes))
            hasFailed = piece.isEmpty || piece.count > leftBytes
            leftBytes -= piece.count
            return hasFailed ? nil : piece
        } catch {
            // Drop the error: the creator of the reader has it already, and the transfer only has to end.
            hasFailed = true
            return nil
        }
    }

    /// Passes received bytes to the sink; returns false when the sink fails.
    mutating func receive(_ part: Span<UInt8>) -> Bool {
        guard let sink else { return false }
        var piece = unsafe part.withUnsafeBufferPointer { unsafe Array($0) }
        do {
            let writer = try self.writer ?? sink.open()
            self.writer = writer
            try writer(&piece)
            return true
        } catch {
            // Drop the error: the creator of the writer has it already, and the transfer only has to end.
            hasFailed = true
            return false
        }
    }
}
