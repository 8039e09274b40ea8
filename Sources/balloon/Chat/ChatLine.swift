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

    /// Parses a line; a line that begins with `/`, `./` or `../` and names an existing file is a file to send.
    init(_ line: String) {
        switch line {
        case "/typing": self = .typing
        case "/close": self = .close
        case "/json": self = .json
        case "/cancel": self = .cancel
        case "/help": self = .help
        case "/quit": self = .quit
        default:
            let isPath = line.hasPrefix("/") || line.hasPrefix("./") || line.hasPrefix("../")
            if isPath, Directory.exists(line), !Directory.isDirectory(line) {
                self = .file(line)
            } else if line.hasPrefix("/") {
                self = .unknownCommand(line)
            } else {
                self = .text(line)
            }
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
