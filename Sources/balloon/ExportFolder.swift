import BalloonPOSIX
import BalloonWire
import BusinessMessages
import GatewayClient
import MessageServer
import MessageStore

/// A folder with copies of conversations, which gets its name when it is complete.
///
/// The data directory is read with the rights of its owner, and the folder is written with those of the user who started
/// the command.
struct ExportFolder {
    /// The content of an export.
    struct Counts: Equatable {
        var conversations = 0
        var lines = 0
        var files = 0
        /// The files that lines name and the data directory no longer has.
        var missingFiles = 0
    }

    private(set) var counts = Counts()
    private let path: String
    private let data: String
    private let contents: AttachmentFiles
    private var copied: Set<String> = []

    private var unfinished: String { path + ".new" }

    /// Creates the unfinished folder.
    init(_ path: String, dataDirectory: String) throws(CommandFailure) {
        self.path = path
        data = dataDirectory
        contents = AttachmentFiles(dataDirectory: dataDirectory)
        try CommandFile.write(to: unfinished) { path throws(SystemError) in try Directory.make(path) }
    }

    /// Adds a conversation with the files that it names.
    mutating func add(_ lines: [ConversationLine], of business: BusinessID) throws(CommandFailure) {
        counts.conversations += 1
        counts.lines += lines.count
        let folder = "\(unfinished)/conversation-\(counts.conversations)"
        try CommandFile.write(to: folder) { path throws(SystemError) in try Directory.make(path) }
        let head =
            terminalText("business \(business)  customer \(lines.first?.customer.rawValue ?? "-")") + "\n"
        try write(
            lines.map { ConversationRendering.json($0, withFiles: true) }, to: folder + "/messages.ndjson")
        try write([head] + lines.map { ConversationRendering.text($0) }, to: folder + "/transcript.txt")
        try synchronize(folder)
        for line in lines {
            for case .stored(let sha256, _) in line.files where copied.insert(sha256).inserted {
                try copy(sha256)
            }
        }
    }

    /// Adds the latest state of each attempt of the customers to pay.
    func addPayments(of customers: Set<CustomerID>) throws {
        let hashes = Set(customers.map { Hex.encode(SHA256.hash(Array($0.rawValue.utf8))) })
        let attempts = try PaymentRecordList(dataDirectory: data).attempts().attempts
            .filter { hashes.contains($0.customer) }
        guard !attempts.isEmpty else { return }
        try write(attempts.map(PaymentsCommand.json), to: unfinished + "/payments.ndjson")
    }

    /// Gives the folder its name, once all its content is on disk.
    func finish() throws(CommandFailure) {
        let unfinished = unfinished
        if counts.files > 0 { try synchronize(unfinished + "/files") }
        try synchronize(unfinished)
        try CommandFile.write(to: path) { path throws(SystemError) in
            try Directory.rename(unfinished, to: path)
            try Directory.synchronize(Directory.parent(of: path))
        }
    }

    private mutating func copy(_ sha256: String) throws(CommandFailure) {
        guard let source = contents.existing(sha256) else {
            counts.missingFiles += 1
            return
        }
        let target = unfinished + "/files"
        try CommandFile.write(to: target) { path throws(SystemError) in
            if !Directory.exists(path) { try Directory.make(path) }
        }
        let input = try CommandFile.open(source, named: sha256)
        let path = target + "/" + sha256
        let output = try CommandFile.create(path)
        try CommandFile.copy(input, named: sha256, to: path, output.append)
        try CommandFile.write(to: path) { _ throws(SystemError) in try output.synchronize() }
        counts.files += 1
    }

    private func write(_ lines: [String], to path: String) throws(CommandFailure) {
        try CommandFile.write(to: path) { path throws(SystemError) in
            let file = try File(path, for: .creating)
            for line in lines { try file.append(Array(line.utf8)) }
            try file.synchronize()
        }
    }

    private func synchronize(_ folder: String) throws(CommandFailure) {
        try CommandFile.write(to: folder) { path throws(SystemError) in try Directory.synchronize(path) }
    }
}
