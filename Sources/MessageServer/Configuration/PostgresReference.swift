import BalloonWire
import Replication

/// The reference to a store in PostgreSQL: `{"url": {"env": "NAME"}, "leaseSeconds": 10, "sealKey": {"file": "PATH"}}`,
/// and `otherSealKey` while the key is changed.
struct PostgresReference: Equatable {
    private let url: SecretReference
    private let lease: Duration
    private let sealKey: SecretReference?
    private let otherSealKey: SecretReference?

    /// Reads the reference; nil after reporting a problem.
    static func read(_ reader: inout ObjectReader) -> PostgresReference? {
        let hint = "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"} of the database's URL"
        reader.require("url", hint: hint)
        var lease = Duration.seconds(10)
        reader.set(&lease, "leaseSeconds", in: 3...60, of: .seconds(1))
        let sealKey = reader.object("sealKey", SecretReference.read)
        let otherSealKey = reader.object("otherSealKey", SecretReference.read)
        return reader.object("url", SecretReference.read).map {
            PostgresReference(url: $0, lease: lease, sealKey: sealKey, otherSealKey: otherSealKey)
        }
    }

    private var keys: [SecretReference] { [sealKey, otherSealKey].compactMap(\.self) }

    /// The names of the variables with the URL and the keys.
    var variableNames: [String] { ([url] + keys).compactMap(\.variableName) }

    /// The paths of the keys' files; a key may be in a variable instead.
    func keyPaths(in folder: String) -> [String] { keys.compactMap { $0.path(in: folder) } }

    /// Returns the settings; nil after reporting a problem.
    func resolved(
        in environment: [String: String], folder: String, noting problems: inout [ConfigurationProblem]
    ) -> ReplicaSettings? {
        let text = url.resolved(
            in: environment, folder: folder, hint: "set it to the URL of the database", noting: &problems)
        func key(_ reference: SecretReference?) -> SealingKey? {
            reference?.resolved(
                in: environment, folder: folder, hint: "set it to the Base64 of 32 random bytes",
                noting: &problems
            )?.parsed(Self.sealingKey, noting: &problems)
        }
        let (sealingKey, otherSealingKey) = (key(sealKey), key(otherSealKey))
        // A store that should be sealed is not written plain.
        guard let text, (sealingKey == nil) == (sealKey == nil) else { return nil }
        return ReplicaSettings(
            url: text.text, lease: lease, sealingKey: sealingKey, otherSealingKey: otherSealingKey)
    }

    private static func sealingKey(_ text: String) throws(InvalidSetting) -> SealingKey {
        try checked(
            (try? Secret(base64: text)).flatMap(SealingKey.init), "is not the Base64 of 32 bytes",
            hint: "make one with: head -c 32 /dev/urandom | base64")
    }
}
