import BalloonPOSIX
import BusinessMessages

extension HandlerCheck.Sample {
    /// Creates an event from a message of a customer whose device can show everything.
    ///
    /// `file` is the name of the author's file; nil for a canned message.
    init(_ message: JSONDocument, file: String? = nil) {
        let attributes = MessageAttributes(
            capabilities: [.quickReply, .listPicker, .timePicker, .form, .authentication, .authentication2],
            locale: "en_US")
        self.init(event: InboundEvent.decode(message: message, attributes: attributes), file: file)
    }

    /// The author's messages: one in each `.json` file of a directory, in the order of their names.
    static func all(in directory: String) throws -> [HandlerCheck.Sample] {
        let names: [String]
        do throws(SystemError) { names = try Directory.names(in: directory) } catch {
            throw CommandFailure.unknownArgument(
                terminalText(directory), reason: "cannot be read: \(error)",
                hint: "name a directory of .json files")
        }
        let files = names.filter { $0.hasSuffix(".json") }
        guard !files.isEmpty else {
            throw CommandFailure.unknownArgument(
                terminalText(directory), reason: "has no .json file",
                hint: "put one message of a customer into each file")
        }
        return try files.map { HandlerCheck.Sample(try CommandFile.json(directory + "/" + $0), file: $0) }
    }
}
