import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import MessageServer
import MessageStore

/// `balloon token …`: issues tokens of the business API, and signs and checks the tokens between Apple and the server.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Issue tokens of the business API; sign or check tokens with a server's secret.",
        subcommands: [Issue.self, Sign.self, Verify.self])

    /// `balloon token issue`: a new token of the business API.
    struct Issue: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a new token of the business API, and the object for \"api\": {\"tokens\": […]}.",
            discussion: """
                The token goes to standard output and the object to standard error. The object has only the token's hash, \
                so the token cannot be printed again.
                """)

        @Option(help: "The token's name in the server's log: 1 to 64 of a-z, 0-9 and -.")
        var name: String

        @Option(
            help: .value(
                "slug", "A business that the token may name, by its slug; every business without this option."
            ))
        var business: [String] = []

        @Option(help: .value("rights", "The token's rights, separated by commas: \(knownRights)."))
        var may = APIRight.read.rawValue

        @Option(
            help: .value(
                "id", "The only person for whom the token acts; without this option it may name every person."
            ))
        var person: String?

        @Option(help: .value("name", "The person's name, as colleagues see it."))
        var personName: String?

        private static let knownRights = APIRight.allCases.map(\.rawValue).joined(separator: ", ")

        func run() throws {
            let rights = try may.split(separator: ",", omittingEmptySubsequences: false).map { text in
                guard let right = APIRight(rawValue: String(text)) else {
                    throw CommandFailure.unknownArgument(
                        String(text), reason: "is not a right", hint: "use \(Self.knownRights)")
                }
                return right
            }
            let acting = person.flatMap { Person(id: $0, name: personName) }
            if let text = person ?? personName, acting == nil {
                throw CommandFailure.unknownArgument(
                    text, reason: "does not name a person",
                    hint: "give --person and --person-name 1 to \(Person.maximumBytes) bytes each")
            }
            guard
                let (token, object) = APIToken.issue(
                    name: name, businesses: business, rights: rights, person: acting)
            else {
                throw CommandFailure.unknownArgument(
                    name, reason: "is not a valid name, or one of --business is not a valid slug",
                    hint: "a name and a slug have 1 to 64 characters: a-z, 0-9 and -")
            }
            StandardStream.error.write(object + "\n")
            StandardStream.output.write(token + "\n")
        }
    }

    /// `balloon token sign`: a token like Apple's, or like the server's.
    struct Sign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a token such as Apple sends with a request to the server.")

        @Flag(help: "Print a token such as the server sends with a request to Apple's gateway.")
        var outbound = false

        @OptionGroup var options: ServerOptions

        func run() async throws {
            let server = try options.server()
            let json = JSONWriter.object([
                outbound ? "iss" : "aud": server.configuration.mspID, "iat": SystemClock.secondsSince1970(),
            ])
            StandardStream.output.write(TokenSigner(secret: server.configuration.secret).sign(json) + "\n")
        }
    }

    /// `balloon token verify`: shows why a token is refused.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a token as the server does, and print its claims.")

        @Argument(help: "The token, without Bearer; - reads it from standard input.")
        var token: String

        @OptionGroup var options: ServerOptions

        func run() async throws {
            let server = try options.server()
            let text = token == "-" ? try CommandFile.bytes("-") : Array(token.utf8)
            // A line feed added by echo is not part of the token.
            let token = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).first.map(Array.init) ?? []
            let claims = try claims(of: token, signedWith: server.configuration.secret)
            StandardStream.output.write(terminalJSON(String(decoding: claims.bytes, as: UTF8.self)) + "\n")
            let now = SystemClock.secondsSince1970()
            let fault = ClaimsFault.first(
                in: claims.root, mspID: server.configuration.mspID,
                tokenAge: server.configuration.limits.tokenAge, now: now)
            if let fault { throw CommandFailure.tokenRefused(reason: Self.reason(fault, claims.root, now)) }
        }

        static func reason(_ fault: ClaimsFault, _ claims: JSONValue, _ now: Int) -> String {
            guard fault == .stale, let issued = claims["iat"]?.double else { return fault.rawValue }
            let seconds = Double(now) - issued
            // A claim may be further away than an integer can say.
            let distance = Int(min(abs(seconds), 1e15))
            return "\(fault.rawValue): \(distance) seconds \(seconds > 0 ? "ago" : "ahead"); check the clock"
        }

        private func claims(of token: [UInt8], signedWith secret: Secret) throws -> JSONDocument {
            let bytes: [UInt8]
            do throws(WireError) {
                bytes = try TokenVerifier(secret: secret).verify(token)
            } catch .tokenSignatureMismatch {
                throw CommandFailure.tokenRefused(reason: "the token was signed with another secret")
            } catch .tokenHeader {
                throw CommandFailure.tokenRefused(reason: "the token's header lacks alg HS256, or has crit")
            } catch {
                throw CommandFailure.notAToken
            }
            // The error of the parser is dropped: the signature is valid, so the position of the error does
            // not matter.
            guard let claims = try? JSONDocument(bytes) else {
                throw CommandFailure.tokenRefused(reason: ClaimsFault.notJSON.rawValue)
            }
            return claims
        }
    }
}
