import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer
import MessageStore

/// `balloon backup`: copies a data directory into one file.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the data directory into a tar file; works while a server runs.",
        discussion: """
            The file has every message that was answered with 200 before the command began. It has mode 0600 and gets its name \
            when it is complete; until then it ends in .new. Check it with tar and sha256sum -c SHA256SUMS; restore it with balloon \
            restore. Not included: open sign-ins and payments, the configuration and its secrets, and what handlers stored.

            The server deletes and rewrites no stored file meanwhile, for at most six hours.
            """)

    @Argument(help: .value("file", "The file to create; - writes to standard output."))
    var file: String

    @OptionGroup var options: ReadingOptions

    func validate() throws {
        if file == "-" {
            if StandardStream.output.isTerminal {
                throw ValidationError(
                    "Standard output is a terminal; name a file, or a program that reads it.")
            }
            return
        }
        for path in [file, file + ".new"] where Directory.exists(path) {
            throw ValidationError("\(terminalText(path)) exists; name another file, or remove it.")
        }
    }

    func run() async throws {
        try options.check()
        let data = try options.place.data
        let settings = try options.place.erasureSettings()
        let report =
            try await file == "-"
            ? write(data, settings, to: CommandFile.writeToOutput) : writeFile(data, settings)
        let line = options.json ? json(report) : text(report)
        if file == "-" { StandardStream.error.write(line) } else { StandardStream.output.write(line) }
    }

    /// Copies the directory as its owner; `whole` then makes the archive durable as the user of the command.
    private func write(
        _ data: String, _ settings: CustomerErasure.Settings, to sink: @escaping Backup.Sink,
        whole: () throws(SystemError) -> Void = {}
    ) async throws -> Backup.Report {
        try StoreChange.actAsOwner(of: data)
        let report = try await Backup.write(of: data, settings, program: BuildVersion.text, to: sink)
        do throws(SystemError) {
            try FileOwner.actAsRealUser()
            try whole()
        } catch {
            throw CommandFailure.unwritten(to: terminalText(file), error)
        }
        try StoreChange.actAsOwner(of: data)
        try Backup.recordSuccess(report, in: data)
        StoreChange.audit("balloon backup", data)
        return report
    }

    private func writeFile(
        _ data: String, _ settings: CustomerErasure.Settings
    ) async throws -> Backup.Report {
        let unfinished = file + ".new"
        let target = try CommandFile.create(unfinished)
        do {
            return try await write(data, settings, to: target.append) { () throws(SystemError) in
                try target.synchronize()
                try Directory.rename(unfinished, to: file)
                try Directory.synchronize(Directory.parent(of: file))
            }
        } catch {
            // Ignore errors of the removal, because the first error is the one to report.
            try? FileOwner.actAsRealUser()
            try? Directory.remove(unfinished)
            throw error
        }
    }

    private func text(_ report: Backup.Report) -> String {
        let manifest = report.manifest
        let missing =
            report.missingContents == 0 ? "" : "; \(report.missingContents) attachments are no longer kept"
        let target = file == "-" ? "standard output" : terminalText(file)
        return
            "backed up \(manifest.files) files (\(manifest.bytes) bytes), up to record \(manifest.record), to \(target)\(missing)\n"
    }

    private func json(_ report: Backup.Report) -> String {
        jsonLine([
            "file": file, "id": report.manifest.id, "at": report.manifest.at.rfc3339,
            "record": Int(clamping: report.manifest.record), "files": report.manifest.files,
            "bytes": report.manifest.bytes, "missingFiles": report.missingContents,
        ])
    }
}
