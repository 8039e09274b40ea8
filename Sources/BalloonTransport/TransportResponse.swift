/// A complete HTTP response.
package struct TransportResponse: Sendable {
    /// The final status, 200 to 599.
    package var status: Int

    /// The fields in the order of arrival, with their names as received (lower case over HTTP/2).
    package var headers: [(name: String, value: String)]

    /// The content as received: a `Content-Encoding` is not decoded.
    package var body: [UInt8]

    /// Creates a response, for test doubles.
    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the value of the first field with this name, ignoring case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.utf8.elementsEqual(name.utf8) { $0.lowercased == $1.lowercased } }?.value
    }

    /// The media type of the content, without its parameters; empty when the response names none.
    package var mediaType: String {
        let type = (header("content-type") ?? "").prefix { $0 != ";" }
        return type.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

extension UInt8 {
    /// The byte in lower case, because the case of ASCII letters in field names is ignored (RFC 9110 §5.1).
    fileprivate var lowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
