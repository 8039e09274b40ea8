import BalloonHTTP
import BalloonJSON
import BalloonWire

/// A complete answer of the business API; sending adds the header fields that all answers share.
struct APIAnswer: Sendable {
    let status: HTTPStatus
    let contentType: String
    let body: [UInt8]
    var fields: [(name: String, value: String)] = []
    /// Adds to the line of the audit log what the request changed.
    var audit: (@Sendable (inout AuditLog.Entry) -> Void)?
}

extension APIAnswer {
    /// An answer whose body is JSON.
    init(_ status: HTTPStatus = .ok, json: [UInt8], fields: [(name: String, value: String)] = []) {
        self.init(status: status, contentType: "application/json", body: json, fields: fields)
    }

    /// An answer whose body is a JSON object.
    init(_ status: HTTPStatus = .ok, _ body: (inout JSONWriter) throws -> Void) rethrows {
        self.init(status, json: try JSONWriter.object(reservingCapacity: 1024, body))
    }

    /// The value of the header field with this name; nil when the answer has none.
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Returns this answer to a change that `complete` describes in the audit log.
    func audited(_ complete: @escaping @Sendable (inout AuditLog.Entry) -> Void) -> APIAnswer {
        var answer = self
        answer.audit = complete
        return answer
    }

    /// Returns this answer to a GET with a strong `ETag`, which is computed from the body if it is missing.
    ///
    /// When the client's `If-None-Match` names that tag, the result is a 304 without the body instead. An
    /// answer with a status other than 200 stays unchanged.
    func validated(against ifNoneMatch: String?) -> APIAnswer {
        guard status == .ok else { return self }
        var answer = self
        let tag = self["ETag"] ?? EntityTag.covering(body)
        if self["ETag"] == nil { answer.fields.append(("ETag", tag)) }
        guard EntityTag.isMatch(tag, ifNoneMatch) else { return answer }
        return APIAnswer(status: .notModified, contentType: contentType, body: [], fields: answer.fields)
    }
}

/// Strong entity tags (RFC 9110 §8.8.3).
enum EntityTag {
    /// Returns a tag with the first 18 bytes of the SHA-256 of `bytes`, in URL-safe Base64.
    static func covering(_ bytes: [UInt8]) -> String {
        "\"\(Base64.encode(SHA256.hash(bytes).prefix(18), alphabet: .url))\""
    }

    /// Whether `list`, the value of `If-None-Match`, names a tag; false when the field is missing.
    ///
    /// `*` matches every tag. A weak tag in the list, such as `W/"a"`, matches the strong tag `"a"`, as RFC
    /// 9110 §13.1.2 requires.
    static func isMatch(_ tag: String, _ list: String?) -> Bool {
        items(of: list).contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
    }

    /// Whether the value of `If-Match` names a tag; weak tags never match (RFC 9110 §13.1.1).
    static func isStrongMatch(_ tag: String, _ list: String) -> Bool {
        items(of: list).contains { $0 == "*" || $0 == tag }
    }

    private static func items(of list: String?) -> [String] {
        (list ?? "").split(separator: ",").map { item in
            String(item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }
}
