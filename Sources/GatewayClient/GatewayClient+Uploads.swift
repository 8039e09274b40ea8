package import BalloonTransport
import BalloonWire
package import BusinessMessages

extension GatewayClient {
    /// Encrypts `content` with a fresh key during the upload, and returns the uploaded file.
    ///
    /// `preUpload` returns the upload address, which the download policy must allow. When Apple's answer states
    /// a length, it must equal the length that was sent. Throws ``GatewayError/payloadTooLarge(maximumBytes:)``
    /// before anything is sent. Apple MSP API, "Sending Messages with Attachments".
    @concurrent package func upload(
        _ content: ContentSource, for business: BusinessID
    ) async throws(GatewayError) -> UploadedFile {
        guard content.sizeBytes <= configuration.maximumAttachmentBytes else {
            throw .payloadTooLarge(maximumBytes: configuration.maximumAttachmentBytes)
        }
        let key = AttachmentKey()
        let place = try await place(forBytes: content.sizeBytes, of: business)
        var request = fileRequest("POST", place.address)
        request.source = content.encrypted(with: key)
        let answer = try await attempt(.upload, request).body
        guard let file = (try? JSONDocument(answer))?.root["singleFile"],
            let checksum = file["fileChecksum"]?.string, !checksum.isEmpty
        else { throw .answerMalformed(.upload) }
        if let size = file["size"]?.int, size != content.sizeBytes {
            throw .lengthMismatch(expectedBytes: content.sizeBytes, actualBytes: size)
        }
        return UploadedFile(
            sizeBytes: content.sizeBytes, signatureBase64: checksum, url: place.url, owner: place.owner,
            key: key)
    }

    /// Stores interactive data, one JSON object, at Apple, and returns a reference that may be sent for 30
    /// days.
    ///
    /// `encodePayload` converts the object to Apple's binary format, and the result is uploaded like an
    /// attachment.
    @concurrent package func makeReference(
        to interactiveData: [UInt8], bid: String, title: String?, for business: BusinessID
    ) async throws(GatewayError) -> UploadedPayload {
        let payload = try await encodePayload(interactiveData, for: business)
        let content = ContentSource(bytes: payload)
        return try await upload(content, for: business).payload(bid: bid, title: title)
    }

    /// Converts interactive data, one JSON object, to the binary format of referenced payloads.
    package func encodePayload(
        _ interactiveData: [UInt8], for business: BusinessID
    ) async throws(GatewayError) -> [UInt8] {
        let body = JSONWriter.object([
            "v": 1, "type": "interactive", "interactiveData": JSONText(interactiveData),
        ])
        let fields = [("source-id", business.rawValue), ("content-type", "application/json")]
        let request = request(
            "POST", .encodePayload, fields, body: body,
            maximumResponseBytes: configuration.maximumPayloadBytes)
        let payload = try await attempt(.encodePayload, request).body
        guard !payload.isEmpty else { throw .answerMalformed(.encodePayload) }
        return payload
    }

    /// Asks Apple for the preview of a link to an App Clip, a song or a place.
    ///
    /// Apple refuses other links with 400. `storeRegion` is a two-letter country code. Apple MSP API,
    /// "Construct Payload".
    package func constructPayload(
        link: String, storeRegion: String, for business: BusinessID
    ) async throws(GatewayError) -> UploadedPayload {
        let body = JSONWriter.object([
            "type": "link", "link": JSONObject(["url": link, "storeRegion": storeRegion]),
            "version": JSONText("1.0".utf8),
        ])
        let fields = [
            ("id", MessageID.random().rawValue), ("source-id", business.rawValue),
            ("content-type", "application/json"),
        ]
        let request = request("POST", .constructPayload, fields, body: body)
        let answer = try await attempt(.constructPayload, request).body
        guard let reference = (try? JSONDocument(answer))?.root["richLinkDataRef"],
            let payload = UploadedPayload(reference)
        else { throw .answerMalformed(.constructPayload) }
        return payload
    }

    private func place(
        forBytes sizeBytes: Int, of business: BusinessID
    ) async throws(GatewayError) -> (address: DownloadAddress, url: String, owner: String) {
        let source = [("source-id", business.rawValue)]
        let answer = try await ask(
            .preUpload, fields: source + [("MMCS-Size", "\(sizeBytes)")],
            olderFields: source + [("size", "\(sizeBytes)")]
        ) { request async throws(GatewayError) in try await attempt(.preUpload, request) }
        guard let root = (try? JSONDocument(answer))?.root, let upload = root["upload-url"]?.string,
            let url = root["mmcs-url"]?.string, let owner = root["mmcs-owner"]?.string
        else { throw .answerMalformed(.preUpload) }
        do { return (try downloadPolicy.check(upload), url, owner) } catch { throw .refusing(upload, error) }
    }
}

extension ContentSource {
    /// Creates content from bytes in memory.
    package init(bytes: [UInt8]) {
        self.init(sizeBytes: bytes.count) {
            var position = 0
            return { maximumBytes in
                let end = min(position + maximumBytes, bytes.count)
                defer { position = end }
                return Array(bytes[position..<end])
            }
        }
    }

    /// Returns the same content, encrypted in the form that Apple stores.
    func encrypted(with key: AttachmentKey) -> ContentSource {
        ContentSource(sizeBytes: sizeBytes) {
            let reader = try open()
            let cipher = try AES256CTR(key: key.secret)
            return { maximumBytes in
                var piece = try reader(maximumBytes)
                cipher.apply(to: &piece)
                return piece
            }
        }
    }
}
