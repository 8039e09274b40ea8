import BalloonPOSIX
import BusinessMessages
import Simulator

/// A message that `balloon simulate` is asked to send.
enum SimulatedInput {
    /// A sample message of this kind.
    case kind(Kind)
    /// A message from a file or from standard input.
    case message([UInt8])
    /// An answer to the newest unanswered question of the business.
    case answer(DeviceChoice)

    /// Parses an argument: a kind's name, a file's path, or `-` for standard input.
    init(_ argument: String) throws(CommandFailure) {
        if let kind = Kind(rawValue: argument) {
            self = .kind(kind)
            return
        }
        guard argument == "-" || Directory.exists(argument) else {
            let kinds = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .unknownArgument(
                terminalText(argument), reason: "is neither a kind nor a file", hint: "the kinds are \(kinds)"
            )
        }
        let document = try CommandFile.json(argument)
        guard document.root.kind == .object else {
            throw .malformed(path: argument, reason: "is not a JSON object")
        }
        self = .message(document.bytes)
    }

    /// The whole message as `customer` sends it; `text` is the content of a message of kind `text`.
    ///
    /// `data` is the server's data directory, nil when it is unknown.
    func message(of customer: SimulatedCustomer, text: String?, data: String?) async throws -> [UInt8] {
        switch self {
        case .kind(let kind): customer.message(kind, text: text)
        case .message(let text): try customer.message(completing: text)
        case .answer(let choice): try customer.message(try await answer(choice, of: customer, data: data))
        }
    }

    private func answer(
        _ choice: DeviceChoice, of customer: SimulatedCustomer, data: String?
    ) async throws -> DeviceAnswer {
        guard let offer = try await OpenOffer.newest(for: customer, data: data) else {
            throw CommandFailure.nothingAsked(customer: terminalText(customer.id.rawValue))
        }
        return try DeviceAnswer(to: offer, choosing: choice)
    }
}
