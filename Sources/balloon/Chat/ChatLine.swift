import BalloonPOSIX

/// The meaning of a line that a person types in `balloon chat`.
enum ChatLine: Equatable {
    case text(String)
    case file(String)
    case typing
    case close
    case json
    case cancel
    case help
    case quit
    case unknownCommand(String)

    private static let commands: [String: ChatLine] = [
        "/typing": .typing, "/close": .close, "/json": .json, "/cancel": .cancel, "/help": .help,
        "/quit": .quit,
    ]

    /// Parses a line; a line that begins with `/`, `./` or `../` and names an existing file is a file to send.
    init(_ line: String) {
        let isPath = line.hasPrefix("/") || line.hasPrefix("./") || line.hasPrefix("../")
        if let command = Self.commands[line] {
            self = command
        } else if isPath, Directory.exists(line), !Directory.isDirectory(line) {
            self = .file(line)
        } else if line.hasPrefix("/") {
            self = .unknownCommand(line)
        } else {
            self = .text(line)
        }
    }

    static let usage = """
        a number or a title   answers the newest question
        ./picture.png         sends a file
        /typing               shows that you are typing
        /close                closes the conversation
        /cancel               leaves a form without sending it
        /json                 shows messages as JSON, or no longer
        /quit                 ends

        """
}
