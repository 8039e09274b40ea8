import BalloonHTTP
import BalloonJSON
import BalloonWire
import BusinessMessages

/// The places of pages in lists, as texts that only this server can make.
///
/// A cursor has the position of the next page and a tag over the operation, the path, the filter and the position. So
/// an altered cursor, and one of another list, is refused. A position names an entry and not a count, so that inserted
/// entries move nothing.
struct APICursor: Sendable {
    private let key: HMACSHA256
    private static let tagBytes = 16

    /// Creates the cursors of a server; they stay valid as long as the MSP's secret.
    init(secret: Secret) {
        let key = HMACSHA256(key: secret).bytes(of: Array("business API: cursors".utf8))
        // 32 bytes are not empty.
        self.key = HMACSHA256(key: (try? Secret(key)) ?? secret)
    }

    /// The cursor for a position in the list that `scope` names.
    func text(_ position: String, in scope: String) -> String {
        let bytes = Array(position.utf8)
        return Base64.encode(tag(bytes, scope) + bytes, alphabet: .url)
    }

    /// The position of a cursor; throws `bad-cursor` for an altered one, or one of another list.
    func position(_ text: String, in scope: String) throws(APIProblem) -> String {
        guard let bytes = Base64.decode(text, alphabet: .url), bytes.count > Self.tagBytes else {
            throw APIProblem(.badCursor, parameter: APIParameter.cursor.name)
        }
        let position = Array(bytes.dropFirst(Self.tagBytes))
        guard constantTimeEquals(bytes.prefix(Self.tagBytes), tag(position, scope)) else {
            throw APIProblem(.badCursor, parameter: APIParameter.cursor.name)
        }
        return String(decoding: position, as: UTF8.self)
    }

    private func tag(_ position: [UInt8], _ scope: String) -> [UInt8] {
        // The length separates the scope from the position.
        let scope = Array(scope.utf8)
        return Array(key.bytes(of: Array("\(scope.count):".utf8) + scope + position).prefix(Self.tagBytes))
    }
}

extension APIRequest {
    /// The list that a cursor of this request belongs to: its path and filter.
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

    /// The field that leads to the next page (RFC 8288); none when `next` is nil.
    func link(next position: String?) -> [(name: String, value: String)] {
        guard let position else { return [] }
        var parameters = filter.map { ($0.name, $0.value) }
        if let limit = self[APIParameter.limit.name] { parameters.append((APIParameter.limit.name, limit)) }
        parameters.append((APIParameter.cursor.name, cursors.text(position, in: scope)))
        return [link("next", parameters)]
    }

    /// The field that leads to this path with other parameters.
    func link(_ relation: String, _ parameters: [(name: String, value: String)]) -> (
        name: String, value: String
    ) {
        let query = parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return ("Link", "<\(target)?\(query)>; rel=\"\(relation)\"")
    }
}
