import BalloonJSON
import BusinessMessages
import Testing

struct PayloadReferenceTests {
    private let members = [
        "bid": #""some-bid""#, "url": #""https://a.icloud.com/M1""#, "owner": #""M1""#, "key": #""00ab""#,
        "signature": #""81AB""#, "signature-base64": #""gas=""#, "size": "12",
    ]

    private func reference(_ change: [String: String?] = [:]) throws -> PayloadReference? {
        var members = members
        for (key, value) in change { members[key] = value }
        let text = members.map { #""\#($0)":\#($1)"# }.joined(separator: ",")
        return PayloadReference(try json("{\(text)}").root)
    }

    @Test func `every field of Apple's sample of a reference is read`() throws {
        let reference = try #require(PayloadReference(message: sample("unrecognized-reference")))
        #expect(reference.bid == Interaction.businessExtension)
        #expect(reference.url.hasPrefix("https://p61-content.icloud.com/M58C0A1A2EB6"))
        #expect(
            reference.owner == "M58C0A2A1EB62B4E859B4F28996E8DA229E1914295299C39944B2F2CA7482AE50.C01USN00")
        #expect(reference.key == "00c0d1827fdc858fe7b42421de1fb289c2ee0a9463d787ce4f118506f970bd6e38")
        #expect(reference.signature == "81a619c81da5a01c6139219a5d20e17430c631e1eb")
        #expect(reference.signatureBase64 == "gdYWyD3loBxhiXGaXSDhdDDGMeHr")
        #expect(reference.sizeBytes == 101_267)
        #expect(reference.title == nil)
        #expect(
            try PayloadReference(message: sample("form-reference"))?.title == "Messages for Business Form")
        #expect(try PayloadReference(message: sample("form")) == nil)
    }

    @Test(arguments: [("12", 12), (#""12""#, 12), ("12.0", 12), ("-1", nil), ("null", nil), (#""x""#, nil)])
    func `the size of a reference is read as a number or as a string`(value: String, expected: Int?) throws {
        #expect(try #require(try reference(["size": value])).sizeBytes == expected)
    }

    @Test func `a reference needs only the fields that the download requires`() throws {
        for key in ["url", "owner", "key"] {
            #expect(try reference([key: nil as String?]) == nil)
            #expect(try reference([key: #""""#]) == nil)
            #expect(try reference([key: "3"]) == nil)
        }
        let spare = try reference(["bid": nil, "signature": nil, "signature-base64": nil, "size": nil])
        #expect(spare?.bid == Interaction.businessExtension)
        #expect(spare?.signature == nil)
        #expect(spare?.signatureBase64 == nil)
    }

    @Test(arguments: ["url", "owner", "key"])
    func `a reference whose url, owner or key contains a line break is refused`(key: String) throws {
        #expect(try reference([key: #""a\r\nauthorization: b""#]) == nil)
    }

    @Test func `a signature or bid of a reference that contains a line break is ignored`() throws {
        let reference = try reference(["bid": #""a\nb""#, "signature-base64": #""a\nb""#])
        #expect(reference?.bid == Interaction.businessExtension)
        #expect(reference?.signatureBase64 == nil)
    }
}
