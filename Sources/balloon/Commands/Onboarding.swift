import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer

/// `balloon onboarding …`: the claims that were sent with the form of the landing page.
struct Onboarding: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show and drop what brands entered on the landing page, and print a business's file.",
        discussion: """
            A claim is a stranger's text. Confirm the contact by another way before you connect the business.
            """, subcommands: [List.self, Show.self, Drop.self, Print.self])

    /// The argument and the options of a command about one claim.
    struct Claim: ParsableArguments {
        @Argument(help: .value("claim", "The claim, as list prints it."))
        var name: String

        @OptionGroup var options: ReadingOptions

        /// The claims of the data directory; throws unless a server created it.
        func claims() throws -> OnboardingClaims {
            try options.check()
            return OnboardingClaims(dataDirectory: try options.data)
        }

        /// The claim; throws when there is none.
        func read() throws -> OnboardingClaim {
            guard let claim = try claims().claim(name, at: .now()) else { throw unknown }
            return claim
        }

        var unknown: CommandFailure {
            .unknownArgument(
                terminalText(name), reason: "is not a claim", hint: "see balloon onboarding list")
        }
    }

    /// `balloon onboarding list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the claims, oldest first: claim, time, business, name, contact.",
            discussion: "A claim is deleted 30 days after its arrival.")

        @OptionGroup var options: ReadingOptions

        func run() throws {
            try options.check()
            let (claims, damaged) = try OnboardingClaims(dataDirectory: try options.data).claims(at: .now())
            options.writeHeader("CLAIM", "TIME", "BUSINESS", "NAME", "CONTACT")
            for (name, claim) in claims {
                let words = [
                    name, claim.receivedAt.rfc3339, claim.business, claim.name.isEmpty ? "-" : claim.name,
                    claim.contact,
                ]
                options.write(
                    terminalText(words.joined(separator: "  ")) + "\n", json: Onboarding.json(name, claim))
            }
            for name in damaged {
                StandardStream.error.write(
                    "warning: claim \(name) is damaged; remove it with balloon onboarding drop \(name)\n")
            }
        }
    }

    /// `balloon onboarding show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show everything of a claim.")

        @OptionGroup var claim: Claim

        func run() throws {
            let read = try claim.read()
            let lines = [
                ("business", read.business), ("name", read.name), ("logo", read.logo),
                ("contact", read.contact), ("received", read.receivedAt.rfc3339),
            ]
            let text = lines.map { "\($0.0): \(terminalText($0.1))\n" }.joined()
            claim.options.write(text, json: Onboarding.json(claim.name, read))
        }
    }

    /// `balloon onboarding drop`.
    struct Drop: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a claim.")

        @OptionGroup var claim: Claim

        func run() throws {
            guard try claim.claims().drop(claim.name) else { throw claim.unknown }
            StandardStream.output.write("\(claim.name) is dropped\n")
        }
    }

    /// `balloon onboarding print`.
    struct Print: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a file for the folder businesses, with the identifier and the name of a claim.",
            discussion: """
                Confirm the contact by another way first. The file has the handler none, which records messages only; name \
                your handler in it. The business's sign-in and payment settings are not in a claim.
                """)

        @OptionGroup var claim: Claim

        @Option(
            help: .value(
                "slug",
                "The business's name in commands, and the file's without .json: 1 to 64 of a-z, 0-9 and -."))
        var slug: String

        func run() throws {
            guard let text = try claim.read().businessFile(slug: slug) else {
                throw CommandFailure.unknownArgument(
                    terminalText(slug), reason: "is not a slug", hint: "use 1 to 64 of a-z, 0-9 and -")
            }
            // Line feeds are kept: outside strings they are the file's layout, and JSON strings contain none.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            StandardStream.output.write(lines.map { terminalJSON(String($0)) }.joined(separator: "\n"))
        }
    }

    /// `{"claim":"…","business":"…","name":"…","logo":"…","contact":"…","receivedAt":"…"}`.
    private static func json(_ name: String, _ claim: OnboardingClaim) -> String {
        jsonLine { writer in
            writer.field("claim", name)
            OnboardingClaim.form.write(claim, to: &writer)
        }
    }
}
