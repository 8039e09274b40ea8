/// The same view of a form's answers as `Codable` gives it.
struct FormModel: Decodable {
    struct InteractiveData: Decodable {
        let bid: String?
        let sessionIdentifier: String?
        let data: Data
    }

    struct Data: Decodable {
        let version: String?
        let requestIdentifier: String?
        let dynamic: Dynamic
        let receivedMessage: Bubble?
        let replyMessage: Bubble?
    }

    struct Dynamic: Decodable {
        let template: String?
        let version: String?
        let selections: [Page]
    }

    struct Page: Decodable {
        let pageIdentifier: String?
        let title: String?
        let subtitle: String?
        let items: [Item]
    }

    struct Item: Decodable {
        let identifier: String?
        let type: String?
        let title: String?
        let value: String?
    }

    struct Bubble: Decodable {
        let title: String?
        let subtitle: String?
        let style: String?
        let imageIdentifier: String?
    }

    let id: String
    let type: String
    let sourceId: String
    let destinationId: String
    let locale: String?
    let interactiveData: InteractiveData
}
