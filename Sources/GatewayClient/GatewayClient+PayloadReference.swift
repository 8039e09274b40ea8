import BalloonTransport
import BalloonWire
package import BusinessMessages
import Logging

extension GatewayClient {
    /// Downloads the payload behind a reference and returns the answer of `decodePayload`, one JSON object.
    ///
    /// First, `preDownload` returns an address, which the download policy must allow. The encrypted payload is
    /// downloaded from that address without our token, and must have the length that the reference states. The
    /// payload is then decrypted, and `decodePayload` converts it from Apple's binary format to JSON. Call this
    /// at once: a reference expires within seconds. Apple MSP API, "Decoding Interactive Data Payloads".
    @concurrent package func resolve(
        _ reference: PayloadReference, for business: BusinessID, within duration: Duration
    ) async throws(GatewayError) -> [UInt8] {
        let deadline = ContinuousClock.now + duration
        let stored = try StoredReference(reference)
        if let size = stored.sizeBytes, size > configuration.maximumDownloadBytes {
            throw .payloadTooLarge(maximumBytes: configuration.maximumDownloadBytes)
        }
        let address = try await downloadAddress(of: stored, for: business, until: deadline)
        var payload = try await download(address, until: deadline)
        if let expected = stored.sizeBytes, expected != payload.count {
            throw .lengthMismatch(expectedBytes: expected, actualBytes: payload.count)
        }
        do {
            let cipher = try AES256CTR(key: stored.key.secret)
            cipher.apply(to: &payload)
        } catch {
            throw .referenceMalformed(field: "key")
        }
        return try await decode(payload, bid: reference.bid, for: business, until: deadline)
    }

    /// Asks the gateway for the download address of a file; throws when the download policy refuses that
    /// address.
    func downloadAddress(
        of reference: StoredReference, for business: BusinessID, until deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> DownloadAddress {
        let source = [("source-id", business.rawValue)]
        let answer = try await ask(
            .preDownload,
            fields: source + [
                ("MMCS-Url", reference.url), ("MMCS-Signature", reference.signature),
                ("MMCS-Owner", reference.owner),
            ],
            olderFields: source + [
                ("url", reference.url), ("signature", reference.signature), ("owner", reference.owner),
            ]
        ) { request async throws(GatewayError) in
            try await perform(.preDownload, request, until: deadline)
        }
        // A malformed answer is treated like an answer without the address.
        guard let document = try? JSONDocument(answer), let url = document.root["download-url"]?.string else {
            throw .answerMalformed(.preDownload)
        }
        do { return try downloadPolicy.check(url) } catch { throw .refusing(url, error) }
    }

    private func download(
        _ address: DownloadAddress, until deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> [UInt8] {
        let maximumBytes = configuration.maximumDownloadBytes
        let request = TransportRequest(
            url: address.url, timeout: configuration.requestTimeout,
            connectTimeout: configuration.connectTimeout,
            maximumResponseBytes: maximumBytes, allowsPlainHTTP: address.isPlainHTTP,
            needsPublicAddress: !address.isLiteral)
        do {
            return try await perform(.download, request, until: deadline).body
        } catch .unreachable(_, .responseTooLarge, _) {
            throw .payloadTooLarge(maximumBytes: maximumBytes)
        }
    }

    private func decode(
        _ payload: [UInt8], bid: String, for business: BusinessID, until deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> [UInt8] {
        do {
            return try await decodeOnce(payload, bid: bid, for: business, until: deadline)
        } catch  where error.mayBeAboutCompression {
            // Apple's sample posts the decrypted bytes unchanged, but another MSP had to inflate them first.
            let inflated = Gzip.hasMagic(payload) ? inflate(payload) : nil
            do throws(GatewayError) {
                guard let inflated else { throw error }
                return try await decodeOnce(inflated, bid: bid, for: business, until: deadline)
            } catch {
                // The reference cannot be used a second time, so decode the payload here rather than lose it.
                guard error.mayBeAboutCompression, let json = readOffline(inflated ?? payload, bid: bid)
                else {
                    throw error
                }
                logger.notice(
                    "the gateway refused decodePayload; the payload was decoded locally",
                    metadata: ["business": "\(business.rawValue)", "error": "\(error)"])
                return json
            }
        }
    }

    private func decodeOnce(
        _ payload: [UInt8], bid: String, for business: BusinessID, until deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> [UInt8] {
        let fields = [
            ("source-id", business.rawValue), ("bid", bid), ("accept", "*/*"), ("accept-encoding", "gzip"),
            ("content-type", "application/octet-stream"),
        ]
        let request = request(
            "POST", .decodePayload, fields, body: payload,
            maximumResponseBytes: configuration.maximumPayloadBytes)
        var json = try await perform(.decodePayload, request, until: deadline).body
        if Gzip.hasMagic(json) {
            guard let inflated = inflate(json) else { throw .answerMalformed(.decodePayload) }
            json = inflated
        }
        guard let document = try? JSONDocument(json), document.root.kind == .object else {
            throw .answerMalformed(.decodePayload)
        }
        return json
    }

    /// Returns the inflated bytes; nil when `bytes` is not valid gzip, or too large when inflated.
    private func inflate(_ bytes: [UInt8]) -> [UInt8]? {
        var inflated: [UInt8] = []
        do {
            try GzipDecompressor().decompress(
                bytes, into: &inflated, maximumBytes: configuration.maximumPayloadBytes, maximumRatio: 1000)
            return inflated
        } catch { return nil }
    }
}

extension GatewayError {
    /// Whether `decodePayload` answered but did not decode the payload, possibly because the payload was still
    /// compressed.
    fileprivate var mayBeAboutCompression: Bool {
        switch self {
        case .refused, .unavailable, .answerMalformed: true
        default: false
        }
    }
}
