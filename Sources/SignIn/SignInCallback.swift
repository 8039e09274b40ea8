/// The provider's answer, which the customer's browser carries: a query, or a form with
/// `response_mode=form_post`.
///
/// ```
/// code=…&state=…[&iss=…]
/// error=access_denied&state=…[&iss=…]
/// ```
/// RFC 6749 §4.1.2, RFC 9207 §2. It does not prove that the user of the browser owns the Messages account.
package struct SignInCallback: Sendable, Equatable {
    /// The code or the error in the answer.
    package enum Outcome: Sendable, Equatable {
        /// A code for the token endpoint, usable once.
        case code(String)
        /// An error; nil for an error code that no standard defines.
        case error(ProviderErrorCode?)
    }

    /// The value that identifies the open request.
    package let state: String
    /// The issuer of the provider that answers, from `iss`; nil when the callback has none.
    package let issuer: String?
    /// The code or the error.
    package let outcome: Outcome

    /// The maximum bytes of a query or form.
    package static let maximumBytes = 16_384
    /// The maximum bytes of `state`; the states that this server creates have 43 bytes.
    package static let maximumStateBytes = 512

    /// Parses a query without `?`, or the body of a form; parameters that OAuth does not define are ignored.
    ///
    /// Throws ``SignInFailure/callbackMalformed(_:)``.
    package init(_ text: some Collection<UInt8>) throws(SignInFailure) {
        do throws(CallbackDefect) {
            let form = try FormFields(parsing: text, maximumBytes: Self.maximumBytes)
            let code = try form.single("code")
            let error = try form.single("error")
            let state = try form.single("state") ?? ""
            issuer = try form.single("iss")
            guard !state.isEmpty else { throw CallbackDefect.missingState }
            guard state.utf8.count <= Self.maximumStateBytes else { throw CallbackDefect.tooLong }
            self.state = state
            outcome = try Self.outcome(code: code, error: error)
        } catch {
            throw .callbackMalformed(error)
        }
    }

    private static func outcome(code: String?, error: String?) throws(CallbackDefect) -> Outcome {
        switch (code, error) {
        case (nil, let error?): return .error(ProviderErrorCode(rawValue: error))
        case (let code?, nil) where !code.isEmpty: return .code(code)
        case (_?, _?): throw .codeAndError
        default: throw .neitherCodeNorError
        }
    }

    /// Returns the code, or throws the failure that the provider's error means.
    func code() throws(SignInFailure) -> String {
        switch outcome {
        case .code(let code): return code
        case .error(.accessDenied): throw .denied
        case .error(let code): throw .providerError(nil, code)
        }
    }

    /// Checks that `iss` is the configured issuer byte for byte, also in a callback with an error (RFC 9207
    /// §2.4).
    ///
    /// `iss` may be absent only if the provider does not announce it.
    func checkIssuer(_ expected: String?, isAnnounced: Bool) throws(SignInFailure) {
        guard let issuer else {
            if isAnnounced { throw .callbackIssuer(isMissing: true) }
            return
        }
        guard let expected else { return }
        guard issuer.utf8.elementsEqual(expected.utf8) else { throw .callbackIssuer(isMissing: false) }
    }
}
