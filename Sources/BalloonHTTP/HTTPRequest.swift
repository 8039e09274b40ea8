package import BalloonPOSIX

/// One request for a handler: a view of the received bytes, without a copy.
///
/// Copy the parts that must outlive the handler's call: a stored request prevents its connection from reusing
/// the buffer.
package struct HTTPRequest: Sendable {
    /// The method.
    package var method: HTTPMethod { head.method }
    /// The complete body; empty when the handler reads the body through ``bodyReader``.
    package let body: ArraySlice<UInt8>
    /// The reader for a body that the route receives in pieces; nil for a route that gets the whole body.
    package let bodyReader: HTTPBodyReader?
    /// The mark with which the route's `admit` admitted the request; nil when the route has no `admit`.
    ///
    /// It is also nil in the request that `admit` itself gets.
    package let admission: UInt64?
    /// The address of the client, or of the proxy in front of this server.
    package let peer: PeerAddress
    /// The user of the client's process at the time of its connection to a unix socket; nil for TCP and in
    /// `admit`.
    package var peerUser: UInt32?

    let bytes: [UInt8]
    let base: Int
    let head: RequestHead
    /// The template of the route's path; nil when it has no parameters.
    let template: PathTemplate?

    /// The path of the target as sent: not decoded, never empty for a routed request.
    package var path: ArraySlice<UInt8> {
        // RFC 9110 §4.2.3: an absolute-form target without a path means `/`.
        if head.path.isEmpty { return [0x2F] }
        return bytes[(base + Int(head.path.lowerBound))..<(base + Int(head.path.upperBound))]
    }

    /// Returns the decoded value of a parameter in the route's path; nil when the path has no such parameter.
    package func parameter(_ name: String) -> String? { template?.value(of: name, in: path) }

    /// The query of the target as sent, without `?`; empty when there is none.
    package var query: ArraySlice<UInt8> {
        guard let query = head.query else { return [] }
        return bytes[(base + Int(query.lowerBound))..<(base + Int(query.upperBound))]
    }

    /// Returns the value of the first field with that name, without surrounding white space.
    package func field(_ name: HTTPFieldName) -> ArraySlice<UInt8>? {
        for field in head.fields where field.hasName(name.bytes, in: bytes, from: base) {
            return bytes[(base + Int(field.valueStart))..<(base + Int(field.valueEnd))]
        }
        return nil
    }

    /// Returns whether two or more field lines have that name.
    package func isRepeated(_ name: HTTPFieldName) -> Bool {
        var isFound = false
        for field in head.fields where field.hasName(name.bytes, in: bytes, from: base) {
            if isFound { return true }
            isFound = true
        }
        return false
    }

    /// All field lines in the order of arrival: names as sent, values without surrounding white space.
    package var fields: [(name: String, value: String)] {
        head.fields.map { field in
            let name = bytes[(base + Int(field.nameStart))..<(base + Int(field.nameEnd))]
            let value = bytes[(base + Int(field.valueStart))..<(base + Int(field.valueEnd))]
            return (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
    }
}
