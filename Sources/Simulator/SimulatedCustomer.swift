import BalloonPOSIX
package import BalloonTransport
package import BalloonWire
package import BusinessMessages

/// A customer with a device, and Apple's side of the webhook: composes messages, signs, compresses and posts
/// them.
package struct SimulatedCustomer: Sendable {
    /// The sender.
    package let id: CustomerID
    /// The receiving business.
    package let business: BusinessID
    /// The capabilities of the device; by default, all that Apple defines.
    package var capabilities: Capabilities = [
        .quickReply, .listPicker, .timePicker, .authentication, .authentication2, .form,
    ]

    /// The language and region of the device; `en_US` when nil.
    package var locale: String?
    /// The purpose that the customer's link to the business named.
    package var intent: String?
    /// The department that the customer's link to the business named.
    package var group: String?

    private let server: String
    private let mspID: String
    private let signer: TokenSigner
    private let gateway: String?
    private let transport: any HTTPTransport

    /// Whether the business's replies can be read at the fake gateway.
    package var hasGateway: Bool { gateway != nil }

    /// Creates a customer.
    ///
    /// `server` is the URL that `/message` is appended to. `gateway` is the ``FakeGateway/origin`` of the
    /// fake gateway that stores large payloads and records the business's replies.
    package init(
        id: CustomerID, business: BusinessID, server: String, mspID: String, secret: Secret, gateway: String?,
        transport: any HTTPTransport
    ) {
        self.id = id
        self.business = business
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.mspID = mspID
        signer = TokenSigner(secret: secret)
        self.gateway = gateway
        self.transport = transport
    }

    /// Composes a message of `kind` with sample content; `text` is the content of a ``Kind/text``.
    package func message(_ kind: Kind, id: MessageID = .random(), text: String? = nil) -> [UInt8] {
        var sample = SampleMessage()
        if let text { sample.text = text }
        sample.hasSecondAuthentication = capabilities.contains(.authentication2)
        let json = JSONWriter.object([
            "id": id.rawValue, "v": 1, "sourceId": self.id.rawValue, "destinationId": business.rawValue,
            "locale": "en_US",
        ])
        let message = json.dropLast() + ", \(sample.members(of: kind))}".utf8
        // This does not fail, because the samples are valid JSON.
        return (try? attributed(Array(message))) ?? Array(message)
    }

    /// Completes a given message: fills in `id`, `sourceId` and `destinationId` where they are missing or
    /// empty.
    ///
    /// Throws ``SimulatorError/messageMalformed(_:)`` or ``SimulatorError/messageNotAnObject``.
    package func message(completing json: [UInt8]) throws(SimulatorError) -> [UInt8] {
        let message = try root(of: json)
        let wanted = [
            "id": MessageID.random().rawValue, "sourceId": id.rawValue, "destinationId": business.rawValue,
        ]
        let missing = wanted.filter { name, _ in message[name]?.string?.isEmpty ?? true }
        return try attributed(message.replacing(members: missing.mapValues(JSONWriter.quoted)))
    }

    /// The message with the customer's locale, intent and group.
    private func attributed(_ message: [UInt8]) throws(SimulatorError) -> [UInt8] {
        let given = ["locale": locale, "intent": intent, "group": group].compactMapValues(\.self)
        return given.isEmpty
            ? message : try root(of: message).replacing(members: given.mapValues(JSONWriter.quoted))
    }

    /// Signs and posts `message` like Apple, and returns the server's answer.
    ///
    /// Interactive data over 10 KB, or of any size when `isLarge`, is moved behind a reference first. Throws a
    /// ``SimulatorError``, or a ``TransportError`` when the server did not answer.
    package func post(_ message: [UInt8], isLarge: Bool = false) async throws -> TransportResponse {
        try await transport.send(try request(carrying: try await referring(message, always: isLarge)))
    }

    /// Sends a request that ``request(carrying:)`` created, possibly damaged since, and returns the server's
    /// answer.
    package func exchange(_ request: TransportRequest) async throws -> TransportResponse {
        try await transport.send(request)
    }

    /// The signed and compressed request that carries `message`, so that a test can damage it before sending.
    package func request(carrying message: [UInt8]) throws(SimulatorError) -> TransportRequest {
        let body = try root(of: message)
        let headers = [
            ("authorization", "Bearer " + token()), ("id", body["id"]?.string),
            ("source-id", body["sourceId"]?.string), ("destination-id", body["destinationId"]?.string),
            ("capability-list", capabilities.description), ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ]
        return TransportRequest(
            method: "POST", url: server + "/message",
            headers: headers.compactMap { name, value in value.map { (name: name, value: $0) } },
            body: GzipCompressor().compress(message), allowsPlainHTTP: true,
            // The server recognizes a repeated message by its id.
            mustHappenOnce: false)
    }

    /// A token as in Apple's requests; by default `aud` is the MSP and `iat` is now.
    package func token(issuedAt: Int = SystemClock.secondsSince1970(), audience: String? = nil) -> String {
        let json = JSONWriter.object(["aud": audience ?? mspID, "iat": issuedAt])
        return signer.sign(json)
    }

    /// Moves interactive data of more than 10 KB, or with `always` of any size, behind a reference.
    ///
    /// Returns any other message unchanged.
    package func referring(_ message: [UInt8], always: Bool = false) async throws -> [UInt8] {
        let body = try root(of: message)
        guard let interactiveData = body["interactiveData"], interactiveData.kind == .object else {
            return message
        }
        guard always || interactiveData.text.count > PayloadMove.thresholdBytes else { return message }
        let (stored, inline) = PayloadMove.split(interactiveData)
        return PayloadMove.replace(in: body, by: try await upload(stored), inline: inline)
    }

    /// Encrypts a file like a device, uploads it to the gateway, and returns the attachment, a JSON object.
    ///
    /// The file is read in pieces, so that 100 MB need little memory.
    package func attach(_ path: String, name: String, mimeType: String) async throws -> [UInt8] {
        guard let gateway else { throw SimulatorError.gatewayMissing }
        let file = try File(path, for: .readingGiven)
        let (sizeBytes, key) = (try file.sizeBytes(), AttachmentKey())
        let fields = [
            (name: "source-id", value: business.rawValue), (name: "MMCS-Size", value: "\(sizeBytes)"),
        ]
        let place = try await document(
            TransportRequest(
                method: "POST", url: "\(gateway)/_simulator/places", headers: fields, allowsPlainHTTP: true))
        var upload = TransportRequest(
            method: "POST", url: place["upload-url"]?.string ?? "", timeout: .seconds(600),
            allowsPlainHTTP: true)
        upload.source = ContentSource(sizeBytes: sizeBytes) {
            let cipher = try AES256CTR(key: key.secret)
            var position = 0
            return { maximumBytes in
                var piece = try file.read(at: position, count: maximumBytes)
                position += piece.count
                cipher.apply(to: &piece)
                return piece
            }
        }
        let checksum = try await document(upload)["singleFile"]?["fileChecksum"]?.string ?? ""
        return JSONWriter.object([
            "name": name, "mimeType": mimeType, "size": sizeBytes, "key": key.field.uppercased(),
            "signature": Base64.decode(checksum).map { Hex.encode($0).uppercased() },
            "signature-base64": checksum, "url": place["mmcs-url"]?.string,
            "owner": place["mmcs-owner"]?.string,
        ])
    }

    /// Adds attachments to a text: the body gets one U+FFFC for each.
    package func message(_ message: [UInt8], with attachments: [[UInt8]]) throws(SimulatorError) -> [UInt8] {
        if attachments.isEmpty { return message }
        let body = try root(of: message)
        let list = JSONWriter.value { attachments.map(JSONText.init).write(to: &$0) }
        let marks = String(repeating: "\u{FFFC}", count: attachments.count)
        return body.replacing(members: [
            "body": JSONWriter.quoted((body["body"]?.string ?? "") + marks), "attachments": list,
        ])
    }

    private func document(_ request: TransportRequest) async throws -> JSONValue {
        let answer = try await transport.send(request)
        guard answer.status == 200, let document = try? JSONDocument(answer.body) else {
            throw SimulatorError.gatewayRefused(status: answer.status)
        }
        return document.root
    }

    /// The messages of the business to this customer with numbers above `number`; waits at most 60 seconds
    /// for the first.
    package func replies(after number: Int = 0, within wait: Duration = .zero) async throws
        -> [DeliveredMessage]
    {
        let question = MessagesQuestion(customer: id, after: number, wait: wait)
        let answer = try await ask("messages?" + question.query, timeout: wait + .seconds(10))
        return answer["messages"]?.elements.compactMap(DeliveredMessage.init(_:)) ?? []
    }

    /// Uploads a payload to the gateway and returns the reference to it.
    private func upload(_ interactiveData: [UInt8]) async throws -> [UInt8] {
        let json = JSONWriter.object([
            "business": business.rawValue, "interactiveData": JSONText(interactiveData),
        ])
        return Array(try await ask("payloads", body: json, timeout: .seconds(30)).text)
    }

    /// Calls a route of the simulator that Apple does not have.
    private func ask(_ path: String, body: [UInt8]? = nil, timeout: Duration) async throws -> JSONValue {
        guard let gateway else { throw SimulatorError.gatewayMissing }
        // `document` throws on an answer that is not JSON, because it did not come from the simulator.
        return try await document(
            TransportRequest(
                method: body == nil ? "GET" : "POST", url: "\(gateway)/_simulator/\(path)", body: body ?? [],
                timeout: timeout, maximumResponseBytes: 64 << 20, allowsPlainHTTP: true))
    }

    private func root(of message: [UInt8]) throws(SimulatorError) -> JSONValue {
        let document: JSONDocument
        do { document = try JSONDocument(message) } catch { throw .messageMalformed(error) }
        guard document.root.kind == .object else { throw .messageNotAnObject }
        return document.root
    }
}
