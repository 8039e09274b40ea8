"""Messages of a business for the tests: one of each kind, as `balloon dev` accepts them."""
import base64, struct, zlib

BUSINESS = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"


def picture(width, height, color, second):
    """A PNG with two colors, in Base64."""
    rows = b"".join(b"\0" + b"".join(bytes(color if (x * 2 + y) // max(8, height // 4) % 2 else second) for x in range(width)) for y in range(height))
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    made = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(made).decode()


IMAGES = [{"identifier": "1", "data": picture(120, 120, (200, 90, 60), (240, 220, 190)), "description": "Bread"},
          {"identifier": "2", "data": picture(480, 240, (40, 110, 180), (150, 200, 230))}]


def form(pages, **more):
    return {"images": IMAGES, "dynamic": {"version": "1.1", "template": "messageForms", "data": {"startPageIdentifier": pages[0]["pageIdentifier"], "pages": pages, **more}}}


LIST = {"images": IMAGES, "listPicker": {"sections": [
    {"order": 1, "title": "Drinks", "items": [{"identifier": "tea", "title": "Tea", "order": 1, "style": "default"}, {"identifier": "milk", "title": "Milk", "order": 0, "style": "default"}]},
    {"order": 0, "title": "Bread", "multipleSelection": True, "items": [{"identifier": "a", "title": "Rye", "subtitle": "With caraway", "imageIdentifier": "1", "order": 0, "style": "default"},
                                                                      {"identifier": "b", "title": "Same", "order": 1, "style": "default"}, {"identifier": "c", "title": "Same", "order": 2, "style": "default"}]}]}}
TIMES = {"images": IMAGES, "event": {"identifier": "e", "title": "Fitting", "imageIdentifier": "2", "timezoneOffset": -300, "location": {"title": "Pier 7", "latitude": 40.7, "longitude": -74.0},
                                     "timeslots": [{"identifier": "t2", "startTime": "2026-12-02T11:15+0000", "duration": 1800}, {"identifier": "t1", "startTime": "2026-12-01T15:00+0000", "duration": 3600}]}}
FORM = form([
    {"pageIdentifier": "kind", "type": "select", "title": "What happened?", "subtitle": "Choose one.", "multipleSelection": False, "items": [
        {"title": "Broken", "value": "broken", "identifier": "k1", "nextPageIdentifier": "parts"}, {"title": "Late", "value": "late", "identifier": "k2", "nextPageIdentifier": "when"}]},
    {"pageIdentifier": "parts", "type": "select", "title": "Which parts?", "subtitle": "Choose all.", "multipleSelection": True, "nextPageIdentifier": "when",
     "items": [{"title": "Lid", "value": "lid", "identifier": "p1"}, {"title": "Box", "value": "box", "identifier": "p2"}]},
    {"pageIdentifier": "when", "type": "datePicker", "title": "When?", "subtitle": "The day of the delivery.", "nextPageIdentifier": "where",
     "options": {"startDate": "11/03/2025", "minimumDate": "11/01/2025", "maximumDate": "11/20/2025"}},
    {"pageIdentifier": "where", "type": "picker", "title": "Where?", "subtitle": "Your region.", "pickerTitle": "Region", "selectedItemIndex": 1, "nextPageIdentifier": "cost",
     "items": [{"title": "North", "value": "n", "identifier": "w1"}, {"title": "South", "value": "s", "identifier": "w2"}]},
    {"pageIdentifier": "cost", "type": "input", "title": "What did it cost?", "subtitle": "The price.", "hintText": "Digits and a point.", "submitForm": True,
     "options": {"regex": r"^\d*\.?\d?\d?$", "prefixText": "$", "keyboardType": "UIKeyboardTypeDecimalPad", "required": True, "maximumCharacterCount": 8}}],
    splash={"header": "Complaint", "splashtext": "A few questions.", "buttonTitle": "Start", "imageIdentifier": "2"}, showSummary=True, private=True)
SESSION = {"displayName": "Sam's Fish", "initiative": "messaging", "initiativeContext": "https://pay.example.com/gateway", "epochTimestamp": 1525722894057, "expiresAt": 4681482894057,
           "merchantSessionIdentifier": "PSH40080EF4D655442D", "nonce": "fe72cd0f", "merchantIdentifier": "302B976", "signature": "308006092a864886f7",
           "signedFields": ["merchantIdentifier", "merchantSessionIdentifier", "initiative", "initiativeContext", "displayName", "nonce"]}
PAYMENT = {"payment": {"endpoints": {"paymentGatewayUrl": "https://pay.example.com/gateway", "shippingMethodUpdateUrl": "https://pay.example.com/method"}, "merchantSession": SESSION,
                       "paymentRequest": {"currencyCode": "USD", "countryCode": "US", "applePay": {"merchantCapabilities": ["supports3DS"], "merchantIdentifier": "merchant.com.sams.fish", "supportedNetworks": ["visa"]},
                                          "lineItems": [{"label": "Halibut", "amount": "59.00", "type": "final"}, {"label": "Ice", "amount": "4.99", "type": "pending"}],
                                          "shippingMethods": [{"label": "Pickup", "detail": "Within an hour", "amount": "0.00", "identifier": "p"}, {"label": "Ground", "detail": "5 to 8 days", "amount": "4.99", "identifier": "g"}],
                                          "requiredShippingContactFields": ["post", "email"], "requiredBillingContactFields": ["post"], "total": {"label": "Sam's Fish", "amount": "63.99", "type": "final"}}}}
SIGN_IN = {"version": "2.0", "authenticate": {"oauth2": {"state": "s", "responseType": "code", "scope": ["email"], "redirectURI": "https://example.com/callback"}}}
SIGN_IN_1 = {"authenticate": {"oauth2": {"state": "s", "responseType": "code", "scope": ["email"], "responseEncryptionKey": base64.b64encode(b"\x04" + bytes(96)).decode(), "clientSecret": "secret"}}}
INVITATION = {"type": "interactive", "interactiveData": {"bid": BUSINESS, "sessionIdentifier": "00000009-0000-4000-8000-000000000000", "data": {
    "version": "1.0", "requestIdentifier": "00000009-0000-4000-8000-111111111111", "notification": {
        "templateId": "binaryChoice.engage.noImage", "referenceId": "campaign-7", "locale": "en-us", "parameters": {"brandName": "Sam's Fish"}}}}}
