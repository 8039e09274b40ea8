import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageServer
import MessageStore

/// `balloon attachments …`: the files that customers sent; works while a server runs.
struct Attachments: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and get the files that customers sent.", subcommands: [List.self, Get.self])

    /// `balloon attachments list`: lists the files that customers sent.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the files: time, hash, bytes, customer, name and media type.",
            discussion: """
                For a file without content, the reason replaces the hash: its download failed, or it is no longer kept. Name and media \
                type are the device's claims.
                """)

        @Option(help: .value("id", "Only files of the customer with this identifier."))
        var customer: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let files = try options.files()
            let contents = AttachmentFiles(dataDirectory: try options.data)
            options.writeHeader("TIME", "HASH", "BYTES", "CUSTOMER", "NAME", "TYPE")
            var entries: [AttachmentEntry] = []
            for conversation in try files.list()
            where customer == nil || conversation.customer.rawValue == customer {
                for line in try files.lines(of: conversation.business, conversation.customer) {
                    entries += AttachmentEntry.entries(of: line, conversation.business, contents)
                }
            }
            for entry in entries.sorted(by: { $0.line.at < $1.line.at }) {
                options.write(entry.text, json: entry.json)
            }
        }
    }

    /// `balloon attachments get`: writes the content of one file.
    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a file's content to standard output, or to a file.",
            discussion: "The file name claimed by the device is never used as a path.")

        @Argument(help: .value("hash", "The file's hash, or its beginning."))
        var hash: String

        @Option(help: .value("file", "The output file; an existing file is not replaced."))
        var output: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let contents = AttachmentFiles(dataDirectory: try options.data)
            _ = try options.files()
            let names = try contents.names(beginning: hash.lowercased())
            guard hash.utf8.count >= 2, names.count == 1, let path = contents.existing(names[0]) else {
                throw CommandFailure.unknownAttachment(terminalText(hash))
            }
            let source = try CommandFile.open(path, named: path)
            guard let output else {
                return try CommandFile.copy(
                    source, named: hash, to: "standard output", CommandFile.writeToOutput)
            }
            let target = try CommandFile.create(output)
            do throws(CommandFailure) {
                try CommandFile.copy(source, named: hash, to: output, target.append)
                try CommandFile.write(to: output) { _ throws(SystemError) in try target.synchronize() }
            } catch {
                // Remove the partial copy, which would look complete. An error of the removal is ignored,
                // because the first error is the one to report.
                try? FileOwner.asRealUser { () throws(SystemError) in try Directory.remove(output) }
                throw error
            }
        }
    }
}

/// One attachment of a conversation, as the list shows it.
private struct AttachmentEntry {
    let line: ConversationLine
    let business: BusinessID
    let file: RecordedFile
    let isKept: Bool
    let name: String?
    let mediaType: String?

    static func entries(
        of line: ConversationLine, _ business: BusinessID, _ contents: AttachmentFiles
    ) -> [AttachmentEntry] {
        let claims = line.message["attachments"].map { Array($0.elements) } ?? []
        return line.files.enumerated().map { index, file in
            let claim = claims.indices.contains(index) ? claims[index] : nil
            var isKept = false
            if case .stored(let sha256, _) = file { isKept = contents.existing(sha256) != nil }
            return AttachmentEntry(
                line: line, business: business, file: file, isKept: isKept, name: claim?["name"]?.string,
                mediaType: claim?["mimeType"]?.string ?? claim?["mime-type"]?.string)
        }
    }

    var text: String {
        let state =
            switch file {
            case .stored(let sha256, let sizeBytes): isKept ? "\(sha256)  \(sizeBytes)" : "(no longer kept)"
            case .failed(let reason): "(\(reason))"
            }
        let claims = [name, mediaType].compactMap { $0 }.joined(separator: "  ")
        return terminalText("\(line.at)  \(state)  \(line.customer)  \(claims)") + "\n"
    }

    var json: String {
        jsonLine { writer in
            writer.field("at", line.at.rfc3339)
            writer.field("business", business.rawValue)
            writer.field("customer", line.customer.rawValue)
            writer.field("message", line.id.rawValue)
            switch file {
            case .stored(let sha256, let sizeBytes):
                writer.fields(["sha256": sha256, "size": sizeBytes, "kept": isKept])
            case .failed(let reason): writer.field("failure", reason)
            }
            writer.fields(["claimedName": name, "claimedType": mediaType])
        }
    }
}
