import BalloonJSON
import BalloonTransport
import BalloonWire

/// The sender of requests to providers; each call has its own time limit, and also ends at the sign-in's
/// deadline.
struct ProviderCalls: Sendable {
    let transport: any HTTPTransport

    private static let limits = JSONLimits(
        maximumDepth: 32, maximumBytes: SignInClient.maximumAnswerBytes, maximumNodes: 65_536)

    /// Sends a request and returns the JSON object of the answer; throws when the status is not 200.
    func object(
        _ call: ProviderCall, _ request: TransportRequest, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> JSONDocument {
        try await fetch(call, request, before: deadline).document
    }

    /// Sends a request as ``object(_:_:before:)`` does; returns the JSON object and how long a cache may keep
    /// it.
    func fetch(
        _ call: ProviderCall, _ request: TransportRequest, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> FetchedDocument<JSONDocument> {
        let answer = try await send(call, request, before: deadline)
        switch answer.status {
        case 200:
            let seconds = freshSeconds(
                cacheControl: answer.header("cache-control"), age: answer.header("age"))
            return FetchedDocument(
                document: try Self.object(call, answer),
                lifetime: max(.seconds(seconds), FetchedDocument<JSONDocument>.minimumLifetime))
        case 300...399: throw .answerRefused(call, .redirect)
        default: throw Self.refusal(call, answer)
        }
    }

    private func send(
        _ call: ProviderCall, _ request: TransportRequest, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> TransportResponse {
        var request = request
        request.timeout = min(call.limit, ContinuousClock.now.duration(to: deadline))
        guard request.timeout > .milliseconds(1) else { throw .late(call) }
        request.connectTimeout = request.timeout
        request.maximumResponseBytes = SignInClient.maximumAnswerBytes
        request.headers.append((name: "accept", value: "application/json"))
        do {
            return try await transport.send(request)
        } catch TransportError.timedOut {
            throw .late(call)
        } catch TransportError.cancelled {
            throw .stopping
        } catch TransportError.responseTooLarge {
            throw .answerRefused(call, .tooLarge)
        } catch TransportError.requestInvalid, TransportError.schemeRefused {
            throw .addressMissing(call)
        } catch {
            throw .unreachable(call, error as? TransportError ?? .failed(code: 0))
        }
    }

    private static func object(
        _ call: ProviderCall, _ answer: TransportResponse
    ) throws(SignInFailure) -> JSONDocument {
        let type = answer.mediaType
        if type == "application/jwt" { throw .answerRefused(call, .signed) }
        guard type == "application/json" || type.hasSuffix("+json"),
            let document = parsedObject(answer.body, limits: limits)
        else { throw .answerRefused(call, .notJSON) }
        return document
    }

    /// The failure that an error answer means (RFC 6749 §5.2).
    private static func refusal(_ call: ProviderCall, _ answer: TransportResponse) -> SignInFailure {
        guard let document = parsedObject(answer.body, limits: limits),
            let error = document.root["error"]?.string
        else { return .answerRefused(call, .status(answer.status)) }
        return .providerError(call, ProviderErrorCode(rawValue: error))
    }
}
