import BalloonHTTP
package import BalloonTransport
import BalloonWire
package import BusinessMessages

/// A simulated device that answers a sign-in request of a business.
///
/// It opens the provider's page in a browser without cookies, fills in the forms, and follows the redirects.
/// Version 2 ends at `messages-auth://`, to which the business's callback redirects. In version 1 the device
/// itself exchanges the code, and encrypts the token to the request's key.
package struct DeviceSignIn: Sendable {
    /// The customer's account at the provider.
    package struct Account: Sendable {
        /// The user name for fields with `autocomplete="username"`.
        package var user: String
        /// The password for fields with `autocomplete="current-password"`.
        package var password = "password"
        /// The code for fields with `autocomplete="one-time-code"`.
        package var oneTimeCode = "000000"
        /// Whether the customer declines: a button named `deny` is pressed.
        package var declines = false

        /// Creates an account.
        package init(user: String) { self.user = user }
    }

    /// The provider as Apple Business Register knows it.
    package struct Registration: Sendable {
        /// The address that the device opens.
        package let authorizationURL: String
        /// The address at which the device exchanges the code of version 1.
        package let tokenURL: String
        /// The client's identifier.
        package let clientID: String

        /// Creates a registration.
        package init(authorizationURL: String, tokenURL: String, clientID: String) {
            self.authorizationURL = authorizationURL
            self.tokenURL = tokenURL
            self.clientID = clientID
        }
    }

    /// The end of a sign-in, which the device's event reports.
    package enum Outcome: Sendable, Equatable {
        /// Version 2: the status and error code of `messages-auth://`.
        case ended(status: String, errorCode: String?)
        /// Version 1: the encrypted token in Base64.
        case authenticated(token: String)
        /// Version 1: there is no token.
        case failed
    }

    /// The address to which a provider redirects the device in version 1.
    package static let classicRedirectURI = "https://auth.businesschat.apple.com"
    private static let maximumSteps = 12

    private let registration: Registration
    private let account: Account
    private let customer: CustomerID
    private let oauth: JSONValue
    private let isClassic: Bool

    /// Prepares the answer to a message; throws ``DeviceAnswerError/noQuestion`` unless the message asks to
    /// sign in.
    package init(
        to message: JSONDocument, at registration: Registration, as account: Account, customer: CustomerID
    ) throws(DeviceAnswerError) {
        guard let oauth = message.root["interactiveData"]?["data"]?["authenticate"]?["oauth2"] else {
            throw .noQuestion
        }
        self.registration = registration
        self.account = account
        self.customer = customer
        self.oauth = oauth
        isClassic = oauth["redirectURI"] == nil
    }

    /// The address that the device opens first.
    package var address: String {
        var query: [(String, String?)] = [
            ("response_type", oauth["responseType"]?.string), ("client_id", registration.clientID),
            ("redirect_uri", isClassic ? Self.classicRedirectURI : oauth["redirectURI"]?.string),
            ("scope", oauth["scope"]?.elements.compactMap(\.string).joined(separator: " ")),
            ("state", oauth["state"]?.string),
        ]
        if isClassic {
            query.append(("responseEncryptionKey", oauth["responseEncryptionKey"]?.string))
            query.append(("userHandle", customer.rawValue))
        }
        let fields = Self.encoded(query.compactMap { name, value in value.map { (name, $0) } })
        let more = oauth["additionalParameters"]?.string.map { "&" + $0 } ?? ""
        return registration.authorizationURL
            + (registration.authorizationURL.contains("?") ? "&" : "?") + fields + more
    }

    /// Signs in and returns how the sign-in ended.
    ///
    /// Throws a ``TransportError``, or ``SimulatorError/signInStopped(status:)`` when a page has neither a
    /// form nor a redirect.
    package func run(over transport: any HTTPTransport) async throws -> Outcome {
        // The callback's query has a code that is used up, so each page is asked for once.
        var request = TransportRequest(url: address, allowsPlainHTTP: true, mustHappenOnce: true)
        for _ in 0..<Self.maximumSteps {
            let answer = try await transport.send(request)
            if let location = answer.header("location"), (300...399).contains(answer.status) {
                if let outcome = Self.outcome(of: location) { return outcome }
                if isClassic, location.hasPrefix(Self.classicRedirectURI) {
                    return try await fetchToken(of: location, over: transport)
                }
                request = TransportRequest(
                    url: Self.resolve(location, against: request.url), allowsPlainHTTP: true,
                    mustHappenOnce: true)
            } else if answer.status == 200, let form = DeviceWebForm(answer.body) {
                request = Self.post(
                    form.fields(filledBy: account), to: Self.resolve(form.action, against: request.url))
            } else {
                throw SimulatorError.signInStopped(status: answer.status)
            }
        }
        throw SimulatorError.signInStopped(status: 0)
    }

    private static func post(_ fields: [(String, String)], to url: String) -> TransportRequest {
        TransportRequest(
            method: "POST", url: url, headers: [("content-type", "application/x-www-form-urlencoded")],
            body: Array(encoded(fields).utf8), allowsPlainHTTP: true)
    }

    /// The result in `messages-auth://?status=…&error_code=…`; nil for every other address.
    private static func outcome(of location: String) -> Outcome? {
        guard location.hasPrefix("messages-auth:"), let mark = location.firstIndex(of: "?"),
            // Treat a malformed query like a query without a status.
            let query = try? HTTPQuery(Array(location[mark...].dropFirst().utf8)[...])
        else { return nil }
        return query["status"].map { .ended(status: $0, errorCode: query["error_code"]) }
    }

    private func fetchToken(of location: String, over transport: any HTTPTransport) async throws -> Outcome {
        guard let mark = location.firstIndex(of: "?"),
            let query = try? HTTPQuery(Array(location[mark...].dropFirst().utf8)[...]),
            let code = query["code"], query["state"] == oauth["state"]?.string,
            let point = oauth["responseEncryptionKey"]?.string.flatMap({ Base64.decode($0) })
        else { return .failed }
        let form = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Self.classicRedirectURI),
            ("client_id", registration.clientID), ("client_secret", oauth["clientSecret"]?.string ?? ""),
        ]
        let answer = try await transport.send(Self.post(form, to: registration.tokenURL))
        guard answer.status == 200, let document = try? JSONDocument(answer.body),
            let token = document.root["access_token"]?.string
        else { return .failed }
        return .authenticated(token: Base64.encode(try ECIES.seal(Array(token.utf8), to: point)))
    }

    private static func encoded(_ fields: [(String, String)]) -> String {
        fields.map { $0.percentEncoded + "=" + $1.percentEncoded }.joined(separator: "&")
    }

    /// Resolves an address in a form or redirect against the address of its page (a part of RFC 3986 §5.2).
    private static func resolve(_ reference: String, against page: String) -> String {
        if reference.contains("://") { return reference }
        if reference.isEmpty { return page }
        let parts = page.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let origin = parts.prefix(3).joined(separator: "/")
        return origin + (reference.hasPrefix("/") ? "" : "/") + reference
    }
}
