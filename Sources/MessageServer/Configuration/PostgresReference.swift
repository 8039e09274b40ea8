import BalloonWire
import Replication

/// The reference to a store in PostgreSQL: `{"url": {"env": "NAME"}, "leaseSeconds": 10, "sealKey": {"file": "PATH"}}`.
struct PostgresReference: Equatable {
    private let url: SecretReference
    private let lease: Duration
    private let sealKey: SecretReference?

    /// Reads the reference; nil after reporting a problem.
    static func read(_ reader: inout ObjectReader) -> PostgresReference? {
        let hint = "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"} of the database's URL"
        reader.require("url", hint: hint)
        var lease = Duration.seconds(10)
        reader.set(&lease, "leaseSeconds", in: 3...60, of: .seconds(1))
        let sealKey = reader.object("sealKey", SecretReference.read)
        return reader.object("url", SecretReference.read).map {
            PostgresReference(url: $0, lease: lease, sealKey: sealKey)
        }
    }

    /// The names of the variables with the URL and the key.
    var variableNames: [String] { [url.variableName, sealKey?.variableName].compactMap(\.self) }

    /// The path of the key's file; nil when a variable has it.
    func keyPath(in folder: String) -> String? { sealKey?.path(in: folder) }

    /// Returns the settings; nil after reporting a problem.
    func resolved(
        in environment: [String: String], folder: String, noting problems: inout [ConfigurationProblem]
    ) -> ReplicaSettings? {
        let text = url.resolved(
            in: environment, folder: folder, hint: "set it to the URL of the database", noting: &problems)
        var key: SealingKey?
        if let sealKey {
            key = sealKey.resolved(
                in: environment, folder: folder, hint: "set it to the Base64 of 32 random bytes",
                noting: &problems
            )?.parsed(Self.sealingKey, noting: &problems)
            // A store that should be sealed is not written plain.
            if key == nil { return nil }
        }
        return text.map { ReplicaSettings(url: $0.text, lease: lease, sealingKey: key) }
    }

    private static func sealingKey(_ text: String) throws(InvalidSetting) -> SealingKey {
        try checked(
            (try? Secret(base64: text)).flatMap(SealingKey.init), "is not the Base64 of 32 bytes",
            hint: "make one with: head -c 32 /dev/urandom | base64")
    }
}
