import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import Glibc
import MessageServer
import MessageStore
import Replication
import Simulator
import Testing

@testable import balloon

@Suite struct FailureReportTests {
    @Test(
        arguments: [
            (CommandFailure.unknownArgument("x", reason: "r", hint: "h"), CommandStatus.usage),
            (CommandFailure.unreadable(path: "p", SystemError("open", code: 2)), .unavailable),
            (
                CommandFailure.unstartable(program: "p", SystemError("access", code: 2), hint: "h"),
                .unavailable
            ),
            (CommandFailure.unwritten(to: "p", SystemError("write", code: 28)), .unavailable),
            (CommandFailure.socketPathTooLong("p"), .unavailable),
            (CommandFailure.malformed(path: "p", reason: "r"), .badData),
            (CommandFailure.noDevelopmentServer(path: "p"), .unavailable),
            (CommandFailure.noDataDirectory(path: "p"), .unavailable),
            (CommandFailure.noAnswer(url: "u"), .unavailable),
            (CommandFailure.refused(status: 500, answer: "a"), .failed),
            (CommandFailure.changeRefused(reason: "r"), .failed),
            (StoreError.replyNotDead(ReplyID(record: 57, index: 0)), .usage),
            (CommandFailure.notAToken, .badData),
            (CommandFailure.tokenRefused(reason: "r"), .failed),
            (CommandFailure.badVariable(name: "n", hint: "h"), .configuration),
            (ConfigurationError.problems([]), .configuration),
            (StoreError.inUse(path: "p", process: 1), .unavailable),
            (StoreError.unknownVersion(found: "2", path: "p"), .badData),
            (StoreError.noData(path: "p"), .unavailable),
            (StoreError.copyOfDatabase(path: "p"), .usage),
            (ReplicaError.unreachable("r"), .unavailable),
            (ReplicaError.unusable("r"), .configuration),
            (StoreError.tooManyPending(maximum: 1), .failed),
            (CommandFailure.problemsFound(count: 1, areInJournal: true), .badData),
            (StoreError.damaged(file: "f", line: 1), .badData),
            (StoreError.quarantined(file: "f"), .badData),
            (StoreError.unavailable(path: "p", SystemError("open", code: 2)), .unavailable),
            (StoreError.notDurable(SystemError("fdatasync", code: 5)), .failed),
            (SimulatorError.messageMalformed(.unexpectedEnd(offset: 1)), .badData),
            (SimulatorError.messageNotAnObject, .badData),
            (SimulatorError.gatewayMissing, .unavailable),
            (SimulatorError.gatewayRefused(status: 404), .unavailable),
            (TransportError.schemeRefused, .usage),
            (TransportError.timedOut, .unavailable),
            (TransportError.responseTooLarge(maximumBytes: 1), .failed),
            (SystemError("bind 127.0.0.1:80", code: 98), .unavailable),
        ] as [(any Error & Sendable, CommandStatus)])
    func `every error has its exit code`(error: any Error & Sendable, status: CommandStatus) throws {
        #expect(try #require(FailureReport(error)).code == status)
    }

    @Test func `only an error of a full disk has the hint to free space`() throws {
        for (code, isFull) in [(ENOSPC, true), (EDQUOT, true), (EBADF, false), (ENOENT, false)] {
            let failure = CommandFailure.unwritten(to: "p", SystemError("write", code: code))
            #expect(try #require(FailureReport(failure)).text.contains("free space on the disk") == isFull)
        }
    }

    @Test func `the report of an error has the hint on the line below the problem`() throws {
        let report = try #require(FailureReport(CommandFailure.noAnswer(url: "http://x")))
        #expect(
            report.text
                == "error: no server answers at http://x\n  hint: start the server, or check the address\n")
    }

    @Test func `an error of another library is formatted by the argument parser`() {
        struct Foreign: Error {}
        #expect(FailureReport(Foreign()) == nil)
    }
}
