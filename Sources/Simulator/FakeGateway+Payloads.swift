package import BalloonJSON
import BalloonPOSIX
package import BalloonWire
package import BusinessMessages
import Synchronization

// The stored payloads and files.
extension FakeGateway {
    private static let maximumPayloadBytes = 512 << 20
    private static let maximumPlaces = 10_000

    /// Stores `interactiveData`, one JSON object, for `business`, and returns the reference to it.
    package func register(
        interactiveData: JSONValue, for business: BusinessID
    ) throws(WireError) -> SimulatedReference {
        let payload = try StoredPayload(
            SimulatedPayload(business: business, interactiveData: interactiveData))
        store(payload)
        return payload.reference
    }

    func store(_ payload: StoredPayload) {
        state.withLock { state in
            state.payloads[payload.name] = payload
            state.payloadOrder.append(payload.name)
            state.payloadBytes += payload.content.sizeBytes
            while state.payloadBytes > Self.maximumPayloadBytes, let name = state.payloadOrder.popFirst() {
                state.payloadBytes -= state.payloads.removeValue(forKey: name)?.content.sizeBytes ?? 0
            }
        }
    }

    /// Records a place where one file may be uploaded; at the limit, all earlier places are dropped first.
    func expect(_ place: UploadPlace) {
        state.withLock { state in
            if state.places.count >= Self.maximumPlaces { state.places = [:] }
            state.places[place.name] = place
        }
    }

    func place(named name: String) -> UploadPlace? { state.withLock { $0.places[name] } }

    func payload(named name: String) -> StoredPayload? { state.withLock { $0.payloads[name] } }

    func payload(url: String) -> StoredPayload? {
        state.withLock { $0.payloads.values.first { $0.reference.url == url } }
    }
}
