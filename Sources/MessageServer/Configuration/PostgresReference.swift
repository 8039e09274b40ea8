import Replication

/// The reference to a store in PostgreSQL: `{"url": {"env": "NAME"}, "leaseSeconds": 10}`.
struct PostgresReference: Equatable {
    private let url: SecretReference
    private let lease: Duration

    /// Reads the reference; nil after reporting a problem.
    static func read(_ reader: inout ObjectReader) -> PostgresReference? {
        reader.require("url", hint: "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"} of the database's URL")
        var lease = Duration.seconds(10)
        reader.set(&lease, "leaseSeconds", in: 3...60, of: .seconds(1))
        return reader.object("url", SecretReference.read).map { PostgresReference(url: $0, lease: lease) }
    }

    /// The name of the variable with the URL; nil when a file has it.
    var variableName: String? { url.variableName }

    /// Returns the settings; nil after reporting a problem.
    func resolved(
        in environment: [String: String], folder: String, noting problems: inout [ConfigurationProblem]
    ) -> ReplicaSettings? {
        let hint = "set it to the URL of the database"
        return url.resolved(in: environment, folder: folder, hint: hint, noting: &problems).map {
            ReplicaSettings(url: $0.text, lease: lease)
        }
    }
}
