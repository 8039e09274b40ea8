internal import CBuild
import MessageStore

/// The program's version and the commit that it was built from.
struct BuildVersion {
    /// The version of the newest release in CHANGELOG.md.
    static let number = "0.2.0"

    /// The text that `balloon --version` prints.
    ///
    /// The data format is not the version's: a release may keep it.
    static let text = "\(BuildVersion(commit: knownCommit).text), data format \(Store.dataFormat)"

    /// The hash of the build's commit; `unknown` when the build did not know it.
    static let commit = knownCommit.split(separator: " ").first.map(String.init) ?? "unknown"

    /// `<hash> <date>` as `scripts/commit` prints it; empty when the build did not know the commit.
    let commit: String

    /// The number, followed by the commit with its date, or by `(commit unknown)`.
    var text: String {
        let parts = commit.split(separator: " ")
        guard parts.count == 2 else { return "\(Self.number) (commit unknown)" }
        return "\(Self.number) (commit \(parts[0]) of \(parts[1]))"
    }

    /// The commit that the build compiled into the target `CBuild`; empty when the build did not know it.
    ///
    /// The text is read byte by byte, because a pointer would need `unsafe`, which this target may not use.
    private static var knownCommit: String {
        let maximumBytes: UInt32 = 128
        let bytes = (0..<maximumBytes).lazy.map { balloon_commit_byte($0) }.prefix { $0 != 0 }
        return String(decoding: Array(bytes), as: UTF8.self)
    }
}
