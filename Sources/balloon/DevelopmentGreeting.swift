import BalloonJSON
import BalloonPOSIX
import MessageServer

/// The text that `balloon dev` prints when it is ready.
struct DevelopmentGreeting {
    let server: DevelopmentServer
    let directory: String
    let handlers: [BusinessConfiguration]
    /// The configuration file, if any.
    var config: String?
    /// The address of the inspector's page, with its token.
    let page: String

    /// The addresses, and commands that can be copied to a terminal in the same working directory.
    var text: String {
        """
        balloon dev listens on \(server.server) and stores its data in \(terminalText(directory))
        the gateway is simulated at \(server.gateway)
        the phone and the timeline are at \(page)

        try, in another terminal:
        \(commands.map { "  \(ProgramName.here()) \($0)\n" }.joined())
        """
    }

    private var commands: [String] {
        let data = directory == Dev.defaultDirectory ? "" : " --data \(shellWord(directory))"
        // A business that only records would not answer.
        let example = handlers.first { !$0.onlyRecords } ?? handlers.first
        let business = handlers.count == 1 ? "" : example.map { " --business \($0.slug)" } ?? ""
        var commands = ["simulate text --wait\(business)\(data)"]
        if example?.isDemo ?? false {
            commands.append("simulate --choose 2 --wait\(business)\(data)")
        }
        commands.append("chat\(business)\(data)")
        // A builtin handler runs inside the server: it has no process to restart and no log of its own.
        if let program = handlers.first(where: \.isProgram) {
            commands += ["handlers logs \(program.slug)\(data)", "handlers restart \(program.slug)\(data)"]
        }
        if let app = server.apps.first {
            let config = config.map { " --config \(shellWord($0))" } ?? ""
            commands.append("retention apply\(config) --data \(shellWord(directory)) --app \(app.slug)")
            commands.append("simulate cancel --app \(app.slug)\(data)")
        }
        return commands + ["conversations show\(data)"]
    }
}

extension BusinessConfiguration {
    fileprivate var isDemo: Bool {
        if case .builtin(DemoHandlerFactory().name, _) = handler { true } else { false }
    }

    fileprivate var onlyRecords: Bool {
        if case .builtin(HandlerBinding.none, _) = handler { true } else { false }
    }

    fileprivate var isProgram: Bool { if case .bound("exec", _) = handler { true } else { false } }
}

/// The command by which a shell in the working directory can start this program again.
enum ProgramName {
    /// The command as one shell word, in its shortest form.
    ///
    /// The forms are the bare name, when the search path finds this program under it, a path below the working
    /// directory, and the absolute path.
    static func here() -> String {
        // Without /proc the path of the program is unknown; the bare name probably starts it.
        guard let program = try? ProcessPaths.executable(),
            let directory = try? ProcessPaths.workingDirectory()
        else { return "balloon" }
        return shellWord(
            shortest(program, directory, searchPath: ProcessEnvironment.variables()["PATH"] ?? "") {
                ProcessPaths.resolved($0)
            })
    }

    static func shortest(
        _ program: String, _ directory: String, searchPath: String, resolve: (String) -> String?
    ) -> String {
        let name = String(program.split(separator: "/").last ?? "")
        let first = searchPath.split(separator: ":").compactMap { resolve($0 + "/" + name) }.first
        if first == program { return name }
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        guard program.hasPrefix(prefix) else { return program }
        let relative = String(program.dropFirst(prefix.count))
        return relative.contains("/") ? relative : "./" + relative
    }
}

/// Quotes `text` where necessary, so that a shell reads it as one word.
func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { $0.isDigit || $0.isLetter || "/._-+:,@%".utf8.contains($0) }
    if isPlain, !text.isEmpty { return text }
    return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
