// Reads every answer of a form reply of about 1.5 KB into Strings, by BusinessMessages and by JSONDecoder with an
// equivalent model, and prints the time of one reading and their ratio; once from bytes, and once from a message that is
// indexed already, as every message is that was accepted.
import BusinessMessages
import Foundation

let extent = Interaction.businessExtension
let pages = (1...5).map { page in
    #"{"pageIdentifier":"00\#(page)","title":"Please choose one","subtitle":"Page \#(page) of five","items":["#
        + #"{"identifier":"00\#(page)_1","value":"option\#(page)","type":"select","title":"Choice \#(page)"}]}"#
}
let message = Array(
    (#"{"id":"0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f","v":1,"type":"interactive","#
        + #""sourceId":"urn:mbid:AQAAY45PVG4jg/ni/q6rWSYuu9d7Ga6K22bxp0iUmPkdOwxr3yAbisjOmtYFzw6LjDqhABFFHD=","#
        + #""destinationId":"3f0c1d52-7b1e-4a57-9d0e-6c1f2a9b8e41","locale":"en_US","interactiveData":{"#
        + #""bid":"\#(extent)","sessionIdentifier":"ad461c33-7534-4b1e-a5ce-1f2a9b8e4100","data":{"version":"1.0","#
        + #""dynamic":{"template":"messageForms","version":"1.1","selections":[\#(pages.joined(separator: ","))]},"#
        + #""receivedMessage":{"subtitle":"Tap to view","imageIdentifier":"1","style":"small","title":"Form"},"#
        + #""replyMessage":{"subtitle":"Tap to review","imageIdentifier":"1","style":"small","title":"Form"},"#
        + #""requestIdentifier":"42bcfae9-3da6-4b1e-a5ce-1f2a9b8e4111"}}}"#).utf8)

/// Counts the decoded values, so that the compiler removes no work.
func weigh(_ text: String?) -> Int { text?.utf8.count ?? 0 }

func readTyped() -> Int {
    guard let document = try? JSONDocument(message) else { return -1 }
    return readIndexed(document)
}

func readIndexed(_ document: JSONDocument) -> Int {
    let event = InboundEvent.decode(message: document)
    guard case .form(let form) = event.content else { return -1 }
    return form.selections.reduce(0) { sum, page in
        page.items.reduce(sum + weigh(page.pageIdentifier) + weigh(page.title) + weigh(page.subtitle)) {
            $0 + weigh($1.identifier) + weigh($1.type) + weigh($1.title) + weigh($1.value)
        }
    }
}

let data = Data(message)
let decoder = JSONDecoder()

func readCodable() -> Int {
    guard let model = try? decoder.decode(FormModel.self, from: data) else { return -1 }
    return model.interactiveData.data.dynamic.selections.reduce(0) { sum, page in
        page.items.reduce(sum + weigh(page.pageIdentifier) + weigh(page.title) + weigh(page.subtitle)) {
            $0 + weigh($1.identifier) + weigh($1.type) + weigh($1.title) + weigh($1.value)
        }
    }
}

/// The time of `rounds` readings, in microseconds per reading.
func measure(_ rounds: Int, _ read: () -> Int) -> Double {
    let time = ContinuousClock().measure { for _ in 0..<rounds where read() < 0 { exit(2) } }
    return (Double(time.components.attoseconds) / 1e12 + Double(time.components.seconds) * 1e6)
        / Double(rounds)
}

guard let document = try? JSONDocument(message), readTyped() == readCodable(), readTyped() > 0 else {
    print("typed-decode: the two read different things")
    exit(2)
}
// In short alternating runs, using the shortest of each, so that other load affects neither.
var (typed, indexed, codable) = (Double.infinity, Double.infinity, Double.infinity)
for _ in 0..<1000 {
    typed = min(typed, measure(100, readTyped))
    indexed = min(indexed, measure(100) { readIndexed(document) })
    codable = min(codable, measure(20, readCodable))
}
print(
    String(
        format:
            "typed-decode: %d bytes; JSONDecoder %.2f us; from bytes %.2f us, ratio %.1f; indexed %.2f us, ratio %.1f",
        message.count, codable, typed, codable / typed, indexed, codable / indexed))
