import ArgumentParser
import BalloonPOSIX
import MessageStore

/// The options of commands that read a data directory: its path, and whether the output is JSON.
struct ReadingOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data directory.", valueName: "dir"))
    var data = "data"

    @Flag(help: "Write one JSON object in each line.")
    var json = false

    /// The conversations' files, possibly none; throws unless a server created the directory.
    func files() throws -> ConversationFiles {
        try check()
        return ConversationFiles(dataDirectory: data)
    }

    /// The journal; throws unless a server created the directory.
    func journal() throws -> JournalFiles {
        try check()
        return JournalFiles(dataDirectory: data)
    }

    /// Throws unless a server created the directory and it is readable, because a missing directory is not an
    /// empty one.
    func check() throws {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        try Store.check(data)
    }
}

extension ReadingOptions {
    /// Writes a result in the form that was asked for.
    func write(_ text: @autoclosure () -> String, json line: @autoclosure () -> String) {
        StandardStream.output.write(json ? line() : text())
    }

    /// Writes an event in the form that was asked for.
    func write(_ event: JournalEvent) {
        write(EventRendering.text(event), json: EventRendering.json(event, withMessage: false))
    }

    /// Writes a reply in the form that was asked for.
    func write(_ reply: JournalReply) {
        write(ReplyRendering.text(reply), json: ReplyRendering.json(reply, withMessage: false))
    }

    /// Writes that a message was dropped, by this command or by an earlier one.
    func writeDropped(_ record: UInt64, isRepetition: Bool) {
        write(dropped(record, isRepetition), json: EventRendering.json(record, .dropped))
    }

    /// Writes that a reply was dropped, by this command or by an earlier one.
    func writeDropped(_ reply: ReplyID, isRepetition: Bool) {
        write(dropped(reply, isRepetition), json: ReplyRendering.json(reply, .dropped))
    }

    private func dropped(_ name: some CustomStringConvertible, _ isRepetition: Bool) -> String {
        "\(name) \(isRepetition ? "already" : "is") dropped\n"
    }
}
