import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// `balloon replies …`: the replies in the journal, and their outcomes.
struct Replies: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show and drop the replies in the journal.",
        subcommands: [List.self, Show.self, Drop.self])

    /// `balloon replies list`: lists replies, by default the queued ones.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List queued replies, oldest event first: name, time, status, business, customer, summary.",
            discussion: "With --status it lists replies with that status, and with --all every reply.")

        @Option(help: .business)
        var business: String?

        @Option(help: "Replies with this status instead of queued ones.")
        var status: ReplyState.Status?

        @Flag(help: "Replies of any status.")
        var all = false

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let wanted = status ?? .queued
            let business = try options.business(business)
            options.writeHeader("REPLY", "TIME", "STATUS", "BUSINESS", "CUSTOMER", "MESSAGE")
            try options.journal().forEachReply(
                where: { reply in
                    (all || reply.status == wanted)
                        && (business == nil || reply.business == business)
                },
                options.write)
        }
    }

    /// `balloon replies show`: shows one reply as JSON.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a reply and its outcome as JSON.")

        @Argument(help: "The reply's name, from the list: 57.1.")
        var reply: ReplyID

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            for reply in try options.journal().replies([reply]) {
                StandardStream.output.write(ReplyRendering.json(reply, withMessage: true))
            }
        }
    }

    /// `balloon replies drop`: ends queued replies without sending them.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End queued replies without sending them.",
            discussion: "A reply that is being sent is not dropped: repeat the command if its attempt failed."
        )

        @Argument(help: "The replies' names, from the list: 57.1 57.2.")
        var replies: [ReplyID]

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try await options.drop(options.journal().replies(replies))
        }
    }
}

extension ReplyID: ExpressibleByArgument {
    /// Parses the name of a reply, such as `57.1`: the record of the answered message, and the reply's
    /// number.
    package init?(argument: String) { self.init(argument) }
}

extension ReplyState.Status: ExpressibleByArgument {}
