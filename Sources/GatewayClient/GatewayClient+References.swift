import BalloonJSON
package import BalloonTransport
import BalloonWire
package import BusinessMessages
import Logging

/// Sends a reference instead of content that Apple already stores.
extension GatewayClient {
    /// Forgets the contents that Apple stores, so that no hash of them is kept.
    package func forgetUploads() { uploads.forgetAll() }

    /// The smallest content that is sent by reference: a reference itself has about 600 bytes, so smaller
    /// content gains little.
    static let minimumSharedBytes = 2 << 10
    /// Content larger than this is sent with a request for a reference the first time: Apple stores content of
    /// this size anyway.
    static let referenceThresholdBytes = 10 << 10
    /// The largest content that is sent inside a message; larger content is uploaded first.
    ///
    /// The largest message that Apple accepts is not known.
    static let maximumInlineBytes = 1 << 20

    /// Sends an interactive message by the reference that Apple returned earlier for the same content.
    ///
    /// When Apple refuses the reference, sends the content with the same message id.
    func send(
        _ content: SharedContent, _ body: [UInt8], id: MessageID, from business: BusinessID,
        to customer: CustomerID, options: SendOptions
    ) async throws(GatewayError) -> GatewayAcceptance {
        let key = KnownUploads.Key(content.interactiveData, of: business)
        guard let reference = uploads.value(for: key) else {
            return try await sendContent(content, key, body, id, business, customer, options)
        }
        do throws(GatewayError) {
            return try await post(
                .message, content.message(referringTo: reference), id, business, customer, options)
        } catch {
            guard error.mayBeAboutReference else { throw error }
            logger.info(
                "the gateway refused a reference to content that it stored earlier; sending the full content",
                metadata: ["business": "\(business.rawValue)", "error": "\(error)"])
            // After 401 or 403 the reference may still be valid, so it is kept for now.
            if !error.mayBeAboutCredential { uploads.forget(key) }
            let acceptance = try await sendContent(content, key, body, id, business, customer, options)
            if error.mayBeAboutCredential, acceptance.reference == nil { uploads.forget(key) }
            return acceptance
        }
    }

    private func sendContent(
        _ content: SharedContent, _ key: KnownUploads.Key, _ body: [UInt8], _ id: MessageID,
        _ business: BusinessID, _ customer: CustomerID, _ options: SendOptions
    ) async throws(GatewayError) -> GatewayAcceptance {
        if content.interactiveData.count > Self.maximumInlineBytes,
            let reference = try await uploaded(content, key, for: business)
        {
            return try await post(
                .message, content.message(referringTo: reference), id, business, customer, options)
        }
        var options = options
        let isLarge = content.interactiveData.count > Self.referenceThresholdBytes
        if isLarge || uploads.recordSeen(key) { options.wantsReference = true }
        let acceptance = try await post(.message, body, id, business, customer, options)
        if let reference = acceptance.reference { uploads.remember(reference.json, for: key) }
        return acceptance
    }

    /// Uploads the content; returns nil when Apple refuses the upload, so that the content is sent inline.
    private func uploaded(
        _ content: SharedContent, _ key: KnownUploads.Key, for business: BusinessID
    ) async throws(GatewayError) -> [UInt8]? {
        do throws(GatewayError) {
            let payload = try await makeReference(
                to: content.interactiveData, bid: content.bid, title: content.title, for: business)
            uploads.remember(payload.json, for: key)
            return payload.json
        } catch .refused(let call, let status, _) where status != 401 && status != 403 {
            logger.notice(
                "the gateway refused to store large content; sending it inline",
                metadata: ["business": "\(business.rawValue)", "call": "\(call)", "status": "\(status)"])
            return nil
        }
    }

    /// Uploads the file at `path`, whose content has the hash `sha256`, unless Apple stores it already; nil
    /// when the file cannot be read.
    package func upload(
        file path: String, named sha256: String, for business: BusinessID
    ) async throws(GatewayError) -> UploadedFile? {
        guard let content = try? ContentSource(file: path) else { return nil }
        return try await upload(content, named: sha256, for: business)
    }

    /// Uploads a file whose content has the hash `sha256`; returns the known upload when Apple stores it
    /// already.
    @concurrent package func upload(
        _ content: ContentSource, named sha256: String, for business: BusinessID
    ) async throws(GatewayError) -> UploadedFile {
        let key = KnownUploads.Key(("file " + sha256).utf8, of: business)
        if let known = uploads.value(for: key), let file = UploadedFile(known) { return file }
        let file = try await upload(content, for: business)
        uploads.remember(file.json, for: key)
        return file
    }
}

extension GatewayError {
    /// Whether Apple refused the message with a status that an unusable reference may cause; Apple has not
    /// delivered the message then.
    fileprivate var mayBeAboutReference: Bool {
        if case .refused(_, let status, _) = self {
            [400, 401, 403, 404, 410, 413, 422].contains(status)
        } else {
            false
        }
    }

    /// Whether Apple may have refused the credential without reading the message.
    fileprivate var mayBeAboutCredential: Bool {
        if case .refused(_, let status, _) = self { status == 401 || status == 403 } else { false }
    }
}

extension UploadedFile {
    /// Parses the output of ``json``; nil when a field is missing or malformed.
    fileprivate init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let sizeBytes = root["size"]?.int,
            let signature = root["signature-base64"]?.string, let url = root["url"]?.string,
            let owner = root["owner"]?.string, let field = root["key"]?.string,
            let key = try? AttachmentKey(field: field)
        else { return nil }
        self.init(
            sizeBytes: sizeBytes, signatureBase64: signature, url: url, owner: owner, key: key)
    }

    fileprivate var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("size", sizeBytes)
            writer.field("signature-base64", signatureBase64)
            writer.field("url", url)
            writer.field("owner", owner)
            writer.field("key", key.field)
        }
    }
}
