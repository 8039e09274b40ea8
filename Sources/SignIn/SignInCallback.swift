/// The answer of a provider that the customer's browser brings: a query, or a form with `response_mode=form_post`.
///
/// ```
/// code=…&state=…[&iss=…]
/// error=access_denied&state=…[&iss=…]
/// ```
/// RFC 6749 §4.1.2, RFC 9207 §2. It proves nothing about the Messages account of the browser's owner.
package struct SignInCallback: Sendable, Equatable {
    /// The answer itself.
    package enum Outcome: Sendable, Equatable {
        /// A code for the token endpoint, usable once.
        case code(String)
        /// An error; nil for a text that no standard defines.
        case error(ProviderErrorCode?)
    }

    /// The value that identifies the open request.
    package let state: String
    /// The provider that answers.
    package let issuer: String?
    /// The answer itself.
    package let outcome: Outcome

    /// The maximum bytes of a query or form.
    package static let maximumBytes = 16_384
    /// The maximum bytes of `state`; ours have 43.
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

    /// The code; throws the failure that the provider's error means.
    func code() throws(SignInFailure) -> String {
        switch outcome {
        case .code(let code): return code
        case .error(.accessDenied): throw .denied
        case .error(let code): throw .providerError(nil, code)
        }
    }

    /// Checks `iss`, also beside an error: it must be the configured issuer byte for byte, and may be absent only when
    /// the provider does not announce it (RFC 9207 §2.4).
    func checkIssuer(_ expected: String?, isAnnounced: Bool) throws(SignInFailure) {
        guard let issuer else {
            if isAnnounced { throw .callbackIssuer(isMissing: true) }
            return
        }
        guard let expected else { return }
        guard issuer.utf8.elementsEqual(expected.utf8) else { throw .callbackIssuer(isMissing: false) }
    }
}
