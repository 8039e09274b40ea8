"""Checks of the JSON blocks and of the settings on the page Configuration."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile

import jsonschema
from pages import documents

BID = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"
SCHEMAS = {name: json.loads(pathlib.Path(f"config/schemas/{name}.schema.json").read_text()) for name in ("brief", "handler", "inbound", "outbound")}
CONFIGURATION = pathlib.Path("Sources/MessageServer/MessageServer.docc/Configuration.md")

# JSON that is neither a line of the handlers' protocol nor a message nor configuration: it is parsed, and the named test
# or nothing else compares its members.
PARSED_ONLY = {
    "AnswerTheAppStore | Set the app up | 1": "the rules; RetentionMessagesTests decode such files",
    "DataDirectory | A conversation | 1": "lines of a conversation, shortened",
    "DataDirectory | The journal | 1": "lines of the journal, shortened",
    "FollowEvents | Events | 1": "EventManualTests compares them with real events",
    "ForgetACustomer | The ledger | 1": "lines of the ledger, shortened",
    "Operations | Who changed what | 1": "lines of the audit log",
    "PlayTheCustomer | Try another version of the handler | 1": "an answer of the inspector, shortened",
}


def matches(schema, value):
    """None when the value matches, else the most specific reason."""
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(SCHEMAS[schema]).iter_errors(value))
    return error and f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"


def message(value):
    """A fragment of a message as a whole one, with the members that pages leave out."""
    if "data" in value and "type" not in value:
        value = {"interactiveData": {"bid": BID, "data": {"version": "1.0", "requestIdentifier": "r", **value["data"]},
                                     "receivedMessage": {"title": "t"}, "replyMessage": {"title": "t"}}}
    if "interactiveData" in value or "interactiveDataRef" in value:
        value = {"type": "interactive", **value}
    return value


def problem(block, check_config):
    """The reason why a JSON block is wrong; None for a right one."""
    try:
        values = documents(block.text)
    except ValueError as error:
        return f"is not JSON: {error}"
    if not values:
        return "is empty"
    for value in values:
        reason = None
        if block.name in PARSED_ONLY:
            continue
        if block.page == "BeforeApplesReview":
            reason = matches("brief", value)
        elif isinstance(value, dict) and "jsonrpc" in value:
            reason = matches("handler", value)
        elif "outcome" in value or "replies" in value:
            reason = matches("handler", {"jsonrpc": "2.0", "id": 1, "result": value})
        elif "signIn" in value or "payment" in value:
            reason = matches("handler", {"jsonrpc": "2.0", "id": 1, "result": {"replies": [value]}})
        elif block.page in ("Configuration", "PersonTakesOver", "SignCustomersIn", "TakeAPayment", "Inbox", "HTTPService", "AnswerTheAppStore"):
            reason = check_config(value)
        elif value.get("format") == 1 and "steps" in value:
            reason = None if isinstance(value["steps"], list) and value["steps"] else "a scenario without steps"
        else:
            value = message(value)
            outbound, inbound = matches("outbound", value), matches("inbound", value)
            reason = outbound and inbound and f"neither a message to a customer ({outbound}) nor from one ({inbound})"
        if reason:
            return reason
    return None


class Configurations:
    """Decodes settings with `balloon config check`, in a folder of its own."""

    SERVER = {"mspID": "1b2c3d4e-0000-4000-8000-000000000001", "secret": {"file": "msp"}, "publicURL": "https://messages.example.com"}
    BUSINESS = {"businessID": "5a6b7c8d-0000-4000-8000-000000000002", "name": "Fish", "handler": {"builtin": "demo"}}
    APPLE_PAY = {"merchantIdentifier": "merchant.com.example", "domainName": "messages.example.com", "displayName": "Fish",
                 "certificateFile": "merchant.pem", "keyFile": "merchant-key.pem"}
    AUTHENTICATION = {"issuer": "https://login.example.com", "clientID": "balloon", "clientSecret": {"env": "LOGIN_SECRET"}, "scope": ["openid"]}
    MENU = {"type": "interactive", "fallback": "Write cod or sole.", "interactiveData": {
        "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
        "data": {"version": "1.0", "requestIdentifier": "8ef748b5-3dc5-47ae-b185-65e91518d209", "quick-reply": {
            "summaryText": "Which fish?", "items": [{"identifier": "cod", "title": "Cod"}, {"identifier": "sole", "title": "Sole"}]}}}}
    NOTICES = {"text": "You get our news.", "withdrawnText": "You get no more news."}
    TOKEN = {"name": "crm", "sha256": "b5" * 32, "may": ["read"]}

    def __init__(self, programs):
        self.balloon = (pathlib.Path(programs) / "balloon").resolve()
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        (root / "businesses").mkdir()
        (root / "msp").write_text("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=\n")
        (root / "bot.py").write_text("#!/bin/sh\n")
        (root / "businesses/bot.py").write_text("#!/bin/sh\n")
        (root / "businesses/apple-developer-merchantid-domain-association").write_text("association\n")
        for path in root.rglob("*"):
            path.chmod(0o700)
        (root / "webhook-secret").write_text("whsec_" + "QUJD" * 12 + "\n")
        # Apple's certificates name their merchant by its hash.
        merchant = hashlib.sha256(self.APPLE_PAY["merchantIdentifier"].encode()).hexdigest().upper()
        for name in ("merchant", "processing"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365",
                            "-subj", "/CN=example", "-addext", f"1.2.840.113635.100.6.32=ASN1:UTF8String:{merchant}", "-keyout", root / f"businesses/{name}-key.pem", "-out", root / f"businesses/{name}.pem"],
                           check=True, capture_output=True)
        (root / "server-key.pem").write_bytes((root / "businesses/merchant-key.pem").read_bytes())
        (root / "server.pem").write_bytes((root / "businesses/merchant.pem").read_bytes())
        self.root = root

    def placed(self, value):
        """The value with the page's paths replaced by files of the folder."""
        text = json.dumps(value, ensure_ascii=False)
        for old, new in (("/run/secrets/msp", str(self.root / "msp")), ("/run/secrets/", str(self.root / "businesses") + "/"),
                         ("b5d4…", "b5" * 32), ("/var/lib/balloon", str(self.root / "data")), (r"https://…", "https://bot.example.com")):
            text = text.replace(old, new)
        return json.loads(text)

    def check(self, server=None, business=None):
        """None when `config check` accepts the two files, else its words."""
        (self.root / "server.json").write_text(json.dumps(self.placed({**self.SERVER, **(server or {})})))
        (self.root / "businesses/fish.json").write_text(json.dumps(self.placed({**self.BUSINESS, **(business or {})})))
        run = subprocess.run([self.balloon, "config", "check", "--config", "server.json"], cwd=self.root, capture_output=True, text=True,
                             env={"PATH": "/usr/bin:/bin", "LOGIN_SECRET": "s", "CLASSIC_SECRET": "c", "HANDLER_SECRET": "whsec_" + "QUJD" * 12,
                                  "NAME": "whsec_" + "QUJD" * 12})
        return None if run.returncode == 0 else (run.stderr or run.stdout).strip()[:600]

    def problem(self, value):
        """Checks an example of a page: a whole file, or members of one."""
        if "bundleID" in value:
            return None if {"bundleID", "appleID", "issuerID"} <= set(value) else "an app's file without its identifiers"
        if "rules" in value:
            return None
        if "mspID" in value:
            return self.check(server=value)
        if "businessID" in value:
            return self.check(business=value)
        if "classic" in value:
            return self.check(business={"authentication": {**self.AUTHENTICATION, **value}})
        if "decrypt" in value:
            return self.check(business={"applePay": {**self.APPLE_PAY, **value}})
        if "handler" in value:
            # An app's handler; a business's handler with the same program is decoded by the same code.
            return self.check(business={"handler": {**value["handler"], "exec": ["./bot.py"]}})
        if set(value) <= {"api", "limits", "http", "store"}:
            return self.check(server=value)
        return self.check(business=value)


HOURS = {"zone": "Europe/Berlin", "week": {"mon-fri": ["09:00-18:00"]}, "dates": {"12-25": []}}
# An example for each setting whose row of the page has no default that is JSON. A setting of the same name in another table is
# told apart by its table.
EXAMPLES = {
    "server": {
        "mspID": "5c9f8f8a-0000-4000-8000-000000000001", "secret": {"file": "/run/secrets/msp"}, "previousSecret": {"file": "/run/secrets/msp"},
        "publicURL": "https://messages.example.com", "listen": "127.0.0.1:8080", "adminListen": "off", "inspectorListen": "off",
        "tls": {"certificateFile": "server.pem", "keyFile": "server-key.pem"}, "dataDirectory": "data", "gateway.url": "https://mspgw.push.apple.com/v1",
        "gateway.downloadHosts": ["icloud-content.com", "icloud.com", "apple.com"], "gateway.agent": "Balloon", "store.erasureLedger": "/ledger/erasures.jsonl",
        "store.erasureLedgerDays": 400, "store.postgres": {"url": {"file": "/run/secrets/msp"}, "leaseSeconds": 10}, "drainDelaySeconds": 5, "limits": {}, "http": {}, "api": {},
    },
    "api": {
        "tokens": [Configurations.TOKEN], "tokens[].name": "desk", "tokens[].sha256": "c6" * 32, "tokens[].businesses": ["fish"], "tokens[].may": ["read", "send"],
        "tokens[].person": {"id": "agent-7", "name": "Ana"}, "origins": ["https://desk.example.com"], "hosts": ["balloon.example.com"],
    },
    "business": {
        "businessID": "5a6b7c8d-0000-4000-8000-000000000003", "name": "Sam's Fish", "handler": {"builtin": "demo"},
        "fallback": {"text": "An agent will reply soon.", "afterSeconds": 120}, "people": {"text": "A colleague answers."},
        "texts": {"wait": {"de": "Gleich."}}, "notices": Configurations.NOTICES,
        "authentication": Configurations.AUTHENTICATION, "applePay": Configurations.APPLE_PAY, "concurrency": 4, "deadlineSeconds": 30,
        "newAfterHours": 24, "disclosure": "An automated assistant answers.", "terms": {"url": "https://shop.example.com/terms", "title": "Our terms"}, "firstAnswer": {"text": "One moment, please.", "afterSeconds": 4}, "replies.links": "convert", "links.hosts": {"shop.example.com": {"title": "Our shop"}}, "replies.typing": {"seconds": 1, "maximumSeconds": 3}, "quota.pendingMessages": 1000, "logLevel": "debug", "retention": {"messagesDays": 730, "attachmentsDays": 365, "deadLettersDays": 30},
    },
    "people": {
        "text": "A colleague answers.", "unclaimedText": "All of us are busy.", "phrases": ["a human"], "menu": Configurations.MENU,
        "hours": HOURS, "closedText": "A colleague answers {opensAt}.",
        "transferText": "A colleague continues.", "openingText": "Hello, this is {name}.", "link": "https://crm.example.com/chats/{conversation}",
        "survey": "How was it?", "queues[].survey": "How was your return?", "queues[].transferText": "The people of returns continue.", "queues[].openingText": "Returns, this is {name}.", "queues[].hours": HOURS, "queues[].text": "The people of returns answer.",
        "queues[].unclaimedText": "We look for your parcel.", "queues[].closedText": "The people of returns answer {opensAt}.", "queues[].texts": {},
        "queues": [{"id": "general"}], "queues[].id": "claims", "queues[].name": "Claims", "queues[].persons": ["agent-7"], "queues[].languages": ["fr"],
        "queues[].capacity": 3, "queues[].acceptSeconds": 60, "queues[].firstAnswerSeconds": 600, "queues[].answerSeconds": 300,
        "queues[].overflow": {"to": "general", "minutes": 10}, "rules": [{"queue": "returns", "intent": "returns"}], "rules[].queue": "general",
        "rules[].intent": "returns", "rules[].group": "shop", "rules[].locale": "fr_CA", "rules[].words": ["refund"], "rules[].lastPersonDays": 30,
        "savedReplies": [{"id": "hours", "title": "Opening hours", "text": "We are open from 9 to 18."}],
    },
    "notices": {**Configurations.NOTICES, "types": [{"id": "orders", "title": "Orders"}], "lapsesAfterDays": 365, "words": ["sign me up"],
                "withdrawalWords": ["no more"]},
    "authentication": {
        "issuer": "https://login.example.com", "authorizationURL": "https://login.example.com/authorize", "tokenURL": "https://login.example.com/token",
        "jwksURL": "https://login.example.com/keys", "userinfoURL": "https://login.example.com/userinfo", "clientID": "balloon",
        "clientSecret": {"env": "LOGIN_SECRET"}, "scope": ["openid"], "idTokenAlgorithms": ["RS256", "ES256"], "subjectClaim": "sub",
        "clientAuthentication": "client_secret_post", "auditToken": {"env": "NAME"}, "otherAudiences": ["project-1"],
        "authorizationResponseIss": True,
        "clientKeyFile": {"clientAuthentication": "private_key_jwt", "clientKeyFile": "processing-key.pem", "clientKeyID": "k1", "clientSecret": None},
        "clientKeyID": {"clientAuthentication": "private_key_jwt", "clientKeyFile": "processing-key.pem", "clientKeyID": "k1", "clientSecret": None},
        "classic": {"clientID": "classic", "clientSecret": {"env": "CLASSIC_SECRET"}, "introspectionURL": "https://login.example.com/introspect"},
    },
    "applePay": {
        **Configurations.APPLE_PAY, "sessionURL": "https://apple-pay-gateway.apple.com/paymentservices/paymentSession",
        "domainAssociationFile": "apple-developer-merchantid-domain-association", "fallbackURL": "https://shop.example.com/pay", "paths": "perRequest",
        "decrypt": {"keyFiles": ["processing-key.pem"], "certificateFiles": ["processing.pem"]},
    },
}

# The tables of the page by their first header cell and the heading or paragraph above them.
TABLES = (("server", "## The server's file"), ("limits", "## Limits"), ("http", "## HTTP"), ("api", "## The business API"), ("business", "## A business's file"),
          ("people", "### People"), ("notices", "### Notices"), ("authentication", '"authentication": {'), ("applePay", "### Apple Pay"))


def settings():
    """Each setting of the page as (table, key, default cell)."""
    text = CONFIGURATION.read_text()
    for table, start in TABLES:
        part = text[text.index(start):]
        head = re.search(r"^\| key[^|]*\|.*\|$\n\|[-|]+\|$\n((?:\|.*\|$\n)+)", part, re.MULTILINE)
        for row in head[1].splitlines():
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            first, *others = re.findall(r"`([^`]+)`", cells[0])
            # A row such as "`queues[].id`, `name`" has members of the same list.
            of_list = first[:first.index("[].") + 3] if "[]." in first else ""
            for key in [first, *(of_list + other for other in others)]:
                yield table, key, cells[2] if len(cells) > 2 else ""


# The entries of lists that have what is required; an example of `queues[].name` goes into the last one.
ENTRIES = {"tokens": [Configurations.TOKEN], "queues": [{"id": "general"}, {"id": "returns"}], "rules": [{"queue": "returns"}]}


def nested(key, value):
    """`a.b` as `{"a": {"b": value}}`, and `a[].b` as the list of `ENTRIES` with `b` in its last entry."""
    for part in reversed(key.split(".")):
        name = part.removesuffix("[]")
        value = {name: [*ENTRIES[name][:-1], {**ENTRIES[name][-1], **value}] if name != part else value}
    return value


def setting_problem(configurations, table, key, default):
    """Decodes an example of a setting; returns the reason why it is refused."""
    missing = object()
    value = EXAMPLES.get(table, {}).get(key, missing)
    if value is missing:
        literal = re.fullmatch(r"`([^`]*)`|(-?[\d.]+)", default)
        try:
            value = json.loads(literal[1] or literal[2]) if literal else missing
        except ValueError:
            value = literal[1]
    if value is missing:
        return "has neither a default nor an example in scripts/examples.d/data.py"
    if table == "server":
        return configurations.check(server=nested(key, value))
    if table == "api":
        return configurations.check(server={"api": nested(key, value)})
    if table in ("limits", "http"):
        return configurations.check(server={table: nested(key, value)})
    if table == "business":
        return configurations.check(business={"people": {"text": "A colleague answers."}, **nested(key, value)})
    base = {"people": {"text": "A colleague answers.", "closedText": "We are closed.", "queues": ENTRIES["queues"]}, "notices": Configurations.NOTICES, "authentication": Configurations.AUTHENTICATION, "applePay": Configurations.APPLE_PAY}[table]
    members = {**base, **(value if key in ("clientKeyFile", "clientKeyID") else nested(key, value))}
    return configurations.check(business={table: {name: value for name, value in members.items() if value is not None}})
