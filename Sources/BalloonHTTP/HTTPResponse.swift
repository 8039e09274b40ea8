/// An answer with its complete body.
///
/// The header is rendered once at creation, so that a constant answer is cheap to send repeatedly.
package struct HTTPResponse: Sendable {
    /// The status.
    package let status: HTTPStatus
    /// The content.
    package let body: [UInt8]
    /// The status line and the fields, without `Date` and `Connection`, which the shard adds when it sends
    /// the answer.
    let header: [UInt8]
    /// An object that the connection retains until the socket has accepted all of the answer, or the connection
    /// has closed.
    package var retained: (any AnyObject & Sendable)?

    /// Creates an answer; `fields` must not name `Content-Length`, `Content-Type`, `Date` or `Connection`.
    ///
    /// The body of a 204 or 304 is dropped, because a client would read it as the start of the next answer.
    package init(
        _ status: HTTPStatus, contentType: String = "text/plain; charset=utf-8", body: [UInt8] = [],
        fields: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.body = status.hasContent ? body : []
        var header = renderHeader(status, fields)
        // RFC 9110 §8.6, §15.4.5: a 204 has no length, and the length in a 304 would be that of the 200.
        if status.hasContent {
            header += "Content-Length: \(body.count)\r\n".utf8
            if !body.isEmpty { header += "Content-Type: \(contentType)\r\n".utf8 }
        }
        self.header = header
    }

    /// Creates an answer whose body is text.
    package init(_ status: HTTPStatus, text: String) { self.init(status, body: Array(text.utf8)) }

    /// Creates an answer whose body is JSON.
    package init(_ status: HTTPStatus, json: [UInt8], fields: [(name: String, value: String)] = []) {
        self.init(status, contentType: "application/json", body: json, fields: fields)
    }
}

/// The status line and fields of an answer whose body follows in pieces.
package struct HTTPStreamHead: Sendable {
    let header: [UInt8]
    let hasLength: Bool
    let isOpenEnded: Bool

    /// Creates the head of an answer whose whole body is known; exactly the body's bytes must be written.
    package init(of response: HTTPResponse) {
        (header, hasLength, isOpenEnded) = (response.header, true, false)
    }

    /// Creates the head of an answer; `fields` must not name the fields that ``HTTPResponse`` excludes.
    ///
    /// With `contentLength`, exactly that many bytes must be written, and they are sent without chunk
    /// framing. An open-ended answer, such as an event stream, has no length and ends at once when the server
    /// begins to stop. Other answers may continue until the grace period of the stop ends.
    package init(
        _ status: HTTPStatus, contentType: String, contentLength: Int? = nil, isOpenEnded: Bool = false,
        fields: [(name: String, value: String)] = []
    ) {
        let length = contentLength.map { [(name: "Content-Length", value: "\($0)")] } ?? []
        header = renderHeader(status, fields + [("Content-Type", contentType)] + length)
        hasLength = contentLength != nil
        self.isOpenEnded = isOpenEnded
    }
}

/// Returns the status line and the fields, each with its line end.
///
/// A line break in a value becomes a space, because it would end the field early. No value comes from a
/// client.
private func renderHeader(_ status: HTTPStatus, _ fields: [(name: String, value: String)]) -> [UInt8] {
    var header = Array("HTTP/1.1 \(status.code) \(status.reason)\r\n".utf8)
    for (name, value) in fields {
        header += "\(name): ".utf8
        header += value.utf8.map { $0 == 0x0D || $0 == 0x0A ? 0x20 : $0 }
        header += "\r\n".utf8
    }
    return header
}
