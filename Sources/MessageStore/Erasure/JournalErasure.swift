import BalloonPOSIX

/// Erases lines of the journal, segment by segment.
struct JournalErasure {
    let directory: String
    let files: DataFiles

    private func path(_ segment: UInt64) -> String {
        SegmentName.path(segment, in: directory)
    }

    private func segments() throws(StoreError) -> [UInt64] {
        try files.names(in: directory).compactMap(SegmentName.firstRecord).sorted()
    }

    /// Calls `body` with every intact line of the journal, in order.
    ///
    /// Lines of abandoned records are included. Segments that have only records before `first` are not read.
    func forEachLine(
        from first: UInt64 = 0, _ body: (JournalRecord, UInt64, ArraySlice<UInt8>) -> Void
    ) throws(StoreError) {
        let segments = try segments()
        for (index, segment) in segments.enumerated() {
            if index + 1 < segments.count, segments[index + 1] <= first { continue }
            try files.resting { () throws(StoreError) in
                guard let bytes = try files.read(path(segment)) else { return }
                for piece in bytes.split(separator: UInt8(ascii: "\n")) {
                    guard let line = SegmentScan.line(in: bytes, piece.indices),
                        let record = JournalRecord(bytes[line.range], line.header)
                    else { continue }
                    body(record, line.record, bytes[line.range])
                }
            }
        }
    }

    /// Replaces the lines of the erased conversations in the segments that begin up to `last`, latest first.
    ///
    /// `didReplace` is called after each replaced segment. Returns the number of erased lines. Also returns
    /// the segments with a damaged line that contains the identifier of an erased customer.
    func rewrite(
        _ scope: ErasureScope, through last: UInt64 = .max, didReplace: (UInt64) -> Void = { _ in }
    ) throws(StoreError) -> (lines: Int, damaged: [String]) {
        var (lines, damaged): (Int, [String]) = (0, [])
        // Remove the temporary file of an interrupted replacement.
        try files.remove(in: directory) { name in name.hasSuffix(".new") }
        for segment in try segments().reversed() where segment <= last {
            let found = try files.resting { () throws(StoreError) in
                try files.read(path(segment)).map { Self.erased($0, scope) }
            }
            guard let (target, count, isDamaged) = found else { continue }
            if isDamaged { damaged.append(path(segment)) }
            guard count > 0 else { continue }
            try files.replaceInPieces(path(segment), with: target)
            didReplace(segment)
            lines += count
        }
        return (lines, damaged)
    }

    /// Returns a segment without the texts of the erased conversations, and the number of its erased lines.
    ///
    /// Also returns whether a damaged line contains the identifier of an erased customer.
    private static func erased(
        _ source: [UInt8], _ scope: ErasureScope
    ) -> (target: [UInt8], lines: Int, isDamaged: Bool) {
        var (target, lines, isDamaged) = (source, 0, false)
        for piece in source.split(separator: UInt8(ascii: "\n")) {
            guard let line = SegmentScan.line(in: source, piece.indices),
                let record = JournalRecord(source[line.range], line.header)
            else {
                if scope.isMentioned(in: piece) { isDamaged = true }
                continue
            }
            let text = source[line.range]
            guard record.hasText, scope.holds(record, number: line.record) else { continue }
            guard let erased = ErasedLine.bytes(replacing: text, line.header, record) else {
                isDamaged = true
                continue
            }
            target.replaceSubrange(line.range, with: erased)
            lines += 1
        }
        return (target, lines, isDamaged)
    }
}
