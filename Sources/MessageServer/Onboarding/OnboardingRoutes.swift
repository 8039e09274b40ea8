import BalloonHTTP
import BalloonPOSIX
import Logging
import MessageStore
import Synchronization

/// The landing page to which Apple Business Register sends a brand that chooses this server: `/landing`.
///
/// The routes exist only with `landing` in the configuration. `GET /landing?id&name&logo` shows a form,
/// `POST /landing` stores the claim, and `GET /landing/done` shows a confirmation. A claim connects no
/// business: an operator confirms the contact and writes the business's file.
final class OnboardingRoutes: Sendable {
    private let claims: OnboardingClaims
    private let limit = Mutex(OnboardingLimit())
    private let logger: Logger

    private static let path = "/landing"
    private static let donePath = path + "/done"
    /// The maximum bytes of a form.
    private static let maximumFormBytes = 16_384
    private static let sweepInterval = Duration.seconds(3600)

    init(dataDirectory: String, logger: Logger) {
        claims = OnboardingClaims(dataDirectory: dataDirectory)
        self.logger = logger
    }

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, Self.path) { request, _ in Self.form(request.query) },
            HTTPRoute(.post, Self.path, body: .collected(maximumBytes: Self.maximumFormBytes)) {
                [self] request, responder in
                let claim: OnboardingClaim
                do throws(OnboardingClaim.Defect) {
                    claim = try Self.claim(request.body, isForm: true)
                } catch {
                    return OnboardingPage.refusal(error).response(.badRequest)
                }
                let origin = Self.origin(of: request)
                // Leave the shard, because the claim is written to disk.
                Task { @concurrent in responder.respond(await self.keep(claim, from: origin)) }
                return nil
            },
            HTTPRoute(.get, Self.donePath) { _, _ in OnboardingPage.done.response() },
        ]
    }

    /// Starts the task that deletes expired claims each hour until it is cancelled.
    func begin() -> Task<Void, Never> {
        .repeating(every: Self.sweepInterval) { [claims, logger] in
            do { try claims.sweep(at: SteadyClock.forExpiry()) } catch {
                logger.warning(
                    "could not delete old onboarding claims; they are deleted later",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    private func keep(_ claim: OnboardingClaim, from origin: OnboardingLimit.Origin) async -> HTTPResponse {
        guard limit.withLock({ $0.admit(origin, at: .now) }) else {
            logger.info(
                "onboarding claim refused", metadata: ["reason": "5 claims of this address within an hour"])
            return Self.unavailable
        }
        do {
            let name = try await onDisk { [claims] in try claims.add(claim) }
            logger.notice(
                "onboarding claim received; see balloon onboarding list", metadata: ["claim": "\(name)"])
            return HTTPResponse(
                .found, fields: PublicPage.fields + [("Location", Self.donePath)])
        } catch let refusal as OnboardingClaims.Refusal {
            logger.warning(
                "onboarding claim refused, because too many are kept; remove some with balloon onboarding drop",
                metadata: ["reason": "\(refusal)"])
        } catch {
            logger.error(
                "onboarding claim could not be saved; the sender was told to send it again",
                metadata: ["error": "\(error)"])
        }
        return Self.unavailable
    }

    private static var unavailable: HTTPResponse {
        OnboardingPage.unavailable.response(.serviceUnavailable, fields: [("Retry-After", "3600")])
    }

    private static func form(_ query: ArraySlice<UInt8>) -> HTTPResponse {
        do throws(OnboardingClaim.Defect) {
            return OnboardingPage.form(try claim(query, isForm: false)).response()
        } catch {
            return OnboardingPage.refusal(error).response(.badRequest)
        }
    }

    private static func claim(
        _ text: ArraySlice<UInt8>, isForm: Bool
    ) throws(OnboardingClaim.Defect) -> OnboardingClaim {
        let query: HTTPQuery
        do throws(HTTPRefusal) { query = try HTTPQuery(text) } catch { throw .malformed("query") }
        return try OnboardingClaim(isForm: isForm, at: .now()) { query.values(of: $0) }
    }

    /// Returns the request's origin; uses the last of several `X-Forwarded-For` fields.
    private static func origin(of request: HTTPRequest) -> OnboardingLimit.Origin {
        let value = request.fields.last { $0.name.lowercased() == "x-forwarded-for" }?.value
        return OnboardingLimit.Origin(request.peer, forwardedFor: value)
    }
}
