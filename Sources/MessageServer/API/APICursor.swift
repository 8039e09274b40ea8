import BalloonHTTP
import BalloonWire
import BusinessMessages

/// Converts positions in lists to cursors, which only this server can create, and cursors to positions.
///
/// A cursor contains an HMAC of the path, the filter and the position of the next page, and the position, encrypted
/// with that HMAC as its nonce: a position may have a record number (see ``RecordNumbers``). The
/// server therefore refuses an altered cursor and a cursor of another list. A position names an entry instead
/// of counting entries, so that new entries do not shift the next page.
struct APICursor: Sendable {
    private let key: HMACSHA256
    private static let tagBytes = 16

    /// Creates the cursors of a store; they stay valid until the store's identity or the MSP's secret
    /// changes.
    init(secret: Secret, store: String) {
        let key = HMACSHA256(key: secret).bytes(of: Array("business API: cursors of \(store)".utf8))
        // `Secret` refuses only an empty key, so these 32 bytes are accepted and the fallback is never used.
        self.key = HMACSHA256(key: (try? Secret(key)) ?? secret)
    }

    /// The cursor for a position in the list that `scope` names.
    func text(_ position: String, in scope: String) -> String {
        let bytes = Array(position.utf8)
        let tag = tag(bytes, scope)
        return Base64.encode(tag + masked(bytes, tag), alphabet: .url)
    }

    /// Returns the position in a cursor; throws `bad-cursor` when the cursor is altered or belongs to another list.
    func position(_ text: String, in scope: String) throws(APIProblem) -> String {
        guard let bytes = Base64.decode(text, alphabet: .url), bytes.count > Self.tagBytes else {
            throw APIProblem(.badCursor, parameter: APIParameter.cursor.name)
        }
        let (given, rest) = (Array(bytes.prefix(Self.tagBytes)), Array(bytes.dropFirst(Self.tagBytes)))
        // The cursors of earlier releases have their position in clear.
        for position in [masked(rest, given), rest]
        where constantTimeEquals(given[...], tag(position, scope)) {
            return String(decoding: position, as: UTF8.self)
        }
        throw APIProblem(.badCursor, parameter: APIParameter.cursor.name)
    }

    /// The bytes, combined with a stream of the key and the tag; a second call restores them.
    private func masked(_ bytes: [UInt8], _ tag: [UInt8]) -> [UInt8] {
        var masked: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 32) {
            let mask = key.bytes(of: Array("mask \(start):".utf8) + tag)
            masked += zip(bytes[start..<min(start + 32, bytes.count)], mask).map { $0 ^ $1 }
        }
        return masked
    }

    private func tag(_ position: [UInt8], _ scope: String) -> [UInt8] {
        // The length of the scope comes first, so that two different pairs of scope and position never give
        // the same bytes.
        let scope = Array(scope.utf8)
        return Array(key.bytes(of: Array("\(scope.count):".utf8) + scope + position).prefix(Self.tagBytes))
    }
}

extension APIRequest {
    /// The list to which cursors of this request belong: the request's path and filter.
    private var scope: String {
        target + "?"
            + filter.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// The position at which the page begins; nil for the first page.
    var position: String? {
        get throws(APIProblem) {
            guard let text = self[APIParameter.cursor.name] else { return nil }
            return try cursors.position(text, in: scope)
        }
    }

    /// The header field `Link` to the next page (RFC 8288); empty when `position` is nil, because no page follows.
    func link(next position: String?) -> [(name: String, value: String)] {
        guard let position else { return [] }
        var parameters = filter.map { ($0.name, $0.value) }
        if let limit = self[APIParameter.limit.name] { parameters.append((APIParameter.limit.name, limit)) }
        parameters.append((APIParameter.cursor.name, cursors.text(position, in: scope)))
        return [link("next", parameters)]
    }

    /// A header field `Link` to this request's path with other query parameters.
    func link(_ relation: String, _ parameters: [(name: String, value: String)]) -> (
        name: String, value: String
    ) {
        let query = parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return ("Link", "<\(target)?\(query)>; rel=\"\(relation)\"")
    }
}
