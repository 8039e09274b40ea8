import Testing

@testable import BusinessMessages

struct MediaTypeTests {
    @Test(arguments: [
        ("a.caf", "audio/x-caf"), ("/srv/a.b/c.USDZ", "model/vnd.usdz+zip"), ("a.ics", "text/calendar"),
        ("a.pkpass", "application/vnd.apple.pkpass"), ("a.doc", "application/msword"),
        ("a.xls", "application/vnd.ms-excel"), ("a.b.heic", "image/heic"), ("caf", MediaType.unknown),
        ("/srv/a.caf/b", MediaType.unknown), ("a.unheard", MediaType.unknown), ("", MediaType.unknown),
        ("a.", MediaType.unknown), ("/", MediaType.unknown),
    ])
    func `the media type of a file is that of its extension`(_ name: String, _ type: String) {
        #expect(MediaType.ofFile(named: name) == type)
        #expect(OutboundFile(path: "/srv/" + name).mimeType == type)
    }

    @Test func `a given media type and a given name win over the path`() {
        #expect(OutboundFile(path: "/tmp/7", name: "offer.pdf").mimeType == "application/pdf")
        #expect(OutboundFile(path: "/tmp/a.png", mimeType: "image/x-own").mimeType == "image/x-own")
    }
}
