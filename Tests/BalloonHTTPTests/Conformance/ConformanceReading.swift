@testable import BalloonHTTP

/// The result of parser and chunk decoder for the bytes of one connection, without a server.
struct ConformanceReading: Equatable {
    static let maximumBodyBytes = 1000

    private enum Phase {
        case head, length(Int), chunks, ended
    }

    private(set) var heads: [RequestHead] = []
    private(set) var bodies: [[UInt8]] = []
    private(set) var refusal: HTTPRefusal?
    /// Whether a server may answer an earlier request, and then close, before it reads the refused bytes.
    var mayBeAnsweredBefore: Bool { heads.contains { $0.method != .post } }

    /// Parses `bytes` as if they arrived in pieces that end at `pieces`.
    init(_ bytes: [UInt8], pieces: [Int]) {
        var parser = RequestParser()
        var decoder = ChunkedDecoder()
        var phase = Phase.head
        var cursor = 0
        do throws(HTTPRefusal) {
            for end in pieces {
                // The parser must not read bytes after `end`.
                let seen = Array(bytes[..<end])
                while try step(&phase, &parser, &decoder, seen, &cursor) {}
            }
        } catch {
            refusal = error
        }
    }

    /// Processes one step; false when more bytes must arrive first.
    private mutating func step(
        _ phase: inout Phase, _ parser: inout RequestParser, _ decoder: inout ChunkedDecoder, _ seen: [UInt8],
        _ cursor: inout Int
    ) throws(HTTPRefusal) -> Bool {
        switch phase {
        case .head:
            if let last = heads.last, !last.isPersistent {
                phase = .ended
                return false
            }
            guard try parser.parse(seen, from: cursor, to: seen.count, HTTPLimits()) else { return false }
            heads.append(parser.head)
            bodies.append([])
            cursor += parser.head.length
            switch parser.head.framing {
            case .none: phase = .head
            case .length(let length):
                if length > Self.maximumBodyBytes { throw .bodyTooLarge }
                phase = .length(length)
            case .chunked:
                decoder = ChunkedDecoder()
                phase = .chunks
            }
            parser.reset()
            return true
        case .length(let length):
            guard seen.count - cursor >= length else { return false }
            bodies[bodies.count - 1] = Array(seen[cursor..<cursor + length])
            cursor += length
            phase = .head
            return true
        case .chunks:
            try decoder.decode(
                seen, &cursor, to: seen.count, into: &bodies[bodies.count - 1],
                maximumBytes: Self.maximumBodyBytes)
            guard decoder.isFinished else { return false }
            phase = .head
            return true
        case .ended: return false
        }
    }
}
