import BalloonPOSIX
import BalloonTransport
package import BusinessMessages

extension GatewayClient {
    /// Fetches a file that came with a message, decrypts it piece by piece, and keeps it in `files`.
    ///
    /// It is written under a temporary name, synced and renamed when its length is what the message said; a failure
    /// leaves nothing behind. Its name and media type are the device's claims and have no part in it.
    /// Apple MSP API, "Receiving Messages with Attachments".
    @concurrent package func download(
        _ reference: StoredReference, for business: BusinessID, into files: AttachmentFiles,
        within duration: Duration? = nil
    ) async throws(GatewayError) -> DownloadedFile {
        let deadline = duration.map { Deadline(in: $0) }
        let maximumBytes = configuration.maximumAttachmentBytes
        if let size = reference.sizeBytes, size > maximumBytes {
            throw .payloadTooLarge(maximumBytes: maximumBytes)
        }
        let address = try await downloadAddress(of: reference, for: business, until: deadline)
        let incoming: IncomingFile
        do { incoming = try IncomingFile(files: files, key: reference.key) } catch {
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
            // More than the message said is not what it speaks of; more than the limit is too large.
            guard case .unreachable(_, .responseTooLarge, _) = error, let size = reference.sizeBytes else {
                throw error.isTooLarge ? .payloadTooLarge(maximumBytes: maximumBytes) : error
            }
            throw .lengthMismatch(expectedBytes: size, actualBytes: size + 1)
        }
    }

    /// A request for what lies beside the gateway, without our token, and as long as it moves.
    func fileRequest(_ method: String, _ address: DownloadAddress) -> TransportRequest {
        var request = TransportRequest(
            method: method, url: address.url, timeout: configuration.transferTimeout,
            connectTimeout: configuration.connectTimeout, allowsPlainHTTP: address.isPlainHTTP,
            needsPublicAddress: !address.isLiteral)
        request.stallTimeout = configuration.requestTimeout
        return request
    }
}

extension GatewayError {
    fileprivate var isTooLarge: Bool {
        if case .unreachable(_, .responseTooLarge, _) = self { true } else { false }
    }
}
