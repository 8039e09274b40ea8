import BalloonTransport
package import BusinessMessages

extension GatewayClient {
    /// Downloads an attachment of a message, decrypts it in pieces, and stores it in the files of `hold`.
    ///
    /// The file is written under a temporary name. When its length matches the message, it is synced and
    /// renamed; after a failure it is removed. The name and media type in the message are claims of the device
    /// and are not used. Apple MSP API, "Receiving Messages with Attachments".
    @concurrent package func download(
        _ reference: StoredReference, for business: BusinessID, into hold: ContentHold,
        within duration: Duration? = nil
    ) async throws(GatewayError) -> DownloadedFile {
        let deadline = duration.map { ContinuousClock.now + $0 }
        let maximumBytes = configuration.maximumAttachmentBytes
        if let size = reference.sizeBytes, size > maximumBytes {
            throw .payloadTooLarge(maximumBytes: maximumBytes)
        }
        let address = try await downloadAddress(of: reference, for: business, until: deadline)
        let incoming: IncomingFile
        do { incoming = try IncomingFile(hold, key: reference.key) } catch {
            throw .notKept(error)
        }
        var request = fileRequest("GET", address)
        request.maximumResponseBytes = reference.sizeBytes ?? maximumBytes
        request.sink = incoming.sink
        do throws(GatewayError) {
            _ = try await perform(.download, request, until: deadline)
            return try await incoming.finish(reference)
        } catch {
            incoming.discard()
            if case .unreachable(_, .contentFailed, _) = error, let failure = incoming.failure {
                throw .notKept(failure)
            }
            // A file longer than the message states is not the announced file. When the message states no
            // length, the file exceeds the limit.
            guard case .unreachable(_, .responseTooLarge, _) = error, let size = reference.sizeBytes else {
                throw error.isTooLarge ? .payloadTooLarge(maximumBytes: maximumBytes) : error
            }
            throw .lengthMismatch(expectedBytes: size, actualBytes: size + 1)
        }
    }

    /// Makes a request to a file host instead of the gateway.
    ///
    /// The request carries no token. It may last ``GatewayConfiguration/transferTimeout``, but fails when no
    /// byte moves for ``GatewayConfiguration/requestTimeout``.
    func fileRequest(_ method: String, _ address: DownloadAddress) -> TransportRequest {
        var request = TransportRequest(
            method: method, url: address.url, timeout: configuration.transferTimeout,
            connectTimeout: configuration.connectTimeout, allowsPlainHTTP: address.isPlainHTTP,
            needsPublicAddress: !address.isLiteral,
            // A second upload of the same bytes to the same address changes nothing.
            mustHappenOnce: false)
        request.stallTimeout = configuration.requestTimeout
        return request
    }
}

extension GatewayError {
    fileprivate var isTooLarge: Bool {
        if case .unreachable(_, .responseTooLarge, _) = self { true } else { false }
    }
}
