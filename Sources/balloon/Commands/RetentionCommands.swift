import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer
import RetentionClient
import RetentionMessages

/// `balloon retention …`: the messages that the App Store shows to a subscriber before a cancellation.
struct RetentionCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "Prepare the messages that the App Store shows before a cancellation.",
        subcommands: [
            Check.self, Status.self, Plan.self, Apply.self, RetentionImages.self, RetentionTexts.self,
            RetentionDefaults.self, Address.self, PerformanceTest.self, RetentionRehearsal.self,
        ])

    /// `balloon retention check`: reads the apps as the server would.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Read the apps and their folders, and report everything that the App Store would refuse.")

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        func run() throws {
            let (apps, warnings) = try ConfigurationLoader.apps(file: config, handlers: BuiltinHandlers.all)
            for warning in warnings { StandardStream.error.write("warning: \(terminalText("\(warning)"))\n") }
            for app in apps {
                let folder = app.folder
                StandardStream.output.write(
                    "\(app.slug): \(folder.messages.count) messages, \(folder.images.count) images, "
                        + "\(folder.defaults.keys.count) defaults, \(folder.rules.rules.count) rules\n")
            }
        }
    }

    /// `balloon retention status`: the states of the messages at the App Store.
    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Ask for the states of messages and images, and record them for the server.")

        @OptionGroup var options: RetentionOptions

        func run() async throws {
            let target = try options.target()
            let states = try await target.application.states()
            for message in target.app.folder.messages {
                print("message", message.name, message.id, states.messages[message.id])
            }
            for image in target.app.folder.images {
                print("image", image.name, image.id, states.images[image.id])
            }
            let known = Set(target.app.folder.messages.map(\.id)).union(target.app.folder.images.map(\.id))
            for (kind, all) in [("message", states.messages), ("image", states.images)] {
                for (id, state) in all.sorted(by: { $0.key.text < $1.key.text }) where !known.contains(id) {
                    print(kind, "(not in the folder)", id, state)
                }
            }
        }

        private func print(_ kind: String, _ name: String, _ id: RetentionID, _ state: RetentionState?) {
            StandardStream.output.write(
                "\(kind) \(id) \(state?.rawValue ?? "ABSENT") \(terminalText(name))\n")
        }
    }

    /// `balloon retention plan`: the difference between the folder and the App Store.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print what apply would upload, set and delete; changes nothing at the App Store.")

        @OptionGroup var options: RetentionOptions

        func run() async throws {
            let target = try options.target()
            try await target.printPlan()
        }
    }

    /// `balloon retention apply`: changes the messages at the App Store to those of the folder.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Upload messages and images, wait for their approval, set the defaults, delete old ones.",
            discussion: """
                May be interrupted and repeated. Exits with 75 while Apple still checks something after the longest wait, and \
                with 1 when Apple rejected something; nothing else is changed then.
                """)

        @OptionGroup var options: RetentionOptions

        @Option(help: .value("minutes", "The longest wait for Apple's approval, in minutes."))
        var wait = 10

        @Flag(help: "Print what would be uploaded, set and deleted, and change nothing.")
        var dryRun = false

        @Flag(help: "Confirm a change of the production environment.")
        var yes = false

        func validate() throws {
            try require((0...1440).contains(wait), "--wait takes 0 to 1440.")
        }

        func run() async throws {
            let target = try options.target()
            guard !dryRun else {
                return try await target.printPlan()
            }
            try target.confirm(yes)
            switch try await target.application.run(longestWait: .seconds(wait * 60)) {
            case .done: StandardStream.output.write("the App Store has everything of the folder\n")
            case .pending(let names):
                StandardStream.error.write("pending: \(terminalText(names.joined(separator: ", ")))\n")
                throw ExitCode(CommandStatus.pending.rawValue)
            case .rejected(let names):
                StandardStream.error.write("rejected: \(terminalText(names.joined(separator: ", ")))\n")
                throw ExitCode(CommandStatus.failed.rawValue)
            }
        }
    }

    /// `balloon retention url`: the address of this server that the App Store asks.
    struct Address: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "url", abstract: "Show, set or delete the address that the App Store asks.",
            discussion: "Production needs a passed performance test of the sandbox first.")

        @OptionGroup var options: RetentionOptions

        @Option(help: .value("url", "The new address."))
        var set: String?

        @Flag(help: "Delete the address.")
        var delete = false

        @Flag(help: "Confirm a change of the production environment.")
        var yes = false

        func validate() throws {
            if set != nil, delete { throw ValidationError("--set and --delete exclude each other.") }
        }

        func run() async throws {
            let target = try options.target()
            if let set {
                guard let url = RealtimeURL(set) else {
                    throw CommandFailure.unknownArgument(
                        "--set", reason: "is not an address for the App Store",
                        hint: "write https://HOST/retention/SLUG/ENVIRONMENT with at most 256 characters")
                }
                try target.confirm(yes)
                try await target.api.setRealtimeURL(url)
            } else if delete {
                try target.confirm(yes)
                try await target.api.deleteRealtimeURL()
            } else {
                StandardStream.output.write(terminalText(try await target.api.realtimeURL() ?? "none") + "\n")
            }
        }
    }

    /// `balloon retention performance-test`: Apple's test of the server.
    struct PerformanceTest: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "performance-test",
            abstract: "Start Apple's performance test of the sandbox, or print its result.")

        @OptionGroup var options: RetentionOptions

        @Option(help: .value("originalTransactionId", "Start a test with this subscription of the sandbox."))
        var start: String?

        @Option(help: .value("requestId", "Print the result of this test."))
        var result: String?

        func validate() throws {
            try require((start == nil) != (result == nil), "Give either --start or --result.")
        }

        func run() async throws {
            let target = try options.target()
            let answer: JSONValue
            if let start {
                answer = try await target.api.startPerformanceTest(originalTransactionID: start)
            } else {
                guard let id = result.flatMap({ RetentionID($0) }) else {
                    throw CommandFailure.unknownArgument(
                        "--result", reason: "is not a UUID", hint: "copy the requestId that --start printed")
                }
                answer = try await target.api.performanceTest(id)
            }
            StandardStream.output.write(Array(answer.text) + Array("\n".utf8))
        }
    }
}

/// The options that name an app and an environment of the App Store.
struct RetentionOptions: ParsableArguments {
    @Option(help: .value("file", "The server's configuration file."))
    var config: String

    @Option(help: .value("slug", "The app; may be left out when there is one."))
    var app: String?

    @Option(help: .value("environment", "sandbox or production."))
    var environment = "sandbox"

    @Option(help: .value("url", "The address of a simulator on this machine instead of Apple's."))
    var api: String?

    @Option(
        help: .value(
            "dir",
            "The data directory of balloon dev, whose simulated App Store is called instead of Apple's."))
    var data: String?

    func validate() throws {
        try require(
            RetentionEnvironment(name: environment) != nil, "--environment takes sandbox or production.")
        if let api, !api.hasPrefix("http://127.0.0.1:") {
            throw ValidationError("--api takes http://127.0.0.1:PORT.")
        }
        if api != nil, data != nil { throw ValidationError("--api and --data exclude each other.") }
    }

    /// Returns the named app with a client for the environment; throws for an unknown app.
    func target() throws -> Target {
        let (apps, _) = try ConfigurationLoader.apps(file: config)
        let found = apps.count == 1 && app == nil ? apps.first : apps.first { $0.slug == app }
        guard let found, let environment = RetentionEnvironment(name: environment) else {
            throw CommandFailure.unknownArgument(
                "--app", reason: "names no app",
                hint: "the apps are \(apps.map(\.slug).joined(separator: ", "))")
        }
        let simulator = try data.map { data throws(CommandFailure) in
            try SimulatedCancellation.simulator(of: found.slug, environment, in: data)
        }
        let directory = try DataOptions.directory(data, config: config)
        let client =
            try api.map {
                RetentionAPI(environment, found.identity, transport: try CurlTransport(), baseURL: $0)
            } ?? RetentionAPI(environment, found.identity, simulator: simulator)
        // The server reads what these commands write, so they act as its user.
        try StoreChange.actAsOwner(of: directory)
        let path = RetentionStates.path(dataDirectory: directory, slug: found.slug, environment)
        return Target(
            app: found, api: client, directory: directory,
            application: RetentionApplication(client, found.folder, statesPath: path) { Self.report($0) })
    }

    /// An app with a client for its environment.
    struct Target {
        let app: AppConfiguration
        let api: RetentionAPI
        /// The data directory.
        let directory: String
        let application: RetentionApplication

        /// Prints the difference between the folder and the App Store.
        func printPlan() async throws {
            let plan = RetentionPlan(app.folder, try await application.states())
            var lines = plan.uploadedImages.map { "upload image \($0.id) \(terminalText($0.name))" }
            lines += plan.uploadedMessages.map { "upload message \($0.id) \(terminalText($0.name))" }
            let defaults = app.folder.defaults.keys.count
            RetentionOptions.announce(
                "asking for \(defaults) defaults", api.pacedTime(readDefaults: defaults))
            lines += try await application.defaultChanges().map { change in
                "set default \(change.key.product) \(change.key.locale) to \(terminalText(change.name))"
                    + (change.current.map { " instead of \($0)" } ?? "")
            }
            lines += try application.oldDefaults().map { "delete default \($0.product) \($0.locale)" }
            lines += plan.deletedMessages.map { "delete message \($0)" }
            lines += plan.deletedImages.map { "delete image \($0)" }
            lines += plan.pending.map { "pending \(terminalText($0))" }
            lines += plan.rejected.map { "rejected \(terminalText($0))" }
            if lines.isEmpty { lines = ["nothing to do"] }
            StandardStream.output.write(lines.joined(separator: "\n") + "\n")
        }

        /// Throws unless a change of production is confirmed.
        func confirm(_ yes: Bool) throws(CommandFailure) {
            guard api.environment == .production, !yes else { return }
            throw .unknownArgument(
                "--yes", reason: "is required to change production",
                hint: "look at balloon retention plan first")
        }
    }

    private static func report(_ step: RetentionApplication.Step) {
        let text =
            switch step {
            case .uploadsImage(let name, let progress): "uploading image \(name) \(text(progress))"
            case .uploadsMessage(let name, let progress): "uploading message \(name) \(text(progress))"
            case .waits(let count): "waiting for Apple's approval of \(count)"
            case .setsDefault(let key): "setting the default of \(key.product) \(key.locale)"
            case .deletesDefault(let key): "deleting the default of \(key.product) \(key.locale)"
            case .deletesMessage(let id): "deleting message \(id)"
            case .deletesImage(let id): "deleting image \(id)"
            }
        StandardStream.error.write(terminalText(text) + "\n")
    }

    /// `(3 of 50, until 10:15:30 UTC)`; without a time when Apple's rate limits do not apply.
    static func text(_ progress: RetentionApplication.Progress, now: Timestamp = .now()) -> String {
        let end = progress.remaining == .zero ? "" : ", " + until(progress.remaining, from: now)
        return "(\(progress.number) of \(progress.total)\(end))"
    }

    /// Says on the standard error what takes longer than a few seconds, and when it ends.
    fileprivate static func announce(_ work: String, _ time: Duration) {
        guard time > .seconds(5) else { return }
        StandardStream.error.write("\(work), \(until(time, from: .now()))\n")
    }

    private static func until(_ time: Duration, from now: Timestamp) -> String {
        let end = now.advanced(by: time).rfc3339
        return "until \(end.dropFirst("2026-11-21T".count).prefix("10:15:30".count)) UTC"
    }
}
