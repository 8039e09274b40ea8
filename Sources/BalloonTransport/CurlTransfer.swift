internal import BalloonPOSIX
internal import CCurl

/// One request in flight: libcurl's easy handle and all memory that libcurl uses during the transfer.
@safe final class CurlTransfer {
    typealias Continuation = CheckedContinuation<Result<TransportResponse, TransportError>, Never>

    /// The easy handle, which this object frees; the multi handle must remove it first.
    let easy: UnsafeMutableRawPointer
    let ticket: TransferTicket
    private let headers: CurlHeaders
    private var collector: ResponseCollector
    private let gate: AddressGate?
    private var content: StreamedContent
    private let continuation: Continuation

    /// Prepares `request`; throws a `TransportError` when the request cannot be sent.
    ///
    /// After an error, `continuation` is not resumed yet.
    init(
        _ request: TransportRequest, ticket: TransferTicket, continuation: Continuation
    ) throws(TransportError) {
        // libcurl would truncate the string at a NUL.
        guard isToken(request.method), isFieldValue(request.url) else { throw .requestInvalid }
        headers = try CurlHeaders(request)
        guard let easy = unsafe balloon_curl_easy_init() else { throw TransportError(CURLE_OUT_OF_MEMORY) }
        unsafe self.easy = easy
        self.ticket = ticket
        self.continuation = continuation
        collector = ResponseCollector(maximumBytes: request.maximumResponseBytes)
        gate = request.needsPublicAddress && !hasSecureProxy ? AddressGate() : nil
        content = StreamedContent(request)
        try setOptions(request)
    }

    deinit { unsafe balloon_curl_easy_cleanup(easy) }

    /// Resumes the caller with the result of the transfer; called at most once, and never after ``cancel()``.
    func finish(_ code: CURLcode) {
        continuation.resume(returning: outcome(code))
    }

    /// Resumes the caller with `TransportError.cancelled`; called at most once, and never after
    /// ``finish(_:)``.
    func cancel() { continuation.resume(returning: .failure(.cancelled)) }

    private func outcome(_ code: CURLcode) -> Result<TransportResponse, TransportError> {
        if content.hasFailed { return .failure(.contentFailed) }
        if let gate, gate.hasRefusedAll { return .failure(.addressRefused) }
        switch code {
        // libcurl reports success even if the connection closed before the end of the header.
        case CURLE_OK where !collector.isHeadComplete:
            return .failure(TransportError(CURLE_WEIRD_SERVER_REPLY))
        case CURLE_OK: return .success(collector.response(status: number(CURLINFO_RESPONSE_CODE)))
        // CURLE_WRITE_ERROR is libcurl's code when a callback refuses content.
        case CURLE_FILESIZE_EXCEEDED, CURLE_WRITE_ERROR:
            return .failure(.responseTooLarge(maximumBytes: collector.maximumBytes))
        // libcurl uses this code for a scheme that it refused before sending, and also for an HTTP/0.9
        // answer. In the second case a request was sent.
        case CURLE_UNSUPPORTED_PROTOCOL where number(CURLINFO_REQUEST_SIZE) > 0:
            return .failure(TransportError(CURLE_WEIRD_SERVER_REPLY))
        default: return .failure(TransportError(code))
        }
    }

    private func number(_ info: CURLINFO) -> Int {
        var number = 0
        unsafe balloon_curl_get_number(easy, info, &number)
        return number
    }

    private func setOptions(_ request: TransportRequest) throws(TransportError) {
        var options = unsafe CurlOptions(easy)
        options.set(CURLOPT_URL, request.url)
        options.set(CURLOPT_PROTOCOLS_STR, request.allowsPlainHTTP ? "https,http" : "https")
        // Plain HTTP is for addresses of this machine, which a proxy cannot reach.
        if request.url.lowercased().hasPrefix("http:") { options.set(CURLOPT_PROXY, "") }
        // When a proxy is used, the proxy alone decides which addresses it reaches. Ignore `no_proxy`: a host
        // in that list would be reached directly, and without an address check.
        if request.needsPublicAddress, hasSecureProxy { options.set(CURLOPT_NOPROXY, "") }
        if let gate { unsafe options.set(gate: gate.pointer) }
        if let certificate = request.clientCertificate {
            options.set(CURLOPT_SSLCERT, certificate.certificateFile)
            options.set(CURLOPT_SSLKEY, certificate.keyFile)
        }
        if let file = request.authoritiesFile {
            options.set(CURLOPT_CAINFO, file)
            // Clear the folder of the system's certificate authorities, because `file` replaces all of them.
            options.clear(CURLOPT_CAPATH)
        }
        if let path = request.unixSocket { options.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        // On a new connection, libcurl never repeats a request by itself. Close the connection afterwards, so
        // that such requests do not push the others' connections out of libcurl's cache.
        if request.mustHappenOnce {
            options.set(CURLOPT_FRESH_CONNECT, 1)
            options.set(CURLOPT_FORBID_REUSE, 1)
        }
        options.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        options.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // Without this option libcurl uses SIGALRM for name lookups.
        options.set(CURLOPT_NOSIGNAL, 1)
        // Without this option, ending a transfer would wait for its name lookup and block all other
        // transfers.
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        options.set(CURLOPT_TIMEOUT_MS, milliseconds(request.timeout))
        options.set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connectTimeout))
        // libcurl refuses a larger Content-Length at once. Without Content-Length, the collector counts the
        // received bytes. Use at least 1, because 0 would mean no limit.
        options.set(CURLOPT_MAXFILESIZE_LARGE, size: max(request.maximumResponseBytes, 1))
        if let time = request.stallTimeout {
            options.set(CURLOPT_LOW_SPEED_LIMIT, 1)
            options.set(CURLOPT_LOW_SPEED_TIME, max(milliseconds(time) / 1000, 1))
        }
        // The list and this object outlive the easy handle, because `deinit` frees the handle.
        unsafe options.set(headers: headers.list)
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe options.set(CURLOPT_HEADERFUNCTION, headerCallback, CURLOPT_HEADERDATA, context)
        unsafe options.set(CURLOPT_WRITEFUNCTION, bodyCallback, CURLOPT_WRITEDATA, context)
        if let source = request.source {
            options.set(method: request.method, sourceBytes: source.sizeBytes)
            unsafe options.set(CURLOPT_READFUNCTION, sourceCallback, CURLOPT_READDATA, context)
        } else {
            options.set(method: request.method, body: request.body)
        }
        guard options.code == CURLE_OK else { throw TransportError(options.code) }
    }

    fileprivate func receiveHeaderLine(_ line: Span<UInt8>) { collector.receiveHeaderLine(line) }

    fileprivate func receiveBody(_ part: Span<UInt8>) -> Bool {
        guard content.hasSink, (200..<300).contains(number(CURLINFO_RESPONSE_CODE)) else {
            return collector.receiveBody(part)
        }
        return collector.count(part) && content.receive(part)
    }

    /// Returns the next piece to send, empty at the end of the content.
    ///
    /// Returns nil when the content could not be read, so that the transfer must end.
    fileprivate func nextContent(maximumBytes: Int) -> [UInt8]? { content.next(maximumBytes: maximumBytes) }
}

/// A CURLOPT_READFUNCTION; returns the number of bytes that it wrote, 0 at the end.
private func sourceCallback(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer = unsafe buffer, let context = unsafe context else { return Int(CURL_READFUNC_ABORT) }
    // libcurl passes the transfer that set the callback, and room for `size * count` bytes.
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    guard let bytes = transfer.nextContent(maximumBytes: size * count), bytes.count <= size * count else {
        return Int(CURL_READFUNC_ABORT)
    }
    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: bytes, byteCount: bytes.count)
    return bytes.count
}

/// A CURLOPT_HEADERFUNCTION; returns the number of consumed bytes, which is always all of them.
private func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe withTransfer(bytes, size * count, context) { transfer, line in
        transfer.receiveHeaderLine(line)
        return true
    }
}

/// A CURLOPT_WRITEFUNCTION; returns the number of consumed bytes; 0 ends the transfer.
private func bodyCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe withTransfer(bytes, size * count, context) { transfer, part in transfer.receiveBody(part) }
}

private func withTransfer(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
    _ body: (CurlTransfer, Span<UInt8>) -> Bool
) -> Int {
    guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
    // libcurl passes the transfer that set the callback, and `count` bytes that are valid during the call.
    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
        body(transfer, unsafe Span(_unsafeStart: bytes, count: count)) ? count : 0
    }
}

/// Returns a time limit in milliseconds, at least 1, because 0 would mean no limit.
private func milliseconds(_ duration: Duration) -> Int {
    min(max(duration.wholeMilliseconds, 1), Int(Int32.max))
}
