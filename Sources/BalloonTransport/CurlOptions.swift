internal import CCurl

/// A setter of one easy handle's options, which keeps the first error code.
@safe struct CurlOptions {
    /// `CURLE_OK`, or the first other code.
    private(set) var code = CURLE_OK
    private let easy: UnsafeMutableRawPointer

    init(_ easy: UnsafeMutableRawPointer) { unsafe self.easy = easy }

    mutating func set(_ option: CURLoption, _ value: Int) {
        keep(unsafe balloon_curl_set_number(easy, option, value))
    }

    mutating func set(_ option: CURLoption, size: Int) {
        keep(unsafe balloon_curl_set_size(easy, option, curl_off_t(size)))
    }

    /// Sets a string option; libcurl copies the string.
    mutating func set(_ option: CURLoption, _ value: String) {
        keep(unsafe balloon_curl_set_string(easy, option, value))
    }

    /// Sets a string option to NULL, which removes its default value.
    mutating func clear(_ option: CURLoption) { keep(unsafe balloon_curl_set_string(easy, option, nil)) }

    /// Sets the method and the content, which libcurl copies.
    mutating func set(method: String, body: [UInt8]) {
        guard method != "HEAD" else { return set(CURLOPT_NOBODY, 1) }
        // RFC 9110 §8.6: for methods that define content, an empty body is sent with length zero.
        if !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method) {
            set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
            // CURLOPT_COPYPOSTFIELDS needs the size first; with NULL, libcurl would read the body from
            // standard input.
            keep(
                unsafe body.isEmpty
                    ? balloon_curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, "")
                    : balloon_curl_set_bytes(easy, CURLOPT_COPYPOSTFIELDS, body))
        }
        if method != "GET" || !body.isEmpty { set(CURLOPT_CUSTOMREQUEST, method) }
    }

    /// Sets the method and the size of the content, which CURLOPT_READFUNCTION will produce.
    mutating func set(method: String, sourceBytes: Int) {
        set(CURLOPT_POST, 1)
        set(CURLOPT_POSTFIELDSIZE_LARGE, size: sourceBytes)
        set(CURLOPT_CUSTOMREQUEST, method)
    }

    /// Sets the address check; `gate` must outlive the transfer.
    @unsafe mutating func set(gate: UnsafeMutablePointer<balloon_curl_gate>) {
        keep(unsafe balloon_curl_set_gate(easy, gate))
    }

    /// Sets the fields; `list` must outlive the transfer.
    @unsafe mutating func set(headers list: UnsafeMutablePointer<curl_slist>?) {
        keep(unsafe balloon_curl_set_list(easy, CURLOPT_HTTPHEADER, list))
    }

    /// Sets a callback and its context; `context` must outlive the transfer.
    @unsafe mutating func set(
        _ option: CURLoption, _ callback: curl_write_callback, _ contextOption: CURLoption,
        _ context: UnsafeMutableRawPointer
    ) {
        keep(unsafe balloon_curl_set_callback(easy, option, callback))
        keep(unsafe balloon_curl_set_pointer(easy, contextOption, context))
    }

    private mutating func keep(_ code: CURLcode) {
        if self.code == CURLE_OK { self.code = code }
    }
}
