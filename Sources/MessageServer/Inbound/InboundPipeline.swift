import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore

/// Answers webhooks: stage `authenticate` runs after the head, `inflate`, `envelope` and `journal` after the last byte.
///
/// All stages run inline on the shard of the connection.
final class InboundPipeline {
    private let authenticator: WebhookAuthenticator
    private let decompressor = GzipDecompressor()
    private let configuration: CurrentConfiguration
    private let refusal: @Sendable (BusinessID) -> InboundRefusal?
    private let store: @Sendable (ReceivedMessage, @escaping AppendCompletion) -> Void
    private let observer: any StageObserver
    private var references: ReferenceSequence
    /// The inflated body; its storage serves every request of the shard.
    private var inflated: [UInt8] = []
    private var index = JSONMemory()

    private static let maximumKeptBytes = 256 << 10

    init(
        _ configuration: CurrentConfiguration,
        refusal: @escaping @Sendable (BusinessID) -> InboundRefusal?,
        store: @escaping @Sendable (ReceivedMessage, @escaping AppendCompletion) -> Void,
        observer: any StageObserver, references: ReferenceSequence
    ) {
        self.configuration = configuration
        authenticator = WebhookAuthenticator(configuration)
        self.refusal = refusal
        self.store = store
        self.observer = observer
        self.references = references
    }

    /// Stage `authenticate` at the head of a request: without a valid token its body is dropped.
    func admit(_ head: HTTPRequest) -> HTTPVerdict {
        var clock = StageClock()
        do throws(InboundRefusal) {
            try authenticate(head, &clock)
            return .admitted(mark: clock.sinceBegun)
        } catch {
            return .refused(refuse(error, clock))
        }
    }

    /// Stages `inflate`, `envelope` and `journal`: returns the answer to a refused request.
    ///
    /// Returns nil for a valid message, which is answered when the journal has stored or refused it.
    func receive(_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse? {
        var clock = StageClock()
        var passed = PassedStages(authenticate: request.admission)
        // Release the memory of a large body instead of keeping it for the next request.
        defer { if inflated.capacity > Self.maximumKeptBytes { inflated = [] } }
        do throws(InboundRefusal) {
            // Stage `authenticate` ran at the head, in ``admit(_:)``; a route that skips it would accept
            // every sender.
            guard request.admission != nil else { throw .missingBearer }
            try inflate(request, &clock)
            passed.inflate = clock.sinceBegun
            let headers = request.envelopeHeaders
            let (envelope, document) = try readEnvelope(headers, &clock)
            let envelopeRead = clock.sinceBegun
            report(passed, of: envelope)
            observe(.envelope, envelopeRead, envelope)
            let reference = references.next()
            store(ReceivedMessage(envelope, document, headers)) { [observer, clock] result in
                // Answered here: 200 when the message is now or was already on disk, 503 when it could not be stored.
                responder.respond(answer(to: result, reference))
                observer.observe(StageEvent(journalled: result, envelope, clock, reference))
            }
            return nil
        } catch {
            return refuse(error, clock, after: passed)
        }
    }

    private func authenticate(_ request: HTTPRequest, _ clock: inout StageClock) throws(InboundRefusal) {
        clock.begin(.authenticate)
        guard !request.isRepeated(.authorization) else { throw .repeatedAuthorization }
        try authenticator.authenticate(request.field(.authorization), now: SystemClock.secondsSince1970())
    }

    /// Inflates gzip, known by header or magic bytes; a body without either is unchanged (Apple's samples inflate
    /// unconditionally).
    private func inflate(_ request: HTTPRequest, _ clock: inout StageClock) throws(InboundRefusal) {
        clock.begin(.inflate)
        guard try request.isGzip() || Gzip.hasMagic(request.body) else {
            inflated.removeAll(keepingCapacity: true)
            inflated += request.body
            return
        }
        let limits = configuration.limits
        do throws(WireError) {
            try decompressor.decompress(
                request.body, into: &inflated, maximumBytes: limits.maximumInflatedBytes,
                maximumRatio: limits.maximumInflationRatio)
        } catch {
            throw InboundRefusal(error)
        }
    }

    private func readEnvelope(
        _ headers: EnvelopeHeaders, _ clock: inout StageClock
    ) throws(InboundRefusal) -> (InboundEnvelope, JSONDocument) {
        clock.begin(.envelope)
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(inflated, reusing: &index)
        } catch {
            throw .badJSON(reason: error.reason, offset: error.offset)
        }
        let envelope: InboundEnvelope
        do throws(EnvelopeError) {
            envelope = try InboundEnvelope.read(document: document, headers: headers)
        } catch {
            throw .badEnvelope(error)
        }
        if let refusal = refusal(envelope.business) { throw refusal }
        return (envelope, document)
    }

    private func refuse(
        _ refusal: InboundRefusal, _ clock: StageClock, after passed: PassedStages = PassedStages()
    ) -> HTTPResponse {
        let reference = references.next()
        let refused = clock.sinceBegun
        report(passed, of: nil, reference.text)
        observer.observe(
            StageEvent(
                stage: clock.stage, result: .refused(status: refusal.status.code, reason: refusal.reason),
                nanoseconds: refused, reference: reference.text))
        return MessageServer.refusal(refusal.status, reference)
    }

    /// The durations of the stages before the message is known, which are reported together with it, or with the
    /// reference of the refusal: an observer then knows whose they are.
    private struct PassedStages {
        var authenticate: UInt64?
        var inflate: UInt64?
    }

    private func report(
        _ passed: PassedStages, of envelope: InboundEnvelope?, _ reference: String? = nil
    ) {
        if let nanoseconds = passed.authenticate { observe(.authenticate, nanoseconds, envelope, reference) }
        if let nanoseconds = passed.inflate { observe(.inflate, nanoseconds, envelope, reference) }
    }

    private func observe(
        _ stage: StageEvent.Stage, _ nanoseconds: UInt64, _ envelope: InboundEnvelope?,
        _ reference: String? = nil
    ) {
        observer.observe(
            StageEvent(
                stage: stage, result: .done, nanoseconds: nanoseconds, reference: reference,
                business: envelope?.business, message: envelope?.id))
    }
}

private let accepted = HTTPResponse(.ok)

/// The answer to Apple after the journal has stored or refused a message.
private func answer(to result: AppendResult, _ reference: ReferenceSequence.Reference) -> HTTPResponse {
    switch result {
    case .stored, .duplicate: accepted
    case .failed(let error): refusal(.serviceUnavailable, reference, retryAfter: error.retryAfterSeconds)
    }
}

/// The answer to a refused request: a short constant, and the reference that its log line has too.
func refusal(
    _ status: HTTPStatus, _ reference: ReferenceSequence.Reference, retryAfter seconds: Int = 1
) -> HTTPResponse {
    var fields: [(name: String, value: String)] = []
    if status == .unauthorized { fields.append(("WWW-Authenticate", "Bearer")) }
    // A 415 names the codings that the server accepts (RFC 9110 §15.5.16).
    if status == .unsupportedMediaType { fields.append(("Accept-Encoding", "gzip")) }
    if status == .serviceUnavailable { fields.append(("Retry-After", "\(seconds)")) }
    return HTTPResponse(
        status, body: Array("\(status.reason) (reference \(reference.text))\n".utf8), fields: fields)
}

extension StoreError {
    /// The pause before the sender's next attempt: a full quota waits for a handler, which takes longer than a disk.
    fileprivate var retryAfterSeconds: Int { if case .quotaReached = self { 5 } else { 1 } }
}

extension ReceivedMessage {
    fileprivate init(_ envelope: InboundEnvelope, _ document: JSONDocument, _ headers: EnvelopeHeaders) {
        let answersServer =
            envelope.type == "interactive"
            && ServerQuestion.isAnswered(by: document.root, envelope.business, envelope.customer)
        self.init(
            business: envelope.business, customer: envelope.customer, id: envelope.id,
            attributes: ReceivedAttributes(document, headers), message: document.bytes,
            hasPayloadReference: envelope.hasPayloadReference,
            act: answersServer ? .neither : Act(type: envelope.type))
    }
}

extension StageEvent {
    /// The result of stage `journal`; the reference connects a 503 to its log line.
    fileprivate init(
        journalled result: AppendResult, _ envelope: InboundEnvelope, _ clock: StageClock,
        _ reference: ReferenceSequence.Reference
    ) {
        self.init(
            stage: .journal, result: Result(result), nanoseconds: clock.sinceReceived,
            business: envelope.business, message: envelope.id)
        if case .failed = result { self.reference = reference.text }
    }
}

extension StageEvent.Result {
    fileprivate init(_ result: AppendResult) {
        switch result {
        case .stored: self = .done
        case .duplicate: self = .duplicate
        case .failed(let error): self = .failed(reason: "\(error)")
        }
    }
}

extension ReceivedAttributes {
    /// The values of the headers and of the body; where both give a value, the body's is used.
    fileprivate init(_ document: JSONDocument, _ headers: EnvelopeHeaders) {
        // The capability list is stored verbatim; the delivery parses it.
        var others = headers
        others.capabilityList = nil
        let read = MessageAttributes.read(document: document, headers: others)
        self.init(
            capabilityList: headers.capabilityList.map { String(decoding: $0, as: UTF8.self) },
            locale: read.locale, intent: read.intent, group: read.group, version: read.version,
            deviceAgent: read.deviceAgent)
    }
}
