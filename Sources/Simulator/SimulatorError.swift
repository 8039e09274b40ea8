package import BalloonJSON

/// The reason why a simulator call failed.
package enum SimulatorError: Error, Sendable, Equatable {
    /// The fake gateway listens on loopback addresses only, because it shows all received messages.
    case addressNotLoopback
    /// A message is not JSON: correct the file.
    case messageMalformed(JSONError)
    /// A message is JSON, but not an object: correct the file.
    case messageNotAnObject
    /// No fake gateway was given to store the payload: name its address.
    case gatewayMissing
    /// The fake gateway refused the call: check that the simulator listens at that address.
    case gatewayRefused(status: Int)
}
