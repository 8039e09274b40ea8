package import BalloonPOSIX
import BalloonWire
import Synchronization

/// The claims in `DATA/onboarding`, one file each.
///
/// The file's name is the claim's: 16 hexadecimal digits of the business's SHA-256 and a number from 1 to 5, so that a
/// business has at most five claims and none replaces another. Commands read and drop claims beside a running server.
package final class OnboardingClaims: Sendable {
    /// The reason why a claim is not kept.
    package enum Refusal: Error, Equatable {
        /// The business has five claims.
        case businessFull
        /// There are 1,000 claims.
        case full
    }

    /// The maximum number of claims.
    static let maximumCount = 1000
    /// The maximum number of claims of a business.
    static let maximumPerBusiness = 5
    /// The time after which a claim is deleted.
    static let lifetime = Duration.seconds(30 * 86_400)
    private static let digits = 16
    private static let suffix = ".json"

    private let directory: String
    /// Held while a claim is added, so that two claims never choose the same name.
    private let adding = Mutex(())

    /// Opens the claims of a data directory; creates nothing.
    package init(dataDirectory: String) { directory = dataDirectory + "/onboarding" }

    /// Keeps a claim durably and returns its name.
    ///
    /// Throws ``Refusal`` and the disk's errors.
    func add(_ claim: OnboardingClaim) throws -> String {
        try adding.withLock { _ in
            try Directory.make(directory)
            let names = try names()
            guard names.count < Self.maximumCount else { throw Refusal.full }
            let prefix = Hex.encode(SHA256.hash(Array(claim.business.utf8))).prefix(Self.digits)
            let free = (1...Self.maximumPerBusiness).map { "\(prefix)-\($0)" }.first { !names.contains($0) }
            guard let name = free else { throw Refusal.businessFull }
            try AtomicFile.write(claim.json, to: path(name))
            return name
        }
    }

    /// All claims that have not expired, oldest first, and the names of damaged files.
    package func claims(
        at now: Timestamp
    ) throws(SystemError) -> (claims: [(name: String, claim: OnboardingClaim)], damaged: [String]) {
        var claims: [(name: String, claim: OnboardingClaim)] = []
        var damaged: [String] = []
        for name in try names() {
            guard let bytes = try read(name) else { continue }
            guard let claim = OnboardingClaim(bytes) else {
                damaged.append(name)
                continue
            }
            if !Self.hasExpired(claim, at: now) { claims.append((name, claim)) }
        }
        return (claims.sorted { $0.claim.receivedAt < $1.claim.receivedAt }, damaged)
    }

    /// The claim with this name; nil when there is none, or it has expired or is damaged.
    package func claim(_ name: String, at now: Timestamp) throws(SystemError) -> OnboardingClaim? {
        guard Self.isName(name), let claim = try read(name).flatMap({ OnboardingClaim($0) }),
            !Self.hasExpired(claim, at: now)
        else { return nil }
        return claim
    }

    /// Deletes the claim with this name; false when there is none.
    package func drop(_ name: String) throws(SystemError) -> Bool {
        guard Self.isName(name) else { return false }
        do throws(SystemError) {
            try Directory.remove(path(name))
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
        try Directory.synchronize(directory)
        return true
    }

    /// Deletes expired claims.
    func sweep(at now: Timestamp) throws(SystemError) {
        for name in try names() {
            // A damaged file has no age: it stays until it is dropped.
            guard let claim = try read(name).flatMap({ OnboardingClaim($0) }) else { continue }
            if Self.hasExpired(claim, at: now) { _ = try drop(name) }
        }
    }

    private static func hasExpired(_ claim: OnboardingClaim, at now: Timestamp) -> Bool {
        claim.receivedAt.advanced(by: lifetime) <= now
    }

    /// The names of all claims; empty when the folder does not exist.
    private func names() throws(SystemError) -> [String] {
        guard try Directory.holds(directory) else { return [] }
        return try Directory.names(in: directory).filter { $0.hasSuffix(Self.suffix) }
            .map { String($0.dropLast(Self.suffix.count)) }.filter(Self.isName)
    }

    private static func isName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard bytes.count == digits + 2, bytes[digits] == UInt8(ascii: "-") else { return false }
        let number = Int(bytes[digits + 1]) - 0x30
        return (1...maximumPerBusiness).contains(number)
            && bytes.prefix(digits).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private func read(_ name: String) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) { return try File(path(name), for: .reading).readAll() } catch {
            // Dropped since the listing.
            guard error.isMissing else { throw error }
            return nil
        }
    }

    private func path(_ name: String) -> String { directory + "/" + name + Self.suffix }
}
