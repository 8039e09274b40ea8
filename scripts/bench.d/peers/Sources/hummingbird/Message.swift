/// The message of the benchmark as one would usually write it: a `Codable` type for what is read of it.
struct Message: Decodable {
    struct Interaction: Decodable {
        let bid: String
        let sessionIdentifier: String?
        let data: Content
    }
    struct Content: Decodable {
        let version: String
        let requestIdentifier: String
        let event: Event?
        let images: [Image]?
        let receivedMessage: Bubble?
        let replyMessage: Bubble?
    }
    struct Event: Decodable {
        let identifier: String
        let title: String?
        let timezoneOffset: Int?
        let imageIdentifier: String?
        let location: Location?
        let timeslots: [Slot]
    }
    struct Location: Decodable {
        let title: String
        let latitude: Double
        let longitude: Double
        let radius: Double
    }
    struct Slot: Decodable {
        let identifier: String
        let startTime: String
        let duration: Int
    }
    struct Image: Decodable {
        let identifier: String
        let data: String
        let description: String?
    }
    struct Bubble: Decodable {
        let style: String?
        let title: String?
        let imageIdentifier: String?
    }

    let v: Int
    let type: String
    let destinationId: String
    let locale: String?
    let interactiveData: Interaction?
}
