package import BalloonTransport
import BalloonWire
package import BusinessMessages
import Logging

/// Sends a reference instead of content that Apple already stores.
extension GatewayClient {
    /// Forgets which contents Apple stores, so that no hash of a content is kept.
    package func forgetUploads() { uploads.forgetAll() }

    /// The minimum size of content that is sent by reference: for smaller content a reference saves little.
    ///
    /// A reference has about 600 bytes.
    static let minimumSharedBytes = 2 << 10
    /// The size in bytes above which even the first message with a content asks Apple for a reference.
    ///
    /// Apple stores content of this size in any case.
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
            // After 401 or 403 the credential may be the reason and not the reference, so keep the reference
            // for now.
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

    /// Uploads the file at `path` unless Apple stores its content already; returns nil when the file is
    /// unreadable.
    ///
    /// `sha256` is the hash of the content.
    package func upload(
        file path: String, named sha256: String, for business: BusinessID
    ) async throws(GatewayError) -> UploadedFile? {
        guard let content = try? ContentSource(file: path) else { return nil }
        return try await upload(content, named: sha256, for: business)
    }

    /// Uploads content unless Apple stores it already; in this case returns the earlier upload.
    ///
    /// `sha256` is the hash of the content.
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
        JSONWriter.object([
            "size": sizeBytes, "signature-base64": signatureBase64, "url": url, "owner": owner,
            "key": key.field,
        ])
    }
}
