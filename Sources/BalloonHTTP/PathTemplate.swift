/// A route's path with parameters, such as `/businesses/{slug}/messages/{id}`.
///
/// A parameter is a whole segment, and matches one segment that is not empty. Literal segments are compared as
/// bytes: `%61` does not match `a`.
final class PathTemplate: Sendable {
    private enum Segment: Sendable {
        case literal([UInt8])
        case parameter(name: String)
    }

    /// The maximum bytes of a parameter's decoded value; a longer value gets 414.
    static let maximumValueBytes = 1024

    private let segments: [Segment]

    /// Parses a path; nil when it has no parameters.
    init?(_ path: String) {
        segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { segment in
            guard segment.hasPrefix("{"), segment.hasSuffix("}") else { return .literal(Array(segment.utf8)) }
            return .parameter(name: String(segment.dropFirst().dropLast()))
        }
        guard segments.contains(where: { if case .parameter = $0 { true } else { false } }) else {
            return nil
        }
    }

    func matches(_ path: ArraySlice<UInt8>) -> Bool {
        var start = path.startIndex
        for segment in segments {
            guard start < path.endIndex, path[start] == slash else { return false }
            let end = endOfSegment(path, after: start)
            switch segment {
            case .literal(let bytes):
                guard path[(start + 1)..<end].elementsEqual(bytes) else { return false }
            case .parameter:
                guard end > start + 1 else { return false }
            }
            start = end
        }
        return start == path.endIndex
    }

    /// Refuses a matching path when a parameter's value is too long, or is not UTF-8.
    func check(_ path: ArraySlice<UInt8>) throws(HTTPRefusal) {
        var start = path.startIndex
        for segment in segments {
            let end = endOfSegment(path, after: start)
            if case .parameter = segment {
                let value = path[(start + 1)..<end]
                guard value.count <= 3 * Self.maximumValueBytes else { throw .parametersTooLong }
                guard let text = percentDecoded(value) else { throw .malformedTarget }
                guard text.utf8.count <= Self.maximumValueBytes else { throw .parametersTooLong }
            }
            start = end
        }
    }

    /// Returns the decoded value of a parameter; nil when the template has no parameter of that name.
    ///
    /// `path` must be a path that ``check(_:)`` accepted.
    func value(of name: String, in path: ArraySlice<UInt8>) -> String? {
        var start = path.startIndex
        for segment in segments {
            let end = endOfSegment(path, after: start)
            if case .parameter(name) = segment { return percentDecoded(path[(start + 1)..<end]) }
            start = end
        }
        return nil
    }

    /// Returns the index of the next slash after the slash at `start`, or the end of the path.
    private func endOfSegment(_ path: ArraySlice<UInt8>, after start: Int) -> Int {
        var end = start + 1
        while end < path.endIndex, path[end] != slash { end += 1 }
        return end
    }
}

private let slash = UInt8(ascii: "/")
