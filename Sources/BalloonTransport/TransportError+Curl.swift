internal import CCurl

extension TransportError {
    /// Maps a libcurl error code; the caller handles `CURLE_OK` and the codes about the response's size.
    init(_ code: CURLcode) {
        let number = Int32(bitPattern: code.rawValue)
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED: self = .requestInvalid
        case CURLE_UNSUPPORTED_PROTOCOL: self = .schemeRefused
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .hostUnresolved
        case CURLE_COULDNT_CONNECT, CURLE_PROXY: self = .connectionFailed
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: self = .certificateRefused
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
            self = .tlsFailed(code: number)
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE,
            CURLE_WEIRD_SERVER_REPLY,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            self = .interrupted(code: number)
        default: self = .failed(code: number)
        }
    }
}
