import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import Logging
import MessageServer
import MessageStore
import Synchronization

/// `balloon restore`: creates a data directory from a backup.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup into an empty data directory.",
        discussion: """
            Checks every file against the backup's list, writes lines that the journal has and the conversations lack, and \
            erases the customers that the ledger names. Messages and replies that were unfinished become dead letters at the next \
            start, because the lost server may have handled them after the backup; with --deliver they are delivered and sent. Open \
            sign-ins and payments are not restored.

            After an error, empty the directory and run the command again. Exits with 65 when the backup is damaged, or when the \
            restored directory has problems; it lists them.
            """)

    @Argument(help: .value("file", "The backup; - reads standard input."))
    var file: String

    @Option(help: .value("file", "The latest ledger of erasures; else the one that the configuration names."))
    var erasures: String?

    @Flag(help: "Restore without a ledger: customers that were erased since the backup return.")
    var withoutErasures = false

    @Flag(help: "Deliver and send what was unfinished.")
    var deliver = false

    @OptionGroup var options: ReadingOptions

    func validate() throws {
        if withoutErasures, erasures != nil {
            throw ValidationError("Name --erasures or --without-erasures, not both.")
        }
    }

    func run() async throws {
        var restoration = Restoration.Options()
        restoration.delivers = deliver
        restoration.erasures = try options.place.erasureSettings()
        if !withoutErasures {
            guard let path = erasures ?? restoration.erasures.ledger else { throw BackupError.ledgerMissing }
            guard let ledger = try ErasureLedger(path) else {
                throw CommandFailure.malformed(path: terminalText(path), reason: "does not exist")
            }
            restoration.ledger = ledger
            restoration.ledgerPath = terminalText(path)
        }
        let data = try options.place.data
        let source = try source()
        try StoreChange.actAsOwner(of: data)
        let report = try await Restoration.run(
            from: source, into: data, restoration, logger: LogOptions.start())
        StoreChange.audit("balloon restore", data)
        options.write(text(report, data), json: json(report, data))
        try StoreVerification.requireSoundness(of: data)
        if !report.erased.unreached.isEmpty {
            throw CommandFailure.notErased(report.erased.unreached.map { terminalText($0) })
        }
    }

    /// Reads the backup from its file, or from standard input.
    private func source() throws -> Backup.Source {
        if file == "-" {
            return { maximum throws(SystemError) in
                let input = Descriptor(owning: 0)
                var bytes: [UInt8] = []
                do throws(SystemError) { _ = try input.read(onto: &bytes, maximumBytes: maximum) } catch {
                    _ = input.release()
                    throw error
                }
                _ = input.release()
                return bytes
            }
        }
        let archive: File
        do { archive = try File(file, for: .readingGiven) } catch {
            throw CommandFailure.unreadable(path: terminalText(file), error)
        }
        let position = Atomic(0)
        return { maximum throws(SystemError) in
            let bytes = try archive.read(at: position.load(ordering: .relaxed), count: maximum)
            position.add(bytes.count, ordering: .relaxed)
            return bytes
        }
    }

    private func text(_ report: Restoration.Report, _ data: String) -> String {
        let manifest = report.manifest
        var text =
            "restored \(manifest.files) files (\(manifest.bytes) bytes), up to record \(manifest.record), to "
        text += terminalText(data) + "\n"
        if report.erased.conversations > 0 {
            let noun = report.erased.conversations == 1 ? "conversation" : "conversations"
            text += "erased \(report.erased.conversations) \(noun) that the ledger names\n"
        }
        return text
    }

    private func json(_ report: Restoration.Report, _ data: String) -> String {
        jsonLine([
            "data": data, "backup": report.manifest.id, "at": report.manifest.at.rfc3339,
            "record": Int(clamping: report.manifest.record), "files": report.manifest.files,
            "bytes": report.manifest.bytes, "erasedConversations": report.erased.conversations,
        ])
    }
}
