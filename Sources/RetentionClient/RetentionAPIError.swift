import BalloonJSON
package import BalloonTransport
package import RetentionMessages

/// The reason why a call of the Retention Messaging API failed; it contains no text that came from the
/// network.
package enum RetentionAPIError: Error, Sendable, Equatable {
    /// The App Store refused the call with this status and `errorCode`: correct the fault that the code
    /// names.
    case refused(status: Int, errorCode: Int)
    /// The App Store answered 404 without an error code: the app has no access to the API; ask Apple for it.
    case noAccess
    /// The App Store answered 401: the key, its identifier, the issuer or the bundle is wrong.
    case unauthorized
    /// Too many calls arrived; the next one is allowed at this time in milliseconds since 1970, if the App
    /// Store named it.
    case rateLimited(untilMilliseconds: Int?)
    /// The answer has an unknown format: retry later.
    case unreadable
    /// The App Store could not be reached: retry; the call may already have had its effect.
    case unreachable(TransportError)
    /// The task was cancelled; the call may have had its effect.
    case cancelled
    /// No token could be signed, because memory is exhausted.
    case key

    /// The error code, if the App Store named a known one.
    package var knownCode: RetentionErrorCode? {
        guard case .refused(_, let code) = self else { return nil }
        return RetentionErrorCode(rawValue: code)
    }

    init(_ response: TransportResponse) {
        let code = (try? JSONDocument(response.body))?.root["errorCode"]?.int
        switch (response.status, code) {
        case (401, _): self = .unauthorized
        // Apple's `Retry-After` is a time in milliseconds since 1970, unlike that of RFC 9110.
        case (429, _):
            self = .rateLimited(untilMilliseconds: response.header("retry-after").flatMap { Int($0) })
        case (404, nil): self = .noAccess
        case (let status, let code?): self = .refused(status: status, errorCode: code)
        case (_, nil): self = .unreadable
        }
    }

    /// Makes a call, and returns nil for the error `code`: a change was already made, or a value is not set.
    @discardableResult
    package static func unless<Value: Sendable>(
        _ code: RetentionErrorCode, _ call: () async throws(RetentionAPIError) -> Value
    ) async throws(RetentionAPIError) -> Value? {
        do throws(RetentionAPIError) { return try await call() } catch {
            guard error.knownCode == code else { throw error }
            return nil
        }
    }
}
