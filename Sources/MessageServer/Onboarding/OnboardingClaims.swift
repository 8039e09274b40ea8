package import BalloonPOSIX
import BalloonWire
import Synchronization

/// The claims in `DATA/onboarding`, one file each.
///
/// A claim has the name of its file: 16 hexadecimal digits of the SHA-256 of the business's identifier, and a
/// number from 1 to 5. A business therefore has at most five claims, and no claim replaces another. Commands
/// read and drop claims while a server runs.
package final class OnboardingClaims: Sendable {
    /// The reason why a claim is not kept.
    package enum Refusal: Error, Equatable {
        /// The business has five claims already.
        case businessFull
        /// The data directory has 1,000 claims already.
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

    /// Opens the claims of a data directory; does not create the folder.
    package init(dataDirectory: String) { directory = dataDirectory + "/onboarding" }

    /// Writes a claim to disk and returns its name.
    ///
    /// Throws a ``Refusal``, or an error of the disk.
    func add(_ claim: OnboardingClaim) throws -> String {
        try adding.withLock { _ in
            try Directory.make(directory)
            let names = try names()
            guard names.count < Self.maximumCount else { throw Refusal.full }
            let prefix = Hex.encode(SHA256.hash(Array(claim.business.utf8))).prefix(Self.digits)
            let free = (1...Self.maximumPerBusiness).map { "\(prefix)-\($0)" }.first { !names.contains($0) }
            guard let name = free else { throw Refusal.businessFull }
            try AtomicFile.write(OnboardingClaim.form.json(claim), to: path(name))
            return name
        }
    }

    /// Returns all claims that have not expired, oldest first, and the names of damaged files.
    package func claims(
        at now: Timestamp
    ) throws(SystemError) -> (claims: [(name: String, claim: OnboardingClaim)], damaged: [String]) {
        var claims: [(name: String, claim: OnboardingClaim)] = []
        var damaged: [String] = []
        for name in try names() {
            guard let bytes = try read(name) else { continue }
            guard let claim = OnboardingClaim.form.value(bytes) else {
                damaged.append(name)
                continue
            }
            if !Self.hasExpired(claim, at: now) { claims.append((name, claim)) }
        }
        return (claims.sorted { $0.claim.receivedAt < $1.claim.receivedAt }, damaged)
    }

    /// The claim with this name; nil when there is none, or it has expired or is damaged.
    package func claim(_ name: String, at now: Timestamp) throws(SystemError) -> OnboardingClaim? {
        guard Self.isName(name), let claim = try read(name).flatMap({ OnboardingClaim.form.value($0) }),
            !Self.hasExpired(claim, at: now)
        else { return nil }
        return claim
    }

    /// Deletes the claim with this name; false when there is none.
    package func drop(_ name: String) throws(SystemError) -> Bool {
        guard Self.isName(name),
            try SystemError.unlessMissing({ () throws(SystemError) in try Directory.remove(path(name)) })
                != nil
        else { return false }
        try Directory.synchronize(directory)
        return true
    }

    /// Deletes expired claims.
    func sweep(at now: Timestamp) throws(SystemError) {
        for name in try names() {
            // A damaged file has no readable time of arrival, so it never expires; an operator drops it.
            guard let claim = try read(name).flatMap({ OnboardingClaim.form.value($0) }) else { continue }
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
        // The claim may have been dropped after the folder was listed.
        try SystemError.unlessMissing { () throws(SystemError) in
            try File(path(name), for: .reading).readAll()
        }
    }

    private func path(_ name: String) -> String { directory + "/" + name + Self.suffix }
}
