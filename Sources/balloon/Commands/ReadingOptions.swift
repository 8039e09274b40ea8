import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// The options of commands that read a data directory: its path, and whether the output is JSON.
struct ReadingOptions: ParsableArguments {
    @OptionGroup var place: DataOptions

    @Flag(help: "Write one JSON object in each line.")
    var json = false

    /// The data directory.
    var data: String { get throws { try place.data } }

    /// The conversations' files, possibly none; throws unless a server created the directory.
    func files() throws -> ConversationFiles {
        try check()
        return ConversationFiles(dataDirectory: try data)
    }

    /// The journal; throws unless a server created the directory.
    func journal() throws -> JournalFiles {
        try check()
        return JournalFiles(dataDirectory: try data)
    }

    /// The business with that slug, identifier or beginning of one; nil without a name.
    func business(_ name: String?) throws -> BusinessID? {
        guard let name else { return nil }
        var known: [KnownBusiness] = []
        if let config = place.config {
            known = try ConfigurationLoader.businesses(file: config).map {
                KnownBusiness(slug: $0.slug, id: $0.id)
            }
        } else if let server = try DevelopmentServer.read(in: try data) {
            known = server.businesses.map { KnownBusiness(slug: $0.slug, id: $0.id) }
        }
        for id in try files().businesses() where !known.contains(where: { $0.id == id }) {
            known.append(KnownBusiness(slug: nil, id: id))
        }
        if let business = try? KnownBusiness.find(name, among: known) { return business.id }
        // Messages of a business whose conversations are not kept.
        try journal().forEach { event in
            guard !known.contains(where: { $0.id == event.business }) else { return }
            known.append(KnownBusiness(slug: nil, id: event.business))
        }
        return try KnownBusiness.find(name, among: known).id
    }

    /// Throws unless a server created the directory and it is readable, because a missing directory is not an
    /// empty one.
    func check() throws {
        let data = try data
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        try Store.check(data)
    }
}

extension ReadingOptions {
    /// Writes the names of a list's columns when a person reads it.
    func writeHeader(_ columns: String...) {
        guard !json, StandardStream.output.isTerminal else { return }
        StandardStream.output.write(TerminalStyle.output.faint(columns.joined(separator: "  ")) + "\n")
    }

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
