package import BalloonJSON

/// The reason why a simulator call failed.
package enum SimulatorError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A message is not JSON: correct the file.
    case messageMalformed(JSONError)
    /// A message is JSON, but not an object: correct the file.
    case messageNotAnObject
    /// No fake gateway was given to store the payload: name its address.
    case gatewayMissing
    /// The fake gateway refused the call: check that the simulator listens at that address.
    case gatewayRefused(status: Int)
    /// A page of a sign-in has neither a form nor a redirect, or the sign-in has too many pages: check the
    /// provider.
    case signInStopped(status: Int)

    package var description: String {
        switch self {
        case .messageMalformed(let error): "the message is not JSON: \(error)"
        case .messageNotAnObject: "the message is not a JSON object"
        case .gatewayMissing: "no simulator is running that stores payloads and replies"
        case .gatewayRefused(let status): "the simulator answered \(status)"
        case .signInStopped(let status): "the sign-in stopped at a page with status \(status)"
        }
    }
}
