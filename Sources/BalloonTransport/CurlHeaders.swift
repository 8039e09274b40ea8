internal import CCurl

/// The fields of a request as libcurl's list, owned by this type.
@safe struct CurlHeaders: ~Copyable {
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    /// Builds the list of a request's fields.
    ///
    /// Throws `TransportError.requestInvalid` for a name that is not a token, or a value with a control
    /// character.
    init(_ request: TransportRequest) throws(TransportError) {
        unsafe list = nil
        for (name, value) in request.headers {
            guard isToken(name), isFieldValue(value) else { throw .requestInvalid }
            // CURLOPT_HTTPHEADER: "name;" sends a field with an empty value, while "name:" would remove the
            // field.
            append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // Suppress two fields that libcurl adds: Expect for a large body, and a form's Content-Type for any
        // body.
        append("Expect:")
        if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            append("Content-Type:")
        }
    }

    deinit { unsafe balloon_curl_slist_free_all(list) }

    private mutating func append(_ line: String) {
        // curl_slist_append copies the string, and returns NULL only without memory.
        let longer = unsafe balloon_curl_slist_append(list, line)
        precondition(unsafe longer != nil, "out of memory")
        unsafe list = longer
    }
}

/// Whether `text` is a token, which a method or a field name must be (RFC 9110 §5.6.2).
func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenCharacter)
}

/// Whether `text` may be the value of a field: it has no control character except the tab (RFC 9110 §5.5).
///
/// A line break in a value would start another field.
func isFieldValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") }
}

private func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}
