import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import BalloonWire

/// `balloon token …`: signs and checks the tokens of both directions.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sign or check a token with a server's secret.", subcommands: [Sign.self, Verify.self])

    /// `balloon token sign`: a token like Apple's, or like the server's.
    struct Sign: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a token like Apple's, for a request to the server.")

        @Flag(help: "Print a token like the server's instead, for a request to the gateway.")
        var outbound = false

        @OptionGroup var options: ServerOptions

        func run() async throws {
            let server = try options.server()
            let json = JSONWriter.object { writer in
                writer.field(outbound ? "iss" : "aud", server.mspID)
                writer.field("iat", SystemClock.secondsSince1970())
            }
            StandardStream.output.write(TokenSigner(secret: server.secret).sign(json) + "\n")
        }
    }

    /// `balloon token verify`: shows why a token is refused.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a token like the server, and print its claims.")

        @Argument(help: "The token, without Bearer; - reads it from standard input.")
        var token: String

        @OptionGroup var options: ServerOptions

        func run() async throws {
            let server = try options.server()
            let text = token == "-" ? try CommandFile.bytes("-") : Array(token.utf8)
            // A line feed added by echo is not part of the token.
            let token = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).first.map(Array.init) ?? []
            let claims = try claims(of: token, signedWith: server.secret)
            StandardStream.output.write(terminalJSON(String(decoding: claims.bytes, as: UTF8.self)) + "\n")
            let check = TokenCheck(mspID: server.mspID, tokenAge: server.tokenAge)
            if let reason = check.refusal(of: claims.root, now: SystemClock.secondsSince1970()) {
                throw CommandFailure.tokenRefused(reason: reason)
            }
        }

        private func claims(of token: [UInt8], signedWith secret: Secret) throws -> JSONDocument {
            let bytes: [UInt8]
            do throws(WireError) {
                bytes = try TokenVerifier(secret: secret).verify(token)
            } catch .tokenSignatureMismatch {
                throw CommandFailure.tokenRefused(reason: "the token was signed with another secret")
            } catch .tokenHeader {
                throw CommandFailure.tokenRefused(reason: "the token's header does not name HS256 alone")
            } catch {
                throw CommandFailure.notAToken
            }
            // The claims are signed but not JSON; the position of the error is irrelevant.
            guard let claims = try? JSONDocument(bytes) else {
                throw CommandFailure.tokenRefused(reason: "the claims are not JSON")
            }
            return claims
        }
    }
}
