import BalloonJSON
import BalloonWire

/// The rules of an id_token (OpenID Connect Core §3.1.3.7, RFC 8725), as a pure function of token, keys and time.
struct IDTokenRules: Sendable {
    /// The issuer that the token must name, byte for byte.
    var issuer: String
    /// The identifier of our client, which the token must name as an audience.
    var clientID: String
    /// The audiences that the token may name besides our client; `azp` must then name our client.
    var otherAudiences: Set<String> = []
    /// The algorithms that may sign the token.
    var algorithms: Set<SignatureAlgorithm> = [.rs256, .es256]
    /// The nonce that the token must repeat; nil when the request had none, and then the token's nonce is not
    /// checked.
    var nonce: String?

    /// The seconds by which the provider's clock may differ from ours.
    static let leewaySeconds = 60
    private static let limits = JSONLimits(maximumDepth: 16, maximumBytes: 65_536, maximumNodes: 8192)

    /// Checks every rule and returns the claims; `now` is in seconds since 1970.
    ///
    /// Verifying a signature takes much CPU time, so the caller runs this method on `PublicKeyThreads`.
    func verify(
        _ token: String, with keys: JSONWebKeys, at now: Int
    ) throws(IDTokenRefusal) -> JSONDocument {
        let token = try takeApart(token)
        let header = try object(token.header)
        guard header["crit"] == nil else { throw .criticalExtension }
        guard let name = header["alg"]?.string, let algorithm = SignatureAlgorithm(rawValue: name),
            algorithms.contains(algorithm)
        else { throw .algorithm }
        let key = try keys.key(for: try keyIdentifier(in: header), algorithm)
        guard token.isSigned(by: key) else { throw .signature }

        let document = try document(token.claims)
        let claims = document.root
        guard claims["iss"]?.equals(issuer) == true else { throw .issuer }
        guard isForUs(claims["aud"]) else { throw .audience }
        // OpenID Connect Core §3.1.3.7: besides other audiences, only azp says for whom the token was issued.
        let isOurs = claims["azp"].map { $0.equals(clientID) } ?? !hasOtherAudience(claims["aud"])
        guard isOurs else { throw .authorizedParty }
        guard let subject = claims["sub"]?.string, !subject.isEmpty else { throw .subject }
        guard let expiry = seconds(claims["exp"]), expiry > now - Self.leewaySeconds else { throw .expired }
        guard let issued = seconds(claims["iat"]), issued <= now + Self.leewaySeconds else {
            throw .issuedLater
        }
        guard claims["nbf"] == nil || isPast(claims["nbf"], at: now) else { throw .notYetValid }
        guard let nonce else { return document }
        guard let repeated = claims["nonce"] else { throw .nonceMissing }
        guard repeated.equals(nonce) else { throw .nonceDiffers }
        return document
    }

    private func takeApart(_ token: String) throws(IDTokenRefusal) -> SignedToken {
        // RFC 7516 §3.1: an encrypted token has five parts.
        guard token.utf8.count(where: { $0 == UInt8(ascii: ".") }) != 4 else { throw .encrypted }
        do { return try SignedToken(token) } catch { throw .malformed }
    }

    private func document(_ bytes: [UInt8]) throws(IDTokenRefusal) -> JSONDocument {
        guard let document = parsedObject(bytes, limits: Self.limits) else { throw .malformed }
        guard !hasRepeatedMember(document.root) else { throw .repeatedMember }
        return document
    }

    private func object(_ bytes: [UInt8]) throws(IDTokenRefusal) -> JSONValue { try document(bytes).root }

    private func keyIdentifier(in header: JSONValue) throws(IDTokenRefusal) -> String? {
        guard let identifier = header["kid"] else { return nil }
        guard let text = identifier.string else { throw .malformed }
        return text
    }

    private func isForUs(_ audience: JSONValue?) -> Bool {
        let names = Self.names(of: audience)
        return names.contains { $0.equals(clientID) }
            && names.allSatisfy { name in
                name.equals(clientID) || otherAudiences.contains { name.equals($0) }
            }
    }

    private func hasOtherAudience(_ audience: JSONValue?) -> Bool {
        Self.names(of: audience).contains { !$0.equals(clientID) }
    }

    private static func names(of audience: JSONValue?) -> [JSONValue] {
        guard let audience else { return [] }
        return audience.kind == .array ? Array(audience.elements) : [audience]
    }

    private func isPast(_ date: JSONValue?, at now: Int) -> Bool {
        seconds(date).map { $0 <= now + Self.leewaySeconds } ?? false
    }

    /// Reads a NumericDate (RFC 7519 §2) as whole seconds; nil unless it is a number between the years 1970
    /// and 9999.
    private func seconds(_ date: JSONValue?) -> Int? {
        guard let value = date?.double, (0...253_402_300_799).contains(value) else { return nil }
        return Int(value)
    }
}

/// The rule that an id_token breaks; the raw value is the text in the log.
package enum IDTokenRefusal: String, Error, Sendable, CaseIterable {
    case malformed = "it is no signed token"
    case encrypted = "it is encrypted, which is not supported"
    case repeatedMember = "a member is repeated"
    case criticalExtension = "it has crit"
    case algorithm = "its algorithm is not allowed"
    case unknownKey = "no key of the provider fits"
    case keyRefused = "the key that it names cannot be used"
    case ambiguousKey = "several keys fit"
    case signature = "its signature is wrong"
    case issuer = "its iss is another issuer"
    case audience =
        "its aud lacks our client, or has an audience that authentication.otherAudiences does not name"
    case authorizedParty = "its azp is another client, or is missing beside other audiences"
    case subject = "it has no sub"
    case expired = "its exp has passed or is missing"
    case issuedLater = "its iat is in the future or is missing"
    case notYetValid = "its nbf is in the future"
    case nonceMissing = "it has no nonce"
    case nonceDiffers = "its nonce is another request's"
}

/// Parses a JSON object; nil for everything else.
func parsedObject(_ bytes: [UInt8], limits: JSONLimits) -> JSONDocument? {
    // Drop the parser's error: its position does not help an operator to correct the provider.
    guard let document = try? JSONDocument(bytes, limits: limits), document.root.kind == .object else {
        return nil
    }
    return document
}

/// Whether an object in `value` has two members of one name; the depth is bounded by the parser's limit.
func hasRepeatedMember(_ value: JSONValue) -> Bool {
    var names: Set<String> = []
    for (name, member) in value.members {
        guard names.insert(name).inserted, !hasRepeatedMember(member) else { return true }
    }
    return value.elements.contains(where: hasRepeatedMember)
}
