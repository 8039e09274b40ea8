import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages

/// The fake gateway's answer to each request.
struct GatewayEndpoints: Sendable {
    let gateway: FakeGateway
    let jobs: AsyncStream<GatewayJob>.Continuation

    private static let maximumMessageBytes = 5 << 20
    private static let maximumPayloadBytes = 32 << 20
    private static let maximumFileBytes = Attachment.maximumBytes

    var routes: [HTTPRoute] {
        [
            route(.post, "/v1/message", .message, Self.maximumMessageBytes) {
                message($0, isAuthentication: false)
            },
            route(.post, "/v1/authenticate", .authenticate, Self.maximumMessageBytes) {
                message($0, isAuthentication: true)
            },
            route(.get, "/v1/preUpload", .preUpload, 0, preUpload),
            route(.post, "/v1/encodePayload", .encodePayload, Self.maximumPayloadBytes, encodePayload),
            route(.post, "/v1/constructPayload", .constructPayload, 65_536, constructPayload),
            route(.get, "/v1/preDownload", .preDownload, 0, preDownload),
            route(.post, "/v1/decodePayload", .decodePayload, Self.maximumPayloadBytes, decodePayload),
            HTTPRoute(
                .post, "/upload/*", body: .pulled(maximumBytes: Self.maximumFileBytes), handler: upload
            ).forLocalCallers,
            // The address alone authorizes the download: its random name is too long to be guessed.
            HTTPRoute(.get, "/blob/*") { request, responder in
                let misbehaviour = gateway.begin(.blob)
                if let wrong = misbehaviour?.answer { return wrong }
                return blob(request).send(to: responder, misbehaviour, jobs)
            }.forLocalCallers,
        ] + simulatorRoutes.map(\.forLocalCallers)
    }

    /// The routes under `/_simulator`, which Apple's gateway does not have.
    private var simulatorRoutes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/_simulator/messages") { request, responder in
                answerLater(responder, question: MessagesQuestion(query: request.query))
                return nil
            },
            HTTPRoute(
                .post, "/_simulator/payloads", body: .collected(maximumBytes: Self.maximumPayloadBytes)
            ) { request, _ in keepPayload(request) },
            HTTPRoute(.post, "/_simulator/places") { request, _ in preUpload(request) },
            HTTPRoute(.post, "/_simulator/misbehaviour", body: .collected(maximumBytes: 4096)) { request, _ in
                misbehave(String(decoding: request.body, as: UTF8.self))
            },
        ]
    }

    /// A route that counts requests, applies misbehaviour rules, and requires a token.
    private func route(
        _ method: HTTPMethod, _ path: String, _ endpoint: GatewayEndpoint, _ maximumBytes: Int,
        _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) -> HTTPRoute {
        HTTPRoute(method, path, body: .collected(maximumBytes: maximumBytes)) { _ in
            let bearer = BearerCheck(mspID: gateway.mspID, secret: gateway.secret)
            return HTTPRoute.Handlers { request, responder in
                let (at, began) = (Timestamp.now(), ContinuousClock.now)
                let misbehaviour = gateway.begin(endpoint)
                let record = { @Sendable (response: HTTPResponse?) in
                    guard endpoint == .message || endpoint == .authenticate, let id = request.text("id")
                    else { return }
                    gateway.add(
                        GatewayExchange(MessageID(id), request, at: at, response, after: .now - began))
                }
                if let wrong = misbehaviour?.answer {
                    record(wrong)
                    return wrong
                }
                let response =
                    bearer.refusal(of: request) ?? unknownSource(of: request, at: endpoint) ?? answer(request)
                return GatewayAnswer.whole(response).send(to: responder, misbehaviour, jobs) {
                    record(misbehaviour.hidesAnswer ? nil : response)
                }
            }
        }
    }

    /// Adds one rule for each line; an empty body removes all rules.
    private func misbehave(_ text: String) -> HTTPResponse {
        let lines = text.split(whereSeparator: \.isWhitespace)
        let rules = lines.compactMap { MisbehaviourRule(String($0)) }
        guard rules.count == lines.count else { return badRequest("no rule") }
        if rules.isEmpty { gateway.behave() }
        for rule in rules { gateway.misbehave(rule) }
        return HTTPResponse(.ok)
    }

    /// The answer to a `source-id` that is not a business of this MSP; nil for a known business.
    private func unknownSource(of request: HTTPRequest, at endpoint: GatewayEndpoint) -> HTTPResponse? {
        guard let source = request.text("source-id"), !gateway.serves(BusinessID(source)) else { return nil }
        // A client of another maker measured 403 at this endpoint of Apple's.
        if endpoint == .decodePayload { return Self.foreign }
        return HTTPResponse(.notFound, text: "404 Not Found : unknown source-id\n")
    }

    private static let foreign = HTTPResponse(.forbidden, text: "403 Forbidden : file of another business\n")

    /// Accepts a message; with `isAuthentication` only an authentication request.
    private func message(_ request: HTTPRequest, isAuthentication: Bool) -> HTTPResponse {
        guard let document = try? JSONDocument(Array(request.body)), document.root.kind == .object else {
            return badRequest("body is not a JSON object")
        }
        let body = document.root
        guard let id = request.text("id"), let source = request.text("source-id"),
            let destination = request.text("destination-id")
        else { return badRequest("missing header") }
        guard body["id"]?.string == id, body["sourceId"]?.string == source,
            body["destinationId"]?.string == destination
        else { return badRequest("header and body differ") }
        guard body["type"]?.string != nil else { return badRequest("missing type") }
        // Invitations, and no other messages, are addressed to a telephone number.
        guard destination.hasPrefix("tel:") == (request.text("message-type") == "notification") else {
            return badRequest("message-type and destination do not match")
        }
        if let refusal = refusal(of: document) { return refusal }
        let asks =
            body["interactiveData"]?["data"]?["authenticate"] != nil || body["interactiveDataRef"] != nil
        if isAuthentication, !asks { return badRequest("not an authentication request") }
        // Apple knows no `preview`: an MSP replaces it by the answer of /constructPayload.
        if body["preview"] != nil { return badRequest("richLinkData or richLinkDataRef is missing") }
        gateway.deliver(
            MessageID(id), to: CustomerID(destination), from: BusinessID(source), document,
            isAutomatic: request.text("auto-reply") == "true")
        // Apple stores large content in any case, and then returns its reference without being asked.
        guard let data = body["interactiveData"],
            request.text("include-data-ref") == "true" || data.text.count > PayloadMove.thresholdBytes
        else { return HTTPResponse(.ok) }
        guard let reference = try? gateway.register(interactiveData: data, for: BusinessID(source)) else {
            return HTTPResponse(.internalServerError)
        }
        return HTTPResponse(.ok, json: reference.answerToMessage)
    }

    /// The answer to a message that Apple refuses; nil for one that it accepts.
    private func refusal(of document: JSONDocument) -> HTTPResponse? {
        let problems = OutboundMessage.problems(in: OutboundMessage.quotingSizes(in: document).root)
        let broken = problems.first { problem in
            problem.severity == .error && !Self.toleratedRules.contains(problem.rule)
                && !Self.isLocalAddress(problem)
        }
        guard let broken else { return nil }
        // The text about 'data' was observed at Apple. Of Apple's other refusals only the format is known, so
        // here the text names the broken rule.
        return badRequest(
            broken.rule == .appData
                ? "Third party interactive data disallows use of 'data'"
                : "\(broken.rule) at \(broken.pointer.isEmpty ? "/" : broken.pointer)")
    }

    /// Rules that the simulator does not enforce: Apple's own samples break the first, and it is not known whether
    /// Apple enforces the second.
    private static let toleratedRules: Set<MessageRule> = [.dataVersion, .messageIdentifier]

    /// Whether the problem is the plain `http` address of a development server on this machine.
    private static func isLocalAddress(_ problem: MessageProblem) -> Bool {
        let isEndpoint = problem.rule == .webAddress && problem.pointer.contains("/payment/endpoints/")
        return (problem.rule == .redirectAddress || isEndpoint)
            && ["127.0.0.1", "[::1]", "localhost"].contains { problem.found.hasPrefix("\"http://\($0):") }
    }

    private func preUpload(_ request: HTTPRequest) -> HTTPResponse {
        // `size` is the older name of the header.
        guard let size = (request.text("MMCS-Size") ?? request.text("size")).flatMap({ Int($0) }),
            let business = request.text("source-id"), let origin = gateway.origin
        else { return badRequest("missing header") }
        guard (0...Self.maximumFileBytes).contains(size) else { return badRequest("size") }
        let place = UploadPlace(business: BusinessID(business), sizeBytes: size)
        gateway.expect(place)
        let json = JSONWriter.object([
            "upload-url": "\(origin)/upload/\(place.name)", "mmcs-url": place.url, "mmcs-owner": place.owner,
        ])
        return HTTPResponse(.ok, json: json)
    }

    /// Receives a file in pieces, and answers when it is complete.
    private func upload(_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse? {
        let misbehaviour = gateway.begin(.upload)
        let name = String(decoding: request.path.dropFirst("/upload/".utf8.count), as: UTF8.self)
        guard let reader = request.bodyReader else { return HTTPResponse(.internalServerError) }
        jobs.yield {
            var content = StoredContentWriter()
            do {
                while let piece = try await reader.next() { try content.append(piece) }
            } catch {
                // The client disconnected, or the disk is full: drop the connection without an answer.
                return responder.abort()
            }
            let (stored, checksum) = content.finish()
            if let wrong = misbehaviour?.answer { return responder.respond(wrong) }
            let answer = uploaded(stored, checksum, name: name)
            if let due = GatewayAnswer.whole(answer).send(to: responder, misbehaviour, jobs) {
                responder.respond(due)
            }
        }
        return nil
    }

    private func uploaded(_ content: StoredContent, _ checksum: [UInt8], name: String) -> HTTPResponse {
        guard let place = gateway.place(named: name) else { return HTTPResponse(.notFound) }
        guard content.sizeBytes == place.sizeBytes else {
            return badRequest("size differs from the announced one")
        }
        let file = StoredPayload(uploaded: content, checksum, as: place)
        gateway.store(file)
        let json = JSONWriter.object([
            "singleFile": JSONObject([
                "fileChecksum": file.reference.signatureBase64, "size": content.sizeBytes, "receipt": name,
            ])
        ])
        return HTTPResponse(.ok, json: json)
    }

    private func encodePayload(_ request: HTTPRequest) -> HTTPResponse {
        guard let business = request.text("source-id"),
            let root = (try? JSONDocument(Array(request.body)))?.root, root["type"]?.string == "interactive",
            let data = root["interactiveData"], data.kind == .object
        else { return badRequest("no interactive data") }
        let payload = SimulatedPayload(business: BusinessID(business), interactiveData: data)
        return HTTPResponse(.ok, contentType: "application/octet-stream", body: payload.encode())
    }

    private func constructPayload(_ request: HTTPRequest) -> HTTPResponse {
        guard request.text("id") != nil, let business = request.text("source-id"),
            let root = (try? JSONDocument(Array(request.body)))?.root, root["type"]?.string == "link",
            let link = root["link"], link["url"]?.string?.hasPrefix("https://") == true,
            link["storeRegion"]?.string != nil
        else { return badRequest("no link with a preview") }
        guard var reference = try? gateway.register(interactiveData: link, for: BusinessID(business)) else {
            return HTTPResponse(.internalServerError)
        }
        reference.title = link["url"]?.string
        return HTTPResponse(.ok, json: reference.answerToConstructPayload)
    }

    private func preDownload(_ request: HTTPRequest) -> HTTPResponse {
        // Each of these headers also has an older name.
        guard let url = request.text("MMCS-Url") ?? request.text("url"),
            let signature = request.text("MMCS-Signature") ?? request.text("signature"),
            let owner = request.text("MMCS-Owner") ?? request.text("owner"),
            let business = request.text("source-id")
        else { return badRequest("missing header") }
        guard let payload = gateway.payload(url: url), let origin = gateway.origin else {
            return HTTPResponse(.notFound, text: "404 Not Found : file not found\n")
        }
        guard BusinessID(business) == payload.business else {
            return Self.foreign
        }
        guard signature == payload.reference.signatureBase64, owner == payload.reference.owner else {
            return badRequest("signature or owner differs")
        }
        let json = JSONWriter.object { $0.field("download-url", "\(origin)/blob/\(payload.name)") }
        return HTTPResponse(.ok, json: json)
    }

    private func blob(_ request: HTTPRequest) -> GatewayAnswer {
        let name = String(decoding: request.path.dropFirst("/blob/".utf8.count), as: UTF8.self)
        guard let payload = gateway.payload(named: name) else { return .whole(HTTPResponse(.notFound)) }
        return .content(payload.content)
    }

    private func decodePayload(_ request: HTTPRequest) -> HTTPResponse {
        guard let payload = SimulatedPayload(decoding: request.body) else { return badRequest("undecodable") }
        guard request.text("source-id").map(BusinessID.init(_:)) == payload.business else {
            return Self.foreign
        }
        let bid = payload.interactiveData["bid"]?.string ?? Interaction.businessExtension
        guard request.text("bid") == bid else { return badRequest("bid differs") }
        let json = JSONWriter.object(reservingCapacity: payload.interactiveData.text.count + 32) {
            $0.field("interactiveData", payload.interactiveData)
        }
        return HTTPResponse(.ok, json: json)
    }

    private func answerLater(_ responder: HTTPResponder, question: MessagesQuestion) {
        jobs.yield {
            let messages = await gateway.waitForMessages(
                customer: question.customer, after: question.after, within: question.wait)
            let json = JSONWriter.object(reservingCapacity: 1024) { writer in
                writer.list("messages", messages) { message, writer in message.write(to: &writer) }
            }
            responder.respond(HTTPResponse(.ok, json: json))
        }
    }

    private func keepPayload(_ request: HTTPRequest) -> HTTPResponse {
        guard let payload = SimulatedPayload(json: Array(request.body)),
            // A cipher refuses only keys of another length; this key has the right one.
            let stored = try? StoredPayload(payload)
        else { return badRequest("no payload") }
        gateway.store(stored)
        return HTTPResponse(.ok, json: stored.reference.json)
    }
}

extension Misbehaviour {
    /// The response that is sent instead of processing the request; nil when the request is processed.
    fileprivate var answer: HTTPResponse? {
        switch self {
        case .answer(let status, let seconds):
            HTTPResponse(
                status, body: Array("\(status) : as told\n".utf8),
                fields: seconds.map { [(name: "Retry-After", value: "\($0)")] } ?? [])
        case .body(let body): HTTPResponse(.ok, contentType: "application/octet-stream", body: body)
        case .delay, .silence, .drop, .truncate, .resize, .garble, .trickle, .endless: nil
        }
    }
}

extension Misbehaviour? {
    /// Whether the sender gets no answer.
    fileprivate var hidesAnswer: Bool { self == .silence || self == .drop }
}

/// A response with status 400 in Apple's format.
private func badRequest(_ reason: String) -> HTTPResponse {
    HTTPResponse(.badRequest, text: "400 Bad Request : \(reason)\n")
}

extension HTTPRequest {
    /// The text of the field `name`; nil when it is missing or empty.
    func text(_ name: String) -> String? {
        guard let value = field(HTTPFieldName(name)), !value.isEmpty else { return nil }
        return String(decoding: value, as: UTF8.self)
    }
}
