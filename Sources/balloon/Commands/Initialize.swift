import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import CTemplates

/// `balloon init`: writes an initial configuration and a working handler.
struct Initialize: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Write an initial configuration and a working handler.",
        discussion: "Existing files are not overwritten.")

    /// The programming language of the handler that is written.
    enum Language: String, ExpressibleByArgument, CaseIterable {
        case python, node, shell, swift

        /// The path of the handler program, relative to the directory that the command writes to.
        var program: String {
            switch self {
            case .python: "shop.py"
            case .node: "shop.mjs"
            case .shell: "shop.sh"
            case .swift: ".build/debug/shop"
            }
        }
    }

    @Argument(help: .value("dir", "The directory to write to."))
    var directory = "."

    @Option(help: "The handler's language.")
    var handler: Language

    @Option(
        help: .value("dir", "The path of this server's package, relative to dir; for a handler in Swift."))
    var package = "../balloon"

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The directory's name is empty.") }
    }

    func run() throws {
        let files = files
        if let taken = files.first(where: { Directory.exists(path($0.name)) }) {
            throw CommandFailure.unknownArgument(
                terminalText(path(taken.name)), reason: "exists already", hint: "name another directory")
        }
        try write(files)
        for file in files { StandardStream.output.write("wrote \(terminalText(path(file.name)))\n") }
        StandardStream.output.write(next)
    }

    /// Writes all files; after an error it removes those that it wrote, so that the command can be repeated.
    private func write(_ files: [File]) throws(CommandFailure) {
        var made: [String] = []
        for (index, file) in files.enumerated() {
            let path = path(file.name)
            do throws(SystemError) {
                let folders = missing(above: path)
                made += folders
                try Directory.make(Directory.parent(of: path))
                try AtomicFile.write(Array(file.text.utf8), to: path)
                // The user of the image or of a systemd unit is another one. None of the files has a secret.
                for folder in folders { try Directory.makeExecutable(folder) }
                if file.isProgram {
                    try Directory.makeExecutable(path)
                } else {
                    try Directory.makeReadable(path)
                }
            } catch {
                // Errors of the removal are ignored. The last file may not exist yet, and a repeated command
                // names a file that was left behind.
                for written in files[...index] { try? Directory.remove(self.path(written.name)) }
                for directory in made.reversed() { try? Directory.removeEmpty(directory) }
                throw .unwritten(to: terminalText(path), error)
            }
        }
    }

    /// The missing directories above a file, the outermost first.
    private func missing(above path: String) -> [String] {
        let directory = Directory.parent(of: path)
        guard directory != path, !Directory.exists(directory) else { return [] }
        return missing(above: directory) + [directory]
    }

    private struct File {
        let name: String
        let text: String
        var isProgram = false
    }

    private var files: [File] {
        configuration + handlerFiles
    }

    private var configuration: [File] {
        let server = """
            {
                "mspID": "\(MessageID.random())",
                "secret": { "env": "BALLOON_SECRET" },
                "listen": "127.0.0.1:8080",
                "dataDirectory": "data"
            }

            """
        let business = Self.business(handler: "{ \"exec\": [\"../\(handler.program)\"] }")
        return [File(name: "server.json", text: server), File(name: "businesses/shop.json", text: business)]
    }

    /// The file of a business with this member `handler`.
    static func business(handler: String) -> String {
        """
        {
            "businessID": "\(MessageID.random())",
            "name": "Shop",
            "handler": \(handler),
            "fallback": { "text": "An agent will reply soon." },
            "people": { "text": "A colleague answers in a few minutes." },
            "disclosure": "You are writing with an automated assistant. Write help for a person.",
            "firstAnswer": { "text": "One moment, please." },
            "replies": { "typing": {}, "links": "convert" }
        }

        """
    }

    private var handlerFiles: [File] {
        let templates: [(name: String, template: HandlerTemplate)] =
            switch handler {
            case .python: [(handler.program, .pythonShop), ("balloon.py", .pythonLibrary)]
            case .node: [(handler.program, .nodeShop), ("balloon.mjs", .nodeLibrary)]
            case .shell: [(handler.program, .shellShop)]
            case .swift:
                [
                    ("Package.swift", .swiftPackage), ("Sources/shop/main.swift", .swiftMain),
                    ("Sources/shop/Shop.swift", .swiftShop),
                ]
            }
        return templates.map { name, template in
            let text = template.text
            return File(
                name: name,
                text: template == .swiftPackage ? text.replacing("../../..", with: package) : text,
                isProgram: name == handler.program)
        }
    }

    /// The commands that the user runs next, one on each line.
    private var next: String {
        let program = handler == .swift ? handler.program : "./" + handler.program
        let build = handler == .swift ? "  swift build\n" : ""
        let place = package.hasPrefix("/") ? package : path(package)
        let isLost = handler == .swift && !Directory.exists(place + "/Package.swift")
        let lost =
            isLost
            ? """

            The server's package was not found in \(terminalText(place)): correct its path in \(terminalText(path("Package.swift"))).

            """ : ""
        return lost + """

            Now, in \(terminalText(directory)):
            \(build)  balloon handlers check \(program)
              balloon dev --handler \(program)
              balloon simulate text --wait          (in a second terminal)
            Later, with the identifiers from Apple Business Register in server.json and businesses/shop.json:
              BALLOON_SECRET=… balloon serve --config server.json

            """
    }

    private func path(_ name: String) -> String { directory == "." ? name : directory + "/" + name }
}
