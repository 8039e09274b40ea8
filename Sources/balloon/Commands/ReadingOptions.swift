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

    /// The data directory; the process then has the rights of its owner, if it had root's.
    ///
    /// No command reads a file of a data directory with more rights, because its owner may have put a link to another
    /// file in that place.
    var data: String {
        get throws {
            let data = try place.data
            try StoreChange.actAsOwner(of: data)
            return data
        }
    }

    /// Opens the conversations' files for reading; throws unless a server created the data directory.
    func files() throws -> ConversationFiles {
        try check()
        return ConversationFiles(dataDirectory: try data)
    }

    /// Opens the journal for reading; throws unless a server created the data directory.
    func journal() throws -> JournalFiles {
        try check()
        return JournalFiles(dataDirectory: try data)
    }

    /// The business that `name` names by its slug, its identifier, or the beginning of either; nil without a name.
    ///
    /// Throws when no business matches, or several do.
    func business(_ name: String?) throws -> BusinessID? {
        guard let name else { return nil }
        var known: [KnownBusiness] = []
        if let config = place.config {
            known = try ConfigurationLoader.businessConfigurations(file: config).map {
                KnownBusiness(slug: $0.slug, id: $0.businessID)
            }
        } else if let server = try DevelopmentServer.read(in: try data) {
            known = server.businesses
        }
        for id in try files().businesses() where !known.contains(where: { $0.id == id }) {
            known.append(KnownBusiness(slug: nil, id: id))
        }
        if let business = try? KnownBusiness.find(name, among: known) { return business.id }
        // Also search the journal, because a business whose conversations are not kept has no conversation
        // file.
        try journal().forEach { event in
            guard !known.contains(where: { $0.id == event.business }) else { return }
            known.append(KnownBusiness(slug: nil, id: event.business))
        }
        return try KnownBusiness.find(name, among: known).id
    }

    /// Throws unless a server created the data directory and the directory is readable.
    ///
    /// Without this check, a mistyped path would look like an empty data directory.
    func check() throws { try StoreChange.check(try data) }

    /// Writes the names of a list's columns, if the output is text on a terminal.
    func writeHeader(_ columns: String...) {
        guard !json, StandardStream.output.isTerminal else { return }
        StandardStream.output.write(TerminalStyle.output.faint(columns.joined(separator: "  ")) + "\n")
    }

    /// Writes a result to standard output: as JSON with `--json`, otherwise as text.
    func write(_ text: @autoclosure () -> String, json line: @autoclosure () -> String) {
        StandardStream.output.write(json ? line() : text())
    }

    /// Writes an event to standard output: as JSON with `--json`, otherwise as text.
    func write(_ event: JournalEvent) {
        write(EventRendering.text(event), json: EventRendering.json(event, withMessage: false))
    }

    /// Writes a dead letter to standard output: as JSON with `--json`, otherwise as text with the broken rules.
    func writeDeadLetter(_ event: JournalEvent) {
        write(EventRendering.deadLetter(event), json: EventRendering.json(event, withMessage: false))
    }

    /// Writes a reply to standard output: as JSON with `--json`, otherwise as text.
    func write(_ reply: JournalReply) {
        write(ReplyRendering.text(reply), json: ReplyRendering.json(reply, withMessage: false))
    }

    /// Writes a reversal to standard output: as JSON with `--json`, otherwise as text.
    func write(_ reversal: AttemptReversal) {
        write(ReversalRendering.text(reversal), json: ReversalRendering.json(reversal))
    }

    /// The reversals of payments; warns on standard error about damaged files.
    func reversals() throws -> [AttemptReversal] {
        try check()
        let (reversals, unreadable) = try AttemptReversal.all(dataDirectory: try data)
        if unreadable > 0 {
            StandardStream.error.write(
                "warning: \(unreadable) damaged files of payments are not listed; run balloon conversations verify\n"
            )
        }
        return reversals
    }

    /// Drops the replies that are not dropped yet, and writes what happened to each.
    func drop(_ replies: [JournalReply]) async throws {
        let active = replies.filter { $0.status != .dropped }.map(\.id)
        let results =
            active.isEmpty ? [] : try await ControlOperations.dropReplies.run(.named(active), data: try data)
        let repeated = Set(results.filter(\.isRepetition).map(\.reply))
        for reply in replies {
            writeDropped(
                .reply(reply.id), isRepetition: reply.status == .dropped || repeated.contains(reply.id))
        }
    }

    /// Writes that a dead letter was dropped, by this command or by an earlier one.
    func writeDropped(_ name: DeadLetterName, isRepetition: Bool) {
        write("\(name) \(isRepetition ? "already" : "is") dropped\n", json: name.json(.dropped))
    }
}
