import BalloonPOSIX

/// Files with JSON lines, one for each day, in a folder for each business or app:
/// `DIRECTORY/SLUG/PREFIXYYYY-MM-DD.jsonl`.
struct DayFiles: Sendable {
    let directory: String
    let prefix: String

    /// Appends a line to the file of its day; with `isSynced` it is on disk afterwards.
    func append(_ line: [UInt8], at: Timestamp, _ slug: String, isSynced: Bool = false) throws {
        let folder = directory + "/" + slug
        try Directory.make(folder)
        let path = "\(folder)/\(prefix)\(Self.day(of: at)).jsonl"
        let isNew = !Directory.exists(path)
        let file = try File(path, for: .appending)
        try file.appendLine(line)
        guard isSynced else { return }
        try file.synchronize()
        if isNew {
            try Directory.synchronize(folder)
            try Directory.synchronize(directory)
        }
    }

    /// Returns the paths of the files from the day of `start` on.
    func paths(_ slug: String, since start: Timestamp) throws -> [String] {
        try paths(slug) { $0 >= Self.day(of: start) }
    }

    /// Removes the files that are older than `days`.
    func sweep(_ slug: String, keeping days: Int, at now: Timestamp) throws {
        let first = Self.day(of: Timestamp(milliseconds: now.milliseconds - Int64(days) * 86_400_000))
        for path in try paths(slug, where: { $0 < first }) { try Directory.remove(path) }
    }

    /// Days of this form sort as texts.
    private static func day(of time: Timestamp) -> Substring { time.rfc3339.prefix(10) }

    private func paths(_ slug: String, where isWanted: (Substring) -> Bool) throws -> [String] {
        let folder = directory + "/" + slug
        guard Directory.exists(folder) else { return [] }
        return try Directory.names(in: folder).filter { name in
            name.hasPrefix(prefix) && name.hasSuffix(".jsonl")
                && isWanted(name.dropFirst(prefix.count).prefix(10))
        }.map { folder + "/" + $0 }
    }
}
