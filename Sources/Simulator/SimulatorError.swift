package import BalloonJSON

/// Why the simulator could not do what it was asked.
package enum SimulatorError: Error, Sendable, Equatable {
    /// The fake gateway listens on loopback addresses only: it shows to everybody what it was sent.
    case addressNotLoopback
    /// A message is not JSON: correct the file.
    case messageMalformed(JSONError)
    /// A message is JSON, but no object: correct the file.
    case messageNotAnObject
    /// A message without `interactiveData` cannot be moved behind a reference: leave it inline.
    case nothingToRefer
    /// There is no fake gateway that would keep the payload: say where it is.
    case gatewayMissing
    /// The fake gateway did not do its part: look whether it is the simulator that listens there.
    case gatewayRefused(status: Int)
}
