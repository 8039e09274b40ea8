"""Write a bot for Apple Messages for Business in Python, in one file and with no dependencies.

    from balloon import Bot, quick_reply

    bot = Bot("shop")
    on = bot.on

    @on.text
    def text(event):
        return quick_reply("What can we do for you?", [("order", "Order bread"), ("person", "Talk to a person")])

    if __name__ == "__main__":
        bot.run()

A function gets an `Event` and returns a text, a message, a list of them, an outcome (`handoff`, `retry`, `reject`), or
None. `event.state` is a dictionary that the server keeps for the conversation. Every message is checked when it is
built: `MessageError` names the rule and the place. Python 3.9 or newer.
"""
import base64
import calendar
import collections
import concurrent.futures
import contextlib
import datetime
import functools
import hashlib
import hmac
import http.server
import inspect
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

__all__ = [
    "Bot", "Event", "File", "Image", "MessageError", "Outcome", "Payment", "Question", "SendError", "SignatureError", "SimulationError",
    "app", "apple_pay", "bubble", "check", "date_page", "form", "handoff", "input_page", "invitation", "item",
    "link_preview", "list_picker", "log", "not_paid", "paid", "payment_error", "payment_request", "picker_page", "problems", "quick_reply", "reject", "retry", "rich_link", "section",
    "select_page", "sheet", "sign_in", "simulated", "slot", "text", "time_picker", "typing_end", "typing_start",
]

APPLE = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"
MAXIMUM_STATE_BYTES = 32768
MAXIMUM_REQUEST_BYTES = 128 << 20
SIGNATURE_SECONDS = 300
URGENT_THREADS = 8
# The server keeps calls that charge open for ten minutes, so that this many may be open at a time: 256, and 1,024 late ones.
CHARGE_THREADS = 1280
CHARGE = "paymentGateway"
# The parameter that says what a call is about.
NEEDED = {"event": ("event", dict), "payment": ("call", str), "retention": ("retention", dict)}
MAXIMUM_DEPTH = 100
REFUSED = -32002


# Errors.

class MessageError(ValueError):
    """A message that Apple would refuse, or a value that cannot be sent. `rule` and `pointer` are those that
    `balloon validate` prints.

    The text says what is wrong without the words of the message, so it may be logged. An event whose function raises it
    is a dead letter with `problems`, and the `fallback` of the business's file answers the customer.
    """

    def __init__(self, rule, pointer, found, allowed, problems=None):
        super().__init__(_whole(f"{rule} at {pointer or '/'}: found {found}, allowed {allowed}"))
        self.rule, self.pointer, self.found, self.allowed = rule, pointer, found, allowed
        named = problems or [(rule, pointer, found, allowed)]
        # Parts of every type become texts that can be sent.
        self.problems = [dict(zip(("rule", "pointer", "found", "allowed"), (_whole(str(part)) for part in each))) for each in named]


class SendError(RuntimeError):
    """A message without an event that the server refused. `code` is the protocol's; -32001 and -32004 mean: try again.

    -32005 means that a person has the conversation: drop the message.
    """

    def __init__(self, code, message):
        super().__init__(f"{message} ({code})")
        self.code = code


class SignatureError(ValueError):
    """A request that no server with the right secret signed, or one that is more than five minutes old."""


class _CallError(ValueError):
    """A call of the server without its parameters."""


class SimulationError(AssertionError):
    """`balloon simulate` failed; the text is what it printed."""


# Arguments of builders.

# The kind of an argument: words for the author of the bot, a test, and for a list the kind of its parts.
_Wanted = collections.namedtuple("_Wanted", "words test part", defaults=(None,))


def _list(part):
    """A list of values; text, bytes and a dictionary are none, although Python iterates over them."""
    return _Wanted(f"a list, each {part.words}", lambda value: hasattr(value, "__iter__")
                   and not isinstance(value, (str, bytes, bytearray, dict)), part)


def _builder(**wanted):
    """A decorator: an argument of a wrong kind raises MessageError with its name, as a wrong message does.

    `wanted` has the kinds of the arguments that the function itself takes apart; the rules of messages name the rest. None
    stands for the default of an argument that has one.
    """
    def decorate(function):
        signature, name = inspect.signature(function), function.__qualname__.split(".")[0]

        def read(value, kind, pointer):
            if not kind.test(value):
                argument = pointer.split("/")[1]
                raise MessageError("type", pointer, _shown(value), f"{kind.words}, for {argument} of {name}")
            if kind.part is None:
                return value
            # Outside of the builder: an error of a generator is an error of the bot.
            return [read(each, kind.part, f"{pointer}/{place}") for place, each in enumerate(value)]

        @functools.wraps(function)
        def build(*given, **named):
            try:
                bound = signature.bind(*given, **named)
            except TypeError as error:
                raise MessageError("type", "", str(error), f"the arguments of {name}{signature}") from None
            for argument, kind in wanted.items():
                if argument in bound.arguments:
                    value, default = bound.arguments[argument], signature.parameters[argument].default
                    is_missing = value is default or value is None and default is not inspect.Parameter.empty
                    bound.arguments[argument] = default if is_missing else read(value, kind, "/" + argument)
            try:
                return function(*bound.args, **bound.kwargs)
            except MessageError:
                raise
            except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                raise MessageError("type", "", f"arguments with which {name} raised {type(error).__name__}",
                                   f"the arguments that the description of {name} names") from error

        return build

    return decorate


def _is_tuple(value, *counts):
    return isinstance(value, (tuple, list)) and len(value) in counts


def _has_items(value):
    """Whether a section or a page has a list of items, if any; the rules of messages name what else is wrong."""
    items = value.get("items", [])
    return isinstance(items, (list, tuple)) and all(isinstance(each, dict) for each in items)


_TEXT = _Wanted("a text", lambda value: isinstance(value, str))
_NUMBER = _Wanted("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
_OBJECT = _Wanted("a dictionary", lambda value: isinstance(value, dict))
_BYTES = _Wanted("bytes", lambda value: isinstance(value, (bytes, bytearray)))
_START = _Wanted("a datetime or a text", lambda value: isinstance(value, (datetime.datetime, str)))
_IMAGE = _Wanted("an Image", lambda value: isinstance(value, Image))
_SOURCE = _Wanted("the path or the bytes of a file", lambda value: isinstance(value, (str, os.PathLike, bytes, bytearray)))
_FILE = _Wanted("the path of a file", lambda value: isinstance(value, (str, os.PathLike, dict)))
_ITEM = _Wanted("an item or (identifier, title)", lambda value: isinstance(value, dict) or _is_tuple(value, 2))
_SECTION = _Wanted("a section", lambda value: isinstance(value, dict) and "items" in value and _has_items(value))
_PAGE = _Wanted("a page", lambda value: isinstance(value, dict) and _has_items(value))
_SLOT = _Wanted("a slot", _OBJECT.test)
_LINE = _Wanted("(label, amount)", lambda value: isinstance(value, dict) or _is_tuple(value, 2, 3))
_SHIPPING = _Wanted("(identifier, label, detail, amount)", lambda value: isinstance(value, dict) or _is_tuple(value, 4))
_ERROR = _Wanted("a payment_error", _OBJECT.test)


# Events.

class File:
    """An attachment. `path`, `size` and `sha256` are None, and `failure` says why, when it could not be fetched.

    `name` and `mime_type` are claims of the customer's device.
    """

    def __init__(self, file, attachment):
        self.path, self.size, self.sha256 = file.get("path"), file.get("size"), file.get("sha256")
        self.failure = file.get("failure")
        self.name, self.mime_type = attachment.get("name"), attachment.get("mimeType")

    def read(self):
        """The bytes of the file."""
        with open(self.path, "rb") as file:
            return file.read()


class Event:
    """One event, and what is known about its conversation.

    The members of the protocol's `event` are attributes in Python's spelling: `kind`, `customer`, `text`,
    `selected_identifier`, `selected_identifiers`, `start_time`, `answers`, `locale` and so on; a missing one is None.
    `traceparent` is the W3C trace context of this attempt; send it with your own requests.
    `after_person` is a number in the first event after a person answered: the `seq` of the first line without the bot.
    `is_new` says that the event begins a conversation, and `is_returning` that its customer wrote before, at `last_contact`.
    """

    def __init__(self, params, config=None):
        self.params = params
        self.config = config or {}
        self.delivery_id = params.get("deliveryId")
        self.attempt = params.get("attempt", 1)
        self.traceparent = params.get("traceparent")
        self.after_gap = params.get("afterGap", False)
        self.after_person = params.get("afterPerson")
        conversation = params.get("conversation") or {}
        self.is_new = conversation.get("isNew", False)
        self.is_returning = conversation.get("isReturning", False)
        self.last_contact = conversation.get("lastContact")
        self.history = params.get("history") or []
        self.state = json.loads(json.dumps(params.get("state") or {}))
        self._end = time.monotonic() + params.get("deadlineMs", 30000) / 1000
        self._message = None

    def __getattr__(self, name):
        member = re.sub("_([a-z])", lambda match: match.group(1).upper(), name)
        if member not in EVENT_MEMBERS:
            raise AttributeError(f"an event has no {name}")
        return self.params["event"].get(member)

    @property
    def message(self):
        """The whole message as Apple sent it; a long one is read from its file. Use it before you return."""
        if self._message is None:
            event = self.params["event"]
            if "message" in event:
                self._message = event["message"]
            else:
                with open(event["messagePath"], encoding="utf-8") as file:
                    self._message = json.load(file)
        return self._message

    @property
    def text(self):
        """The customer's words without the marks of attachments; None for an event that is no text."""
        event = self.params["event"]
        if "text" not in event and event["kind"] == "text":
            # The server leaves a very long text in the message's file.
            return str(self.message.get("body") or "").replace("\ufffc", "").strip()
        return event.get("text")

    @property
    def files(self):
        """The attachments, in their order."""
        files = self.params.get("files") or []
        claims = (self.message.get("attachments") or []) if files else []
        return [File(file, claims[place] if place < len(claims) else {}) for place, file in enumerate(files)]

    @property
    def seconds_left(self):
        """The time until the server stops waiting for the answer."""
        return max(0.0, self._end - time.monotonic())

    def can(self, capability):
        """Whether the customer's device has a capability, such as "LIST" or "FORM"."""
        return capability in (self.params["event"].get("capabilities") or [])


# Outcomes.

class Payment:
    """A call of `on.paymentGateway` and the other functions of a payment.

    `total` is the sum that the customer sees, as a text, in `currency`. `attempt` is the idempotency key of a charge and
    of its reversal. `token`, `shipping_method`, `shipping_contact`, `billing_contact` and `payment_method` are Apple's
    objects, or None; never log or keep the token. `decrypted_token` is its content where the business's file has
    `decrypt`. A `reversal` has `amount`, `currency`, `reference` and `attempt`.
    """

    def __init__(self, params, config=None):
        self.params, self.config = params, config or {}
        self.call, self.attempt = params["call"], params.get("attempt")
        self.business, self.customer, self.message_id = params["business"], params["customer"], params["messageId"]
        self.request_identifier = params.get("requestIdentifier")
        self.request = (params.get("request") or {}).get("paymentRequest") or {}
        shown = params.get("sheet") or {}
        self.total, self.total_line, self.items = shown.get("total"), shown.get("newTotal"), shown.get("newLineItems") or []
        self.currency = params.get("currency") or shown.get("currency")
        self.amount, self.reference = params.get("amount"), params.get("reference")
        data = params.get("payment") or {}
        self.decrypted_token = params.get("decryptedToken")
        self.token, self.shipping_method = data.get("paymentToken"), data.get("shippingMethod")
        self.shipping_contact, self.billing_contact = data.get("shippingContact"), data.get("billingContact")
        self.payment_method = data.get("paymentMethod")


class Outcome:
    """The end of an event other than replies; made by `handoff`, `retry` and `reject`."""

    def __init__(self, **members):
        self.members = members


@_builder()
def handoff(reason="", replies=None, queue=None, priority=None, note=None):
    """A person takes over the conversation; `reason` is for the log.

    `replies` are a text, a message or a list of them that tell the customer so; without them the server sends the text of
    the business's `people`, if it has one. `queue` is the id of one of the business's queues, `priority` is 0 to 9, and `note`
    is for the person.
    """
    more = {"replies": _replies(replies) or None, "queue": queue, "priority": priority, "note": note}
    return Outcome(outcome="handoff", reason=reason, **{name: value for name, value in more.items() if value is not None})


@_builder(after=_NUMBER)
def retry(after=None):
    """The server repeats the event by its schedule, or after so many seconds if that is later (at most 300)."""
    return Outcome(outcome="retry", **({} if after is None else {"retryAfterMs": int(_finite(after, "/retryAfterMs") * 1000)}))


@_builder()
def reject(reason=""):
    """The event becomes a dead letter; `reason` is for the log."""
    return Outcome(outcome="reject", reason=reason)


# Messages. Each builder returns the message in Apple's format, a dictionary, and raises MessageError.
#
# `fallback` is the text for a device that cannot show the message; without it the server refuses the answer. `reusable`
# says that the content is the same for all customers: Apple stores it once.

class Image:
    """A PNG or JPEG file, by its path or its bytes; `description` is what VoiceOver reads aloud."""

    @_builder(source=_SOURCE, description=_TEXT)
    def __init__(self, source, description=None):
        if isinstance(source, (bytes, bytearray)):
            self.bytes = bytes(source)
        else:
            with open(source, "rb") as file:
                self.bytes = file.read()
        if not _mime_type(self.bytes):
            raise MessageError("imageFormat", "", "another file", "a PNG or JPEG file")
        self.description = None if description is None else _whole(description)
        self.identifier = hashlib.sha256(self.bytes + (self.description or "").encode()).hexdigest()[:12]


@_builder(files=_list(_FILE))
def text(body, *, files=(), subject=None):
    """A text. `files` are paths of files to attach; only a child process may attach files."""
    message = _members(type="text", body=body, subject=subject)
    if files:
        message["attachments"] = [
            file if isinstance(file, dict) else {"path": os.path.abspath(file), "name": os.path.basename(file),
                                                 "mimeType": _media_type(str(file))} for file in files]
    return check(message)


@_builder(image=_IMAGE)
def rich_link(url, title, *, image=None, video=None, video_type="video/mp4"):
    """A web page in a bubble with an `Image` (at most 200 kB, best 240 x 240 pixels), and perhaps a video's URL."""
    assets = {}
    if image is not None:
        assets["image"] = {"data": _base64(image.bytes), "mimeType": _mime_type(image.bytes)}
    if video is not None:
        assets["video"] = {"url": video, "mimeType": video_type}
    return check({"type": "richLink", "richLinkData": _members(url=url, title=title, assets=assets or None)})


@_builder()
def link_preview(url, title=None, *, store_region=None):
    """The preview that Apple makes of an App Clip, a song or a place; `title` is sent when Apple has none."""
    return check({"type": "richLink", "preview": _members(url=url, title=title, storeRegion=store_region)})


@_builder(items=_list(_ITEM))
def quick_reply(summary, items, *, request_identifier=None, reusable=False, fallback=None):
    """Two to five choices, each `(identifier, title)`. Explain the question in a text before it. Needs QUICK."""
    choices = [{name: each[name] for name in ("identifier", "title") if name in each} for each in map(_item, items)]
    payload = {"quick-reply": {"summaryText": summary, "items": choices}}
    return _interactive(payload, None, None, request_identifier, None, reusable=reusable, fallback=fallback)


@_builder()
def item(identifier, title, *, subtitle=None, image=None, value=None, next=None):
    """A choice in a list picker or on a page of a form.

    `subtitle` is for list pickers. On a page, `value` is the answer (the identifier when missing), and `next` names the
    page that follows this choice.
    """
    return _members(identifier=identifier, title=title, subtitle=subtitle, value=value, imageIdentifier=image,
                    nextPageIdentifier=next)


@_builder(items=_list(_ITEM))
def section(title, items, *, multiple=False):
    """Items of a list picker under a heading; each is an `item` or `(identifier, title)`."""
    return {"title": title, "multipleSelection": multiple, "items": [dict(_item(each)) for each in items]}


@_builder(sections=_list(_SECTION))
def list_picker(title, sections, *, reply=None, request_identifier=None, session_identifier=None, reusable=False,
                fallback=None):
    """A list with sections. `title` and `reply` are the bubbles before and after the choice. Needs LIST."""
    for order, each in enumerate(sections):
        each["order"] = order
        for place, choice in enumerate(each["items"]):
            choice.pop("value", None)
            choice.update(order=place, style="default")
    return _interactive({"listPicker": {"sections": list(sections)}}, title, reply, request_identifier, session_identifier,
                        reusable=reusable, fallback=fallback)


@_builder(start=_START, minutes=_NUMBER)
def slot(identifier, start, minutes):
    """A time of a time picker; `start` is a datetime with a time zone, or a text such as 2026-07-10T17:00+0000."""
    if isinstance(start, datetime.datetime):
        if start.tzinfo is None:
            raise MessageError("startTime", "", "a datetime without a time zone", "a datetime with one")
        start = start.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M+0000")
    return {"identifier": identifier, "startTime": start, "duration": int(_finite(minutes, "/duration") * 60)}


def _finite(number, pointer):
    if not abs(number) < 1 << 53:
        raise MessageError("type", pointer, _shown(number), "a finite number below 2 to the power of 53")
    return number


@_builder(slots=_list(_SLOT))
def time_picker(title, event_title, slots, *, identifier=None, location=None, timezone_offset=None, image=None,
                reply=None, request_identifier=None, session_identifier=None, reusable=False, fallback=None):
    """Times for an appointment. `location` has title, latitude, longitude, radius; `timezone_offset` is in minutes.

    Without `timezone_offset` the device shows its own time zone. Needs TIME.
    """
    event = _members(identifier=identifier or str(uuid.uuid4()), title=event_title, location=location,
                     timezoneOffset=timezone_offset, imageIdentifier=image, timeslots=list(slots))
    return _interactive({"event": event}, title, reply, request_identifier, session_identifier, reusable=reusable,
                        fallback=fallback)


@_builder(items=_list(_ITEM))
def select_page(identifier, question, items, *, title=None, multiple=False, next=None, submit=False):
    """A page with choices. `next` names the following page; `form` links pages without one in their order."""
    items = [{**_members(value=each.get("identifier")), **each} for each in map(_item, items)]
    return _page(identifier, "select", title, question, next, submit, multipleSelection=multiple, items=items)


@_builder(items=_list(_ITEM))
def picker_page(identifier, question, items, *, title=None, label=None, selected=None, next=None, submit=False):
    """A page with a wheel; `label` stands beside it, and `selected` is the index of the first shown item."""
    items = [{**_members(value=each.get("identifier")), **each} for each in map(_item, items)]
    return _page(identifier, "picker", title, question, next, submit, pickerTitle=label, selectedItemIndex=selected,
                 items=items)


@_builder()
def date_page(identifier, question, *, title=None, hint=None, next=None, submit=False, **options):
    """A page that asks for a date. Options: dateFormat, startDate, minimumDate, maximumDate, labelText."""
    return _page(identifier, "datePicker", title, question, next, submit, hintText=hint, options=options or None)


@_builder()
def input_page(identifier, question, *, title=None, hint=None, required=False, multiline=False, next=None, submit=False,
               **options):
    """A page with a field. Options: maximumCharacterCount, regex, placeholder, labelText, prefixText, keyboardType,
    textContentType."""
    options = {"required": required, "inputType": "multiline" if multiline else "singleline", **options}
    return _page(identifier, "input", title, question, next, submit, hintText=hint, options=options)


@_builder(pages=_list(_PAGE))
def form(title, pages, *, start=None, splash=None, private=False, show_summary=False, version="1.1", reply=None,
         request_identifier=None, session_identifier=None, reusable=False, fallback=None):
    """A form. Pages follow each other in their order, unless they or their items name a next page. Needs FORM.

    `splash` has buttonTitle, header, splashtext, imageIdentifier. Answers to a private form are not kept.
    """
    pages = [dict(page) for page in pages]
    for page, following in zip(pages, pages[1:] + [None]):
        branches = any("nextPageIdentifier" in each for each in page.get("items", []))
        if "nextPageIdentifier" in page or "submitForm" in page or branches:
            continue
        page.update({"submitForm": True} if following is None else _members(nextPageIdentifier=following.get("pageIdentifier")))
    first = start or (pages[0].get("pageIdentifier") if pages else "")
    data = _members(startPageIdentifier=first, private=private or None, showSummary=show_summary or None, splash=splash,
                    pages=pages)
    payload = {"dynamic": {"version": version, "template": "messageForms", "data": data}}
    return _interactive(payload, title, reply, request_identifier, session_identifier, reusable=reusable,
                        fallback=fallback)


@_builder(payment=_OBJECT)
def apple_pay(title, payment, *, reply=None, request_identifier=None, fallback=None):
    """A payment; `payment` is Apple's object with endpoints, merchantSession and paymentRequest. Needs a large bubble."""
    title = bubble(title, style="large") if isinstance(title, str) else title
    return _interactive({"payment": payment}, title, reply, request_identifier, None, fallback=fallback)


@_builder(total=_LINE, items=_list(_LINE), networks=_list(_TEXT), image=_IMAGE, shipping_methods=_list(_SHIPPING),
          billing=_list(_TEXT), shipping=_list(_TEXT), capabilities=_list(_TEXT))
def payment_request(title, total, items, currency, country, networks, *, subtitle=None, image=None, shipping_methods=(),
                    billing=(), shipping=(), capabilities=("supports3DS",), fallback=None):
    """A request for a payment with Apple Pay, which the server completes; the bot needs `on.paymentGateway`.

    `total` and each of `items` is (label, amount), with the amount as a text such as "59.00"; the items sum to the
    total. A shipping method is (identifier, label, detail, amount). `billing` and `shipping` name required contact
    fields: email, name, phone, phoneticName, post.
    """
    images = [_members(identifier=image.identifier, data=_base64(image.bytes), description=image.description)] if image else None
    request = _members(
        applePay={"merchantCapabilities": list(capabilities), "supportedNetworks": list(networks)},
        countryCode=country, currencyCode=currency, total=_line(total), lineItems=[_line(each) for each in items] or None,
        requiredBillingContactFields=list(billing) or None, requiredShippingContactFields=list(shipping) or None,
        shippingMethods=[_shipping(each) for each in shipping_methods] or None)
    received = _members(title=title, subtitle=subtitle, style="large", imageIdentifier=image.identifier if image else None)
    return _members(payment=_members(paymentRequest=request, receivedMessage=received, images=images), fallback=fallback)


@_builder(total=_LINE, items=_list(_LINE), shipping_methods=_list(_SHIPPING), errors=_list(_ERROR))
def sheet(total=None, items=None, *, shipping_methods=None, errors=()):
    """The answer to an update of a payment: what changed. Without arguments nothing did."""
    return _members(
        newTotal=_line(total) if total else None, newLineItems=[_line(each) for each in items] if items else None,
        newShippingMethods=[_shipping(each) for each in shipping_methods] if shipping_methods is not None else None,
        errors=list(errors) or None)


@_builder()
def paid(charged, reference):
    """The answer of `on.paymentGateway` after a charge: the sum as a text, and the payment provider's reference."""
    return {"status": "STATUS_SUCCESS", "charged": charged, "reference": reference}


@_builder()
def not_paid(*errors):
    """The answer of `on.paymentGateway` when nothing was charged."""
    return _members(status="STATUS_FAILURE", errors=list(errors) or None)


@_builder()
def payment_error(code, message, *, field=None):
    """A problem that the payment sheet shows, such as payment_error("shippingContactInvalid", "…", field="postalCode")."""
    return _members(code=code, contactField=field, message=message)


def _line(value):
    return value if isinstance(value, dict) else dict(zip(("label", "amount", "type"), (*value, "final")))


def _shipping(value):
    return value if isinstance(value, dict) else dict(zip(("identifier", "label", "detail", "amount"), value))


@_builder(oauth2=_OBJECT, scope=_list(_TEXT))
def sign_in(title, oauth2=None, *, scope=None, additional_parameters=None, reply=None, request_identifier=None,
            fallback=None):
    """A request to sign in at the provider of the business's file; the answer's event has the result as `sign_in`.

    `scope` is a list that replaces that of the file, and `additional_parameters` a query for the provider. With `oauth2`,
    Apple's object, the bot itself does what the server does otherwise: version 2 (AUTH2) with redirectURI, else 1 (AUTH).
    """
    if oauth2 is None:
        shown = {"receivedMessage": {"title": title} if isinstance(title, str) else title,
                 "replyMessage": {"title": reply} if isinstance(reply, str) else reply}
        request = _members(**shown, scope=scope, additionalParameters=additional_parameters)
        return check(_members(signIn=request, fallback=fallback))
    version = "2.0" if "redirectURI" in oauth2 else "1.0"
    return _interactive({"authenticate": {"oauth2": oauth2}}, title, reply, request_identifier, None, version,
                        fallback=fallback)


@_builder()
def invitation(template, reference, locale, brand, *, logo=None, request_identifier=None):
    """An invitation to a conversation, sent to a telephone number; `reference` comes with the customer's answer."""
    notification = {"templateId": template, "referenceId": reference, "locale": locale,
                    "parameters": _members(brandName=brand, brandLogo=logo)}
    return _interactive({"notification": notification}, None, None, request_identifier, None)


@_builder(icon=_BYTES)
def app(bid, url, title, *, app_id=None, name=None, icon=None, live_layout=None, reply=None, session_identifier=None,
        fallback=None):
    """A bubble of your own iMessage app; `url` is its data, and `icon` the bytes of an image of less than 15 KB."""
    data = _members(bid=bid, URL=url, appId=app_id, appName=name, appIcon=_base64(icon) if icon else None,
                    useLiveLayout=live_layout, sessionIdentifier=session_identifier,
                    receivedMessage={"title": title} if isinstance(title, str) else title,
                    replyMessage={"title": reply} if isinstance(reply, str) else reply)
    return check(_members(type="interactive", interactiveData=data, fallback=fallback))


@_builder()
def typing_start():
    """Shows the customer that somebody is typing."""
    return {"type": "typing_start"}


@_builder()
def typing_end():
    """Ends the sign that somebody is typing."""
    return {"type": "typing_end"}


@_builder()
def bubble(title, subtitle=None, *, image=None, style="icon"):
    """The appearance of a message in the transcript; `style` is icon, small or large."""
    return _members(title=title, subtitle=subtitle, imageIdentifier=image, style=style)


def _members(**members):
    return {name: value for name, value in members.items() if value is not None}


def _base64(data):
    return base64.b64encode(data).decode("ascii")


def _mime_type(data):
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "image/png"
    return "image/jpeg" if data[:3] == b"\xff\xd8\xff" else None


def _media_type(path):
    return MEDIA_TYPES.get(os.path.splitext(path)[1].lower(), "application/octet-stream")


def _item(value):
    return value if isinstance(value, dict) else item(*value)


def _page(identifier, kind, title, question, following, submit, **members):
    return _members(pageIdentifier=identifier, type=kind, title=title, subtitle=question, nextPageIdentifier=following,
                    submitForm=submit or None, **members)


def _interactive(payload, received, reply, request, session, version="1.0", *, reusable=False, fallback=None):
    """A message of Apple's own extension; every Image in it is replaced by its identifier and added once."""
    images = {}

    def placed(value):
        if isinstance(value, Image):
            images[value.identifier] = _members(identifier=value.identifier, data=_base64(value.bytes),
                                                description=value.description)
            return value.identifier
        if isinstance(value, dict):
            return {name: placed(member) for name, member in value.items()}
        return [placed(each) for each in value] if isinstance(value, (list, tuple)) else value

    payload = placed(payload)
    bubbles = {name: placed(bubble(value) if isinstance(value, str) else value)
               for name, value in (("receivedMessage", received), ("replyMessage", reply)) if value is not None}
    data = {"version": version, "requestIdentifier": request or str(uuid.uuid4()), **payload}
    if images:
        data["images"] = list(images.values())
    content = _members(bid=APPLE, sessionIdentifier=session, data=data, **bubbles)
    return check(_members(type="interactive", interactiveData=content, reusable=reusable or None, fallback=fallback))


# Checks.

def check(message, pointer=""):
    """Returns the message as it is sent, or raises MessageError for the rules that it breaks; its text names the first."""
    message = _sendable(message, pointer)
    broken = [(rule, pointer + place, found, allowed) for rule, place, found, allowed in problems(message)]
    if broken:
        raise MessageError(*broken[0], problems=broken)
    return message


def _sendable(value, pointer, depth=0):
    """A copy of a value as JSON has it, with U+FFFD for half an emoji; raises MessageError for what JSON has not."""
    if isinstance(value, str):
        return _whole(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Python itself writes no more than 4,300 digits, and other programs read no more than a float holds.
        if abs(value) >= 1 << 1023:
            raise MessageError("type", pointer, "a whole number of many digits", "a number below 2 to the power of 1,023")
        return value
    if depth > MAXIMUM_DEPTH:
        raise MessageError("depth", pointer, f"more than {MAXIMUM_DEPTH} levels", "fewer levels; a value must not contain itself")
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, dict):
        return {_name(name, pointer): _sendable(member, f"{pointer}/{_token(name)}", depth + 1)
                for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sendable(each, f"{pointer}/{place}", depth + 1) for place, each in enumerate(value)]
    raise MessageError("type", pointer, _shown(value), _advice(value))


def _advice(value):
    """What to send instead of a value that JSON has not."""
    if hasattr(value, "close") and hasattr(value, "cr_frame"):
        # Without this Python warns about the coroutine itself.
        value.close()
        return "a text, a message, a list of them, an outcome or None: write def instead of async def"
    if isinstance(value, (datetime.date, datetime.time)):
        return "a text, such as the value's isoformat()"
    return "a finite number" if isinstance(value, float) else "a text, number, boolean, None, list or dictionary"


def _name(name, pointer):
    if isinstance(name, str):
        return _whole(name)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(int(name))
    raise MessageError("type", pointer, f"a member whose name is {_shown(name)}", "names that are texts")


def _token(name):
    """A name in a JSON Pointer (RFC 6901); a name that may be a customer's words is only said to be one."""
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]{1,40}", str(name), re.ASCII) else "(a name)"


def _whole(text):
    """The text, in which half a surrogate pair is U+FFFD, because UTF-8 has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def problems(message):
    """The broken rules of a message as (rule, pointer, found, allowed), as `balloon validate` names them; at most 100.

    A message with too many parts breaks the rule fullyChecked and is not checked further, as in the server.
    These are the rules of Apple's JSON that the schema has, and unique identifiers, starts and pages; the
    server checks the rest. Formats inside texts, such as dates and amounts, are the server's.
    """
    found = _Found(100)
    try:
        _collect(message, found)
    except _Enough:
        pass
    return list(found)


class _Enough(Exception):
    """Ends a check: no further problem is listed."""


class _Found(list):
    """Broken rules; the last that fits ends the check."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def append(self, problem):
        super().append(problem)
        if len(self) >= self.most:
            raise _Enough


def _collect(message, found):
    excess = _excess(message)
    if excess:
        return found.append(excess)
    if isinstance(message, dict) and (
            message.get("type") == "BusinessChatCustomMessage" or "metadata" in message and "type" not in message
            or "signIn" in message or "payment" in message):
        # Only the server reads LivePerson's metadata, and completes requests to sign in and to pay.
        return
    files = message.get("attachments") if isinstance(message, dict) else None
    if isinstance(files, list) and files and all(isinstance(file, dict) and "path" in file for file in files):
        # Files of this machine; the server uploads them and writes the attachments.
        message = {name: value for name, value in message.items() if name != "attachments"}
        message["body"] = message.get("body") or "\ufffc"
        for place, file in enumerate(files):
            if not os.path.isabs(str(file["path"])):
                found.append(("attachmentPath", f"/attachments/{place}/path", _shown(str(file["path"])), "an absolute path"))
    _walk(message, SCHEMA["message"], "", found)
    _check_parts(message, found)


def _excess(message):
    """The problem of a message with more parts than the server checks, or None. It does not recurse."""
    def problem(place, what, most):
        return ("fullyChecked", place, what + ", not fully checked", f"at most {most}")

    total, left = 1, [(message, "", 1)]
    while left:
        value, place, depth = left.pop()
        if not isinstance(value, (dict, list, tuple)):
            continue
        members = value.items() if isinstance(value, dict) else enumerate(value)
        most = 10_000 if isinstance(value, dict) else 100 if place == "/attachments" else 1000
        total += len(value)
        if len(value) > most:
            return problem(place, f"{len(value)} parts", most)
        if total > 100_000:
            return problem("", f"{total} values or more", 100_000)
        if depth > 128:
            return problem("", "more than 128 levels", "128 levels")
        left += [(each, f"{place}/{name}", depth + 1) for name, each in members if isinstance(each, (dict, list, tuple))]
    return None


def _kind(value):
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    for kind, types in (("string", str), ("number", float), ("array", (list, tuple)), ("object", dict), ("null", type(None))):
        if isinstance(value, types):
            return kind
    return type(value).__name__


def _shown(value):
    """What was found, without the words of the message."""
    kind = _kind(value)
    if kind == "string":
        return f"a text of {len(value)} characters" if value else "an empty text"
    if kind == "array":
        return "1 item" if len(value) == 1 else f"{len(value)} items"
    if kind in ("boolean", "integer", "number"):
        return json.dumps(value)
    return {"object": "an object", "null": "null"}.get(kind) or f"a value of the type {kind}"


def _walk(value, schema, at, found):
    """Adds each broken rule of `schema`, a subset of JSON Schema; a value of a wrong type has no further problems."""
    rule = schema.get("rule", "type")

    def add(name, allowed, place=at, shown=None):
        found.append((name, place, shown or _shown(value), allowed))

    if "$ref" in schema:
        return _walk(value, SCHEMA[schema["$ref"]], at, found)
    kind = _kind(value)
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if kind not in types and not (kind == "integer" and "number" in types):
            return add("type", " or ".join(types))
    if "enum" in schema and value not in schema["enum"]:
        return add(rule if kind == "string" else "type", " ".join(schema["enum"]))
    if "const" in schema and (kind, value) != (_kind(schema["const"]), schema["const"]):
        return add(rule if kind == _kind(schema["const"]) else "type", json.dumps(schema["const"]))
    if kind == "string":
        if len(value) < schema.get("minLength", 0):
            add("empty", "a text that is not empty")
        elif len(value) > schema.get("maxLength", len(value)):
            add(rule, f"at most {schema['maxLength']} characters")
        elif "pattern" in schema and not _matches(value, schema["pattern"]):
            add(rule, "the form " + schema["pattern"])
    if kind in ("integer", "number") and value < schema.get("minimum", value):
        add(rule, f"{schema['minimum']} or more")
    if kind == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems", len(value))
        if not low <= len(value) <= high:
            add("empty" if low == 1 else rule, f"{low} to {high} items" if "maxItems" in schema else f"{low} or more")
        if "contains" in schema and value and not any(_sound(each, schema["contains"]) for each in value):
            add(rule, json.dumps(schema["contains"].get("const")))
        for place, each in enumerate(value):
            _walk(each, schema.get("items", {}), f"{at}/{place}", found)
    if kind == "object":
        for name in schema.get("required", []):
            if name not in value:
                add("required", name, f"{at}/{name}", "nothing")
        for name, member in schema.get("properties", {}).items():
            if name in value:
                _walk(value[name], member, f"{at}/{name}", found)
    for each in schema.get("allOf", []):
        _walk(value, each, at, found)
    if "if" in schema:
        _walk(value, schema.get("then" if _sound(value, schema["if"]) else "else", {}), at, found)
    if "not" in schema and _sound(value, schema["not"]):
        add(rule, "nothing")
    if "anyOf" in schema and not any(_sound(value, each) for each in schema["anyOf"]):
        name = schema["anyOf"][0]["required"][0]
        add("required", name, f"{at}/{name}", "nothing")
    if "oneOf" in schema and kind == "object":
        count = sum(_sound(value, each) for each in schema["oneOf"])
        if count != 1:
            names = [" and ".join(each["required"]) for each in schema["oneOf"]]
            add(rule, "one of " + ", ".join(names), shown=f"{count} of them")


def _matches(text, pattern):
    # A text whose whole form is known is short; a long one is not searched.
    return (len(text) <= 4096 or pattern[0] != "^") and re.search(pattern, text)


def _sound(value, schema):
    try:
        _walk(value, schema, "", _Found(1))
    except _Enough:
        return False
    return True


def _at(value, *names):
    """The value at a path of names, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _identifier(value):
    """An identifier as a text; devices write numbers too."""
    return None if value == "" or _kind(value) in ("null", "array", "object") else str(value)


def _objects(value):
    return [(place, each) for place, each in enumerate(value) if isinstance(each, dict)] if isinstance(value, list) else []


def _check_parts(message, found):
    """Rules that compare parts of a message with each other, and the form of starts."""
    data, at = _at(message, "interactiveData", "data"), "/interactiveData/data"

    def unique(objects, name, rule):
        seen = set()
        for place, each in objects:
            value = _identifier(each.get(name))
            if value in seen:
                found.append((rule, f"{place}/{name}", "the same again", "each identifier once"))
            seen.update({value} - {None})

    def below(value, place):
        return [(f"{place}/{number}", each) for number, each in _objects(value)]

    unique(below(_at(data, "quick-reply", "items"), at + "/quick-reply/items"), "identifier", "quickReplyIdentifiers")
    sections = below(_at(data, "listPicker", "sections"), at + "/listPicker/sections")
    choices = [choice for place, each in sections for choice in below(each.get("items"), place + "/items")]
    unique(choices, "identifier", "listItemIdentifiers")
    slots = below(_at(data, "event", "timeslots"), at + "/event/timeslots")
    unique(slots, "identifier", "slotIdentifiers")
    for place, each in slots:
        start = each.get("startTime")
        if isinstance(start, str) and not _is_start(start):
            found.append(("startTime", place + "/startTime", _shown(start), "2026-07-10T17:00+0000, always in GMT"))
    pages = below(_at(data, "dynamic", "data", "pages"), at + "/dynamic/data/pages")
    _check_pages(_at(data, "dynamic", "data"), pages, unique, below, found)
    unique(below(_at(data, "images"), at + "/images"), "identifier", "imageIdentifiers")
    reusable = ("quick-reply", "listPicker", "event", "dynamic")
    if _at(message, "reusable") is True and not any(_at(data, name) is not None for name in reusable):
        found.append(("reusableContent", "/reusable", "true", "true in a quick reply, list picker, time picker or form"))


def _check_pages(data, pages, unique, below, found):
    at = "/interactiveData/data/dynamic/data"
    unique(pages, "pageIdentifier", "pageIdentifiers")
    names = {page["pageIdentifier"] for _, page in pages if isinstance(page.get("pageIdentifier"), str)}
    references = [(place + "/nextPageIdentifier", page.get("nextPageIdentifier"), "nextPage") for place, page in pages]
    for place, page in pages:
        items = below(page.get("items"), place + "/items")
        unique(items, "identifier", "pageItemIdentifiers")
        references += [(where + "/nextPageIdentifier", each.get("nextPageIdentifier"), "nextPage") for where, each in items]
    references.append((at + "/startPageIdentifier", _at(data, "startPageIdentifier"), "startPage"))
    for place, name, rule in references:
        if isinstance(name, str) and name and name not in names:
            found.append((rule, place, "an unknown page", "the identifier of a page"))


def _is_start(start):
    match = re.match(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|\+0000|\+00:00)$", start)
    if not match:
        return False
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(max(year, 1), month)[1] and hour < 24 and minute < 60 \
        and second < 61


# The bot.

def log(message, level="info"):
    """Writes a line to the handler's log: trace, debug, info, notice, warning, error or critical."""
    sys.stderr.write(f"[{level}] " + " ".join(str(message).split("\n")) + "\n")
    sys.stderr.flush()


class Question:
    """The App Store's question before a subscriber cancels: `product`, `locale`, `transaction`, `environment`.

    `transaction` is the `originalTransactionId`: never log it. `request` is the whole question, as Apple sent it.
    """

    def __init__(self, params, config=None):
        self.request = params["retention"]
        self.app, self.config = params.get("app"), config or {}
        self.product, self.locale = self.request["productId"], self.request["userLocale"]
        self.transaction, self.environment = self.request["originalTransactionId"], self.request["environment"]
        self._end = time.monotonic() + params.get("deadlineMs", 450) / 1000

    @property
    def seconds_left(self):
        """The time until the app's rule file answers instead."""
        return max(0.0, self._end - time.monotonic())


class _On:
    """One decorator for each kind of event, as the protocol spells it; `any` is for kinds without their own function."""

    def __init__(self, functions):
        self._functions = functions

    def __getattr__(self, kind):
        known = KINDS + EXTRA_EVENTS + PAYMENTS + ["reversal"]
        if kind not in known + ["any"]:
            raise AttributeError(f"{kind} is no kind of event; the kinds are any, {', '.join(known)}")

        def subscribe(function):
            if kind in self._functions:
                raise ValueError(f"two functions handle {kind}")
            self._functions[kind] = function
            return function
        return subscribe


class Bot:
    """A handler: functions for kinds of events, run as a child process (`run`) or an HTTP service (`serve`).

    `concurrency` is how many events are handled at once, each in a thread; events of one conversation never are.
    Payments and retention questions have threads of their own, because a customer waits for the answer.
    """

    def __init__(self, name, concurrency=1):
        self.name, self.concurrency = name, concurrency
        self.config = {}
        self._functions = {}
        self._retention = None
        self.on = _On(self._functions)
        self._output = None
        self._lock = threading.Lock()
        self._calls = {}

    @property
    def events(self):
        """The kinds that the bot subscribes to."""
        return [kind for kind in KINDS + EXTRA_EVENTS
                if kind in self._functions or ("any" in self._functions and kind in KINDS)
                ] + (["retention"] if self._retention else [])

    def retention(self, function):
        """A decorator: the function gets a `Question` and returns the name of a message, a choice, or None.

        A choice is `{"message": …}`, `{"alternateProduct": …}`, `{"promotionalOffer": …}` or `{"advancedCommerceInfo": …}`.
        None, an exception and a late answer leave the decision to the app's rule file.
        """
        if self._retention is not None:
            raise ValueError("two functions answer retention questions")
        self._retention = function
        return function

    @property
    def payments(self):
        """The callbacks of payments that the bot answers; a payment gateway needs a reversal too."""
        if ("paymentGateway" in self._functions) != ("reversal" in self._functions):
            raise ValueError("paymentGateway and reversal belong together")
        return [call for call in PAYMENTS if call in self._functions]

    def pay(self, params):
        """The protocol's answer to a payment's params."""
        payment = Payment(params, self.config)
        return _sendable(self._functions[payment.call](payment) or {}, "")

    def answer(self, params):
        """The protocol's answer to the params of an event or a retention question.

        Raises MessageError when the function built a wrong message, or returned what cannot be sent.
        """
        if "retention" in params:
            choice = self._retention(Question(params, self.config)) if self._retention else None
            return _sendable({"message": choice} if isinstance(choice, str) else choice or {}, "")
        event = Event(params, self.config)
        function = self._functions.get(event.kind) or self._functions.get("any")
        if function is None:
            return {}
        value = function(event)
        result = value.members if isinstance(value, Outcome) else {"outcome": "handled", "replies": _replies(value)}
        if event.state != (params.get("state") or {}) and result["outcome"] != "retry":
            result = {**result, "state": _state(event.state)}
        result = _sendable(result, "")
        size = len(json.dumps(result, ensure_ascii=False).encode()) + 100
        if size > MAXIMUM_LINE_BYTES:
            raise MessageError("answerSize", "/replies", f"{size} bytes", f"{MAXIMUM_LINE_BYTES} bytes")
        return result

    def send(self, customer, key, message):
        """Sends a message without an event, and returns its id; only in a child process. Raises SendError.

        The same key (1 to 200 bytes) for the same customer is the same message for three days.
        """
        replies = _replies(message)
        if len(replies) != 1:
            raise ValueError("send takes one message")
        return self._call("reply", {"customer": customer, "key": key, "message": replies[0]})["messageId"]

    def withdraw_payment(self, request_identifier):
        """Ends a payment request before it is paid, such as one that was paid in another way; only in a child process.

        False when the request is unknown, has ended, is paid, or is being paid. Raises SendError.
        """
        return self._call("withdrawPayment", {"requestIdentifier": request_identifier})["withdrawn"]

    def _call(self, method, params):
        if self._output is None:
            raise SendError(-32601, "only a bot that runs as a child process calls the server")
        call, answer = f"call-{uuid.uuid4()}", concurrent.futures.Future()
        self._calls[call] = answer
        try:
            self._write({"jsonrpc": "2.0", "id": call, "method": method, "params": _sendable(params, "")})
            answer = answer.result()
        finally:
            self._calls.pop(call, None)
        if "error" in answer:
            raise SendError(answer["error"].get("code"), answer["error"].get("message"))
        return answer["result"]

    # A child process.

    def run(self, arguments=None):
        """Runs the bot as a child process, or as an HTTP service when started with `--http [HOST:]PORT`.

        A service reads the webhook secret from the variable HANDLER_SECRET (two, separated by a blank, while one
        replaces the other). `print` writes to the log, because standard output belongs to the protocol. So does
        standard input: programs that the bot starts read nothing from it.
        """
        arguments = sys.argv[1:] if arguments is None else arguments
        if arguments[:1] == ["--http"] and len(arguments) == 2:
            _print_at_once()
            host, _, port = arguments[1].rpartition(":")
            return self.serve(int(port), os.environ.get("HANDLER_SECRET", "").split(), host or "127.0.0.1")
        if arguments:
            sys.exit(f"usage: {sys.argv[0]} [--http [HOST:]PORT]")
        # Descriptors from os.dup are not inherited, so a child process neither reads calls nor writes answers.
        self._output = os.dup(1)
        os.dup2(2, 1)
        _print_at_once()
        calls = os.fdopen(os.dup(0), "rb")
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        # A customer waits at the payment sheet for at most 25 s, and the App Store for half a second.
        with calls, concurrent.futures.ThreadPoolExecutor(self.concurrency) as workers, \
                concurrent.futures.ThreadPoolExecutor(URGENT_THREADS) as urgent, \
                concurrent.futures.ThreadPoolExecutor(CHARGE_THREADS) as charges:
            # Bytes, because lines of text end at more characters than the protocol's line feed.
            for line in calls:
                self._take(line, workers, urgent, charges)
            # The server has ended, and answers no call any more.
            for waiting in list(self._calls.values()):
                waiting.set_result({"error": {"code": -32001, "message": "the server ended"}})
        return None

    def _take(self, line, workers, urgent, charges):
        """Begins to answer a line; a line that is no call is skipped, and one with wrong parameters is refused."""
        try:
            call = json.loads(line)
        except (ValueError, RecursionError):
            call = None
        if not isinstance(call, dict):
            # The line has no id to answer, and its content may be a customer's.
            return log(f"skipped a line of {len(line)} bytes that is no JSON object", "warning")
        try:
            return self._read(call, workers, urgent, charges)
        except Exception as error:
            log(f"skipped a call that cannot be read: {type(error).__name__}", "error")
            message = str(error) if isinstance(error, _CallError) else "the parameters cannot be read"
            return None if call.get("id") is None else self._fail(call["id"], -32602, message)

    def _read(self, call, workers, urgent, charges):
        method, number, params = call.get("method"), call.get("id"), call.get("params") or {}
        if not isinstance(params, dict):
            raise _CallError("params is no object")
        name, kind = NEEDED.get(method, (None, None))
        if name and not isinstance(params.get(name), kind):
            raise _CallError(f"params of {method} has no {name}")
        if method is None:
            waiting = self._calls.pop(number, None)
            if waiting is not None:
                waiting.set_result(call)
        elif method == "initialize":
            self.config = params.get("config") or {}
            limit = params["limits"]["maxInFlight"]
            self._answer(number, _members(
                protocolVersion="1", handler={"name": self.name}, events=self.events, payments=self.payments or None,
                maxInFlight=min(self.concurrency, limit)))
        elif method in ("event", "retention"):
            (workers if method == "event" else urgent).submit(self._handle, number, params)
        elif method == "payment":
            (charges if params.get("call") == CHARGE else urgent).submit(self._pay, number, params)
        elif number is not None:
            if method in ("ping", "shutdown"):
                self._answer(number, {})
            else:
                self._fail(number, -32601, f"the bot does not know {method}")

    def _handle(self, number, params):
        try:
            result = self.answer(params)
        except MessageError as error:
            log(f"{error}{_place(error)}", "error")
            return self._fail(number, REFUSED, str(error), error.problems)
        # An exit and a cancellation too would end this thread without an answer.
        except BaseException as error:
            log(traceback.format_exc(), "error")
            kind = _at(params, "event", "kind") or "retention"
            return self._fail(number, -32603, f"the function for {kind} raised {type(error).__name__}")
        return self._answer(number, result)

    def _pay(self, number, params):
        try:
            result = self.pay(params)
        except BaseException as error:
            log(traceback.format_exc(), "error")
            return self._fail(number, -32603, f"the function for {params.get('call')} raised {type(error).__name__}")
        return self._answer(number, result)

    def _answer(self, number, result):
        self._write({"jsonrpc": "2.0", "id": number, "result": result})

    def _fail(self, number, code, message, problems=None):
        data = {"data": {"problems": problems}} if problems else {}
        self._write({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, **data}})

    def _write(self, line):
        # `print` without a line end stays in the buffer; a bot may have replaced or closed its output.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
        data = memoryview(_whole(json.dumps(line, ensure_ascii=False)).encode() + b"\n")
        with self._lock, contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._output, data):]

    # An HTTP service.

    def respond(self, headers, body, secrets):
        """The status and the body for one request, for use in any web framework; `headers` have names in lower case."""
        return self._respond(headers, body, secrets, lambda params: contextlib.nullcontext())

    def _respond(self, headers, body, secrets, turn):
        """As `respond`; the function runs within the context `turn(params)`."""
        try:
            verify(headers, body, secrets)
        except SignatureError as error:
            log(error, "warning")
            return 401, b""
        try:
            params = json.loads(body)
            with turn(params):
                answer = self.pay(params) if "call" in params else self.answer(params)
            return 200, json.dumps(answer, ensure_ascii=False).encode()
        except MessageError as error:
            log(f"{error}{_place(error)}", "error")
            # A wrong answer of a payment leaves open whether something was charged; one to an event is refused.
            return (500, b"") if "call" in params else (422, json.dumps({"problems": error.problems}).encode())
        except KeyboardInterrupt:
            raise
        except BaseException:
            log(traceback.format_exc(), "error")
            return 500, b""

    def serve(self, port, secrets, host="127.0.0.1", ready=None):
        """Serves `{"http": {"url": …, "secret": …}}` until SIGTERM; `ready` is called with the server once it listens."""
        if not secrets:
            sys.exit("set HANDLER_SECRET to the secret of the business's file")
        bot = self
        # As in a child process, an update of a payment waits for no event, and a reversal for no charge.
        events, urgent, charges = map(threading.BoundedSemaphore, (self.concurrency, URGENT_THREADS, CHARGE_THREADS))

        class Requests(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body are two writes; with Nagle's algorithm the second waits up to 40 ms for an acknowledgement.
            disable_nagle_algorithm = True
            timeout = 60

            def setup(self):
                super().setup()
                self.server.idle(self.connection)

            def finish(self):
                self.server.busy(self.connection)
                super().finish()

            def do_POST(self):
                self.server.busy(self.connection)
                try:
                    self.answer()
                finally:
                    if not self.close_connection:
                        self.server.idle(self.connection)

            def answer(self):
                length = self.headers.get("Content-Length", "")
                if not re.fullmatch("[0-9]{1,12}", length) or int(length) > MAXIMUM_REQUEST_BYTES:
                    self.close_connection = True
                    return self.reply(413 if length.isdigit() else 411, b"")
                body = self.rfile.read(int(length))
                if len(body) < int(length):
                    self.close_connection = True
                    return None
                names = {name.lower(): value for name, value in self.headers.items()}
                turn = bot._respond(names, body, secrets, lambda params: events if "event" in params
                                    else charges if params.get("call") == CHARGE else urgent)
                return self.reply(*turn)

            def reply(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if self.close_connection or self.server.is_closing:
                    # This field also ends the loop over the connection's requests.
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format, *arguments):
                pass

        server = _Server((host, port), Requests)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        log(f"{self.name} listens on http://{host}:{server.server_port}", "notice")
        if ready:
            ready(server)
        with server:
            server.serve_forever()


def _place(error):
    """The line of the bot that raised an error, for the log; the library's own lines tell its author nothing."""
    lines = [each for each in traceback.extract_tb(error.__traceback__) if each.filename != _place.__code__.co_filename]
    return f" ({os.path.basename(lines[-1].filename)}, line {lines[-1].lineno})" if lines else ""


class _Server(http.server.ThreadingHTTPServer):
    """A server whose end waits for requests in progress, and not for open connections without one."""

    daemon_threads = False

    def __init__(self, *arguments):
        self.is_closing, self._idle, self._guard = False, set(), threading.Lock()
        super().__init__(*arguments)

    def idle(self, connection):
        """The connection has no request; while the server ends it gets none any more."""
        with self._guard:
            self._idle.add(connection)
            if self.is_closing:
                self._end(connection)

    def busy(self, connection):
        """The connection has a request, or has ended."""
        with self._guard:
            self._idle.discard(connection)

    def server_close(self):
        with self._guard:
            self.is_closing = True
            for connection in self._idle:
                self._end(connection)
        super().server_close()

    @staticmethod
    def _end(connection):
        # A request that has arrived is still read; after it the thread finds the end.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RD)


def _print_at_once():
    """Makes `print` write each line at once, although standard output is a pipe, and any text."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def verify(headers, body, secrets, now=None):
    """Checks a request's signature (Standard Webhooks) against each secret; raises SignatureError.

    A secret is `whsec_` and the Base64 of 24 to 64 bytes, as in the business's file.
    """
    number, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not number or not stamp.isdigit():
        raise SignatureError("a request without webhook-id and webhook-timestamp")
    if abs((time.time() if now is None else now) - int(stamp)) > SIGNATURE_SECONDS:
        raise SignatureError("the request's time differs from this machine's by more than five minutes")
    given = [each[3:] for each in headers.get("webhook-signature", "").split() if each.startswith("v1,")]
    for secret in secrets:
        key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret)
        tag = hmac.new(key, f"{number}.{stamp}.".encode() + body, hashlib.sha256).digest()
        if any(hmac.compare_digest(_base64(tag), each) for each in given):
            return
    raise SignatureError("no signature of the request fits the secret")


def _replies(value):
    replies = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    if len(replies) > MAXIMUM_REPLIES:
        raise MessageError("replyCount", "/replies", f"{len(replies)} items", f"at most {MAXIMUM_REPLIES}")
    for place, reply in enumerate(replies):
        if isinstance(reply, str):
            replies[place] = _whole(reply)
            if not reply:
                raise MessageError("empty", f"/replies/{place}", "an empty text", "a text that is not empty")
        else:
            replies[place] = check(reply, f"/replies/{place}")
    return replies


def _state(state):
    state = _sendable(state, "/state")
    if state is not None and not isinstance(state, dict):
        raise MessageError("type", "/state", _shown(state), "a dictionary or None")
    size = len(json.dumps(state, ensure_ascii=False).encode())
    if size > MAXIMUM_STATE_BYTES:
        raise MessageError("stateSize", "/state", f"{size} bytes", f"at most {MAXIMUM_STATE_BYTES}")
    return state or None


# Tests of a bot.

@contextlib.contextmanager
def simulated(program, balloon="balloon"):
    """Runs `balloon dev` with a handler program, and yields a function that plays the customer.

        def test_greeting():
            with simulated("./shop.py") as customer:
                [reply] = customer("text")
                assert reply["body"] == "Good morning!"

    The function is `simulate` with the directory of that server. The files are deleted at the end.
    """
    if shutil.which(balloon) is None:
        raise SimulationError(f"there is no program {balloon}; add its folder to PATH")
    data = tempfile.mkdtemp(prefix="balloon-")
    with open(os.path.join(data, "log"), "a+", encoding="utf-8") as lines:
        server = subprocess.Popen(
            [balloon, "dev", "--handler", os.path.abspath(program), "--data", data, "--listen", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=lines, stderr=lines)
        try:
            while "handler is ready" not in _contents(lines):
                if server.poll() is not None:
                    raise SimulationError(_contents(lines))
                time.sleep(0.05)

            def customer(message=None, **options):
                try:
                    return simulate(message, balloon=balloon, data=data, **options)
                except SimulationError as error:
                    raise SimulationError(f"{error}{_contents(lines)}") from None

            yield customer
        finally:
            server.terminate()
            server.wait()
            shutil.rmtree(data, ignore_errors=True)


def simulate(message=None, balloon="balloon", **options):
    """Sends a message as a customer and returns the business's replies.

    The message is a kind, or a dictionary as a device sends it; without one, `choose` or `fill` answers the business:

        simulate("text", text="I want pizza")
        simulate(choose="Margherita,Cola")
        simulate(fill={"name": "Ada", "payment": "Card"})

    Options are those of `balloon simulate`; a list repeats one, and a dictionary gives `name=value`.
    """
    given = json.dumps(message).encode() if isinstance(message, dict) else None
    words = [balloon, "simulate", "--wait", "--json"]
    words += ["-"] if given else [message] if message else []
    for name, value in options.items():
        if isinstance(value, dict):
            value = [f"{key}={text}" for key, text in value.items()]
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += ["--" + name.replace("_", "-")] + ([] if each is True else [str(each)])
    ended = subprocess.run(words, input=given, capture_output=True)
    if ended.returncode != 0:
        raise SimulationError(ended.stderr.decode(errors="replace"))
    # Split bytes: lines of text also end at U+2028 and others, which a message may have.
    sent = [json.loads(line) for line in ended.stdout.split(b"\n") if line]
    return [line["message"] for line in sent if line.get("direction") == "outbound"]


def _contents(file):
    file.seek(0)
    return file.read()


# Tables from the JSON Schemas of the server.

# generated: begin (scripts/generated --write; do not edit)
KINDS = ["text","quickReply","listPicker","timePicker","form","authentication","applePay","app","invitation","typingStart",
"typingEnd","close","unrecognized"]
EXTRA_EVENTS = ["replyFailed","consent"]
PAYMENTS = ["paymentGateway","paymentMethodUpdate","shippingContactUpdate","shippingMethodUpdate","orderTracking"]
EVENT_MEMBERS = ["id","kind","business","customer","receivedAt","seq","replay","unrecognizedReason","capabilities","locale",
"intent","group","summary","text","selectedIdentifier","selectedIdentifiers","startTime","tapback","paymentRecord",
"signIn","authentication","payment","app","invitation","answers"]
MAXIMUM_REPLIES = 32
MAXIMUM_LINE_BYTES = 1048576
MEDIA_TYPES = json.loads(r"""{".caf":"audio/x-caf",".pkpass":"application/vnd.apple.pkpass",".usdz":"model/vnd.usdz+zip",
".doc":"application/msword",".xls":"application/vnd.ms-excel",
".xlsx":"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",".pdf":"application/pdf",
".ics":"text/calendar",".aac":"audio/aac",".amr":"audio/amr",".avif":"image/avif",".bmp":"image/bmp",
".csv":"text/csv",".docx":"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
".gif":"image/gif",".heic":"image/heic",".heif":"image/heif",".htm":"text/html",".html":"text/html",
".jpeg":"image/jpeg",".jpg":"image/jpeg",".json":"application/json",".key":"application/vnd.apple.keynote",
".m4a":"audio/mp4",".m4v":"video/x-m4v",".md":"text/markdown",".mov":"video/quicktime",".mp3":"audio/mpeg",
".mp4":"video/mp4",".numbers":"application/vnd.apple.numbers",
".ods":"application/vnd.oasis.opendocument.spreadsheet",".odt":"application/vnd.oasis.opendocument.text",
".ogg":"audio/ogg",".pages":"application/vnd.apple.pages",".pkpasses":"application/vnd.apple.pkpasses",
".png":"image/png",".ppt":"application/vnd.ms-powerpoint",
".pptx":"application/vnd.openxmlformats-officedocument.presentationml.presentation",".rtf":"application/rtf",
".svg":"image/svg+xml",".tif":"image/tiff",".tiff":"image/tiff",".txt":"text/plain",".vcf":"text/vcard",
".wav":"audio/wav",".webm":"video/webm",".webp":"image/webp",".xml":"application/xml",".zip":"application/zip"}""")
SCHEMA = json.loads(r"""{"message":{"type":"object","required":["type"],"properties":{"type":{"rule":"messageType","enum":["text",
"interactive","richLink","typing_start","typing_end"]},"id":{"rule":"messageIdentifier","type":"string",
"pattern":"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"},
"v":{"rule":"protocolVersion","const":1},"sourceId":{"type":"string","minLength":1},
"destinationId":{"type":"string","minLength":1},"reusable":{"type":"boolean"},"purpose":{"type":"string",
"minLength":1},"fallback":{"type":"string","minLength":1},"locale":{"rule":"locale","type":["string","null"],
"pattern":"^[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8})*$"},"intent":{"type":"string"},"group":{"type":"string"},
"body":{"type":"string"},"subject":{"type":"string"},"attachments":{"type":"array","items":{"$ref":"attachment"}},
"richLinkData":{"$ref":"richLink"},"richLinkDataRef":{"$ref":"uploadedLink"},"preview":{"$ref":"preview"},
"interactiveData":{"$ref":"interactiveData"},"interactiveDataRef":{"$ref":"uploadedInteraction"}},
"allOf":[{"if":{"required":["type"],"properties":{"type":{"const":"text"}}},"then":{"required":["body"],
"properties":{"body":{"minLength":1},"richLinkData":{"rule":"typeContent","not":{}},
"richLinkDataRef":{"rule":"typeContent","not":{}},"preview":{"rule":"typeContent","not":{}},
"interactiveData":{"rule":"typeContent","not":{}},"interactiveDataRef":{"rule":"typeContent","not":{}}}}},
{"if":{"required":["type"],"properties":{"type":{"const":"richLink"}}},"then":{"rule":"linkContent",
"oneOf":[{"required":["richLinkData"]},{"required":["richLinkDataRef"]},{"required":["preview"]}],
"properties":{"attachments":{"rule":"typeContent","not":{}},"interactiveData":{"rule":"typeContent","not":{}},
"interactiveDataRef":{"rule":"typeContent","not":{}}}}},{"if":{"required":["type"],
"properties":{"type":{"const":"interactive"}}},"then":{"rule":"interactiveContent",
"oneOf":[{"required":["interactiveData"]},{"required":["interactiveDataRef"]}],
"properties":{"body":{"rule":"typeContent","not":{}},"subject":{"rule":"typeContent","not":{}},
"richLinkData":{"rule":"typeContent","not":{}},"richLinkDataRef":{"rule":"typeContent","not":{}},
"preview":{"rule":"typeContent","not":{}}}}},{"if":{"required":["type"],
"properties":{"type":{"enum":["typing_start","typing_end"]}}},"then":{"properties":{"body":{"rule":"typeContent",
"not":{}},"subject":{"rule":"typeContent","not":{}},"attachments":{"rule":"typeContent","not":{}},
"richLinkData":{"rule":"typeContent","not":{}},"richLinkDataRef":{"rule":"typeContent","not":{}},
"preview":{"rule":"typeContent","not":{}},"interactiveData":{"rule":"typeContent","not":{}},
"interactiveDataRef":{"rule":"typeContent","not":{}}}}}]},"bid":{"rule":"bid","type":"string",
"pattern":"^com\\.apple\\.messages\\.MSMessageExtensionBalloonPlugin:[^:]+:[^:]+$"},"key":{"rule":"attachmentKey",
"type":"string","pattern":"^00[0-9A-Fa-f]{64}$"},"imageIdentifier":{"type":["string","integer"]},
"attachment":{"type":"object","required":["name","mimeType","size","signature-base64","url","owner","key"],
"properties":{"name":{"type":"string","minLength":1},"mimeType":{"type":"string","minLength":1},
"size":{"type":"string"},"signature-base64":{"type":"string","minLength":1},"url":{"type":"string"},
"owner":{"type":"string","minLength":1},"key":{"$ref":"key"},"signature":{"type":"string"}}},
"preview":{"type":"object","required":["url"],"properties":{"url":{"type":"string"},"title":{"type":"string",
"minLength":1},"storeRegion":{"type":"string","pattern":"^[a-z]{2}$"}}},"richLink":{"type":"object",
"required":["url","title"],"properties":{"url":{"type":"string"},"title":{"type":"string","minLength":1},
"assets":{"type":"object","properties":{"image":{"type":"object","required":["data","mimeType"],
"properties":{"data":{"type":"string","minLength":1},"mimeType":{"type":"string","minLength":1}}},
"video":{"type":"object","required":["url","mimeType"],"properties":{"url":{"type":"string"},
"mimeType":{"type":"string","minLength":1}}}}}}},"uploadedLink":{"type":"object","required":["url","owner","size",
"signature-base64"],"properties":{"url":{"type":"string"},"owner":{"type":"string","minLength":1},
"size":{"type":["integer","string"],"pattern":"^[+-]?[0-9]+$"},"signature-base64":{"type":"string","minLength":1},
"signature":{"type":"string"},"key":{"$ref":"key"},"title":{"type":"string"},"dataRefSig":{"type":"string"},
"bid":{"$ref":"bid"}}},"uploadedInteraction":{"type":"object","required":["url","owner","size","signature-base64",
"bid"],"properties":{"url":{"type":"string"},"owner":{"type":"string","minLength":1},"size":{"type":["integer",
"string"],"pattern":"^[+-]?[0-9]+$"},"signature-base64":{"type":"string","minLength":1},
"signature":{"type":"string"},"key":{"$ref":"key"},"title":{"type":"string"},"dataRefSig":{"type":"string"},
"bid":{"$ref":"bid"}}},"bubble":{"type":"object","required":["title"],"properties":{"title":{"rule":"bubbleText",
"type":"string","minLength":1,"maxLength":512},"subtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"imageTitle":{"rule":"bubbleText","type":"string","maxLength":512},"imageSubtitle":{"rule":"bubbleText",
"type":"string","maxLength":512},"secondarySubtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"tertiarySubtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"imageIdentifier":{"$ref":"imageIdentifier"},"style":{"rule":"bubbleStyle","enum":["icon","small","large"]},
"alternateTitle":{"type":"string"}}},"image":{"type":"object","required":["identifier","data"],
"properties":{"identifier":{"type":["string","integer"],"minLength":1},"data":{"type":"string","minLength":1},
"description":{"type":["string","null"]}}},"interactiveData":{"if":{"required":["bid"],
"properties":{"bid":{"type":"string",
"not":{"const":"com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"}}}},
"then":{"$ref":"app"},"else":{"$ref":"builtin"}},"app":{"type":"object","required":["bid","appId","URL",
"receivedMessage"],"properties":{"bid":{"$ref":"bid"},"appId":{"type":["integer","string"],"minLength":1},
"appName":{"type":"string"},"appIcon":{"type":"string","minLength":1},"URL":{"type":"string","minLength":1},
"sessionIdentifier":{"type":"string"},"useLiveLayout":{"type":"boolean"},"receivedMessage":{"$ref":"bubble"},
"replyMessage":{"$ref":"bubble"},"data":{"rule":"appData","not":{}}}},"builtin":{"type":"object","required":["bid",
"data"],"properties":{"bid":{"$ref":"bid"},"sessionIdentifier":{"type":"string"},"data":{"$ref":"data"},
"receivedMessage":{"$ref":"bubble"},"replyMessage":{"$ref":"bubble"},"useLiveLayout":{"type":"boolean"}},
"if":{"required":["data"],"properties":{"data":{"type":"object","anyOf":[{"required":["listPicker"]},
{"required":["event"]},{"required":["dynamic"]},{"required":["payment"]},{"required":["authenticate"]}]}}},
"then":{"required":["receivedMessage"]}},"data":{"rule":"interactiveKind","type":"object",
"required":["requestIdentifier"],"properties":{"version":{"type":"string","minLength":1},
"mspVersion":{"type":"string","minLength":1},"requestIdentifier":{"type":"string","minLength":1},
"images":{"type":"array","items":{"$ref":"image"}},"quick-reply":{"$ref":"quickReply"},
"listPicker":{"$ref":"listPicker"},"event":{"$ref":"event"},"dynamic":{"$ref":"form"},"payment":{"$ref":"payment"},
"authenticate":{"$ref":"authenticate"},"notification":{"$ref":"notification"}},"anyOf":[{"required":["version"]},
{"required":["mspVersion"]}],"oneOf":[{"required":["quick-reply"]},{"required":["listPicker"]},
{"required":["event"]},{"required":["dynamic"]},{"required":["payment"]},{"required":["authenticate"]},
{"required":["notification"]}]},"quickReply":{"type":"object","required":["summaryText","items"],
"properties":{"summaryText":{"type":"string","minLength":1},"items":{"rule":"quickReplyCount","type":"array",
"items":{"type":"object","required":["identifier","title"],"properties":{"identifier":{"type":"string",
"minLength":1},"title":{"rule":"empty","type":"string","pattern":"\\S"}}},"minItems":2,"maxItems":5}}},
"listPicker":{"type":"object","required":["sections"],"properties":{"multipleSelection":{"type":"boolean"},
"sections":{"type":"array","items":{"type":"object","required":["title","items"],
"properties":{"title":{"type":"string"},"order":{"type":"integer"},"multipleSelection":{"type":"boolean"},
"items":{"type":"array","items":{"type":"object","required":["identifier","title"],
"properties":{"identifier":{"type":"string","minLength":1},"title":{"type":"string","minLength":1},
"subtitle":{"type":"string"},"order":{"type":"integer"},"style":{"type":"string"},
"imageIdentifier":{"$ref":"imageIdentifier"}}},"minItems":1}}},"minItems":1}}},"event":{"type":"object",
"required":["identifier","timeslots"],"properties":{"identifier":{"type":"string","minLength":1},
"title":{"type":"string"},"imageIdentifier":{"$ref":"imageIdentifier"},"timezoneOffset":{"type":"integer"},
"location":{"type":"object","properties":{"title":{"type":"string"},"latitude":{"type":"number"},
"longitude":{"type":"number"},"radius":{"type":"number"}}},"timeslots":{"type":"array","items":{"type":"object",
"required":["identifier","duration","startTime"],"properties":{"identifier":{"type":"string","minLength":1},
"startTime":{"type":"string"},"duration":{"rule":"slotDuration","type":"integer","minimum":1}}},"minItems":1}}},
"form":{"type":"object","required":["version","template","data"],"properties":{"version":{"type":"string",
"minLength":1},"template":{"rule":"formTemplate","enum":["messageForms"]},"data":{"type":"object",
"required":["startPageIdentifier","pages"],"properties":{"startPageIdentifier":{"type":"string","minLength":1},
"private":{"type":"boolean"},"showSummary":{"type":"boolean"},"splash":{"type":"object",
"properties":{"header":{"type":"string"},"splashtext":{"type":"string"},"buttonTitle":{"type":"string"},
"imageIdentifier":{"$ref":"imageIdentifier"}}},"pages":{"type":"array","items":{"$ref":"page"},"minItems":1}}}}},
"page":{"type":"object","required":["pageIdentifier","type"],
"properties":{"pageIdentifier":{"rule":"pageIdentifier","type":"string","minLength":1,"maxLength":19},
"type":{"rule":"pageType","enum":["select","picker","datePicker","input"]},"title":{"type":"string"},
"subtitle":{"type":"string"},"nextPageIdentifier":{"type":"string"},"submitForm":{"type":"boolean"}},
"allOf":[{"if":{"required":["type"],"properties":{"type":{"const":"select"}}},
"then":{"properties":{"multipleSelection":{"type":"boolean"},"items":{"type":"array","items":{"type":"object",
"required":["identifier","title","value"],"properties":{"identifier":{"type":"string","minLength":1},
"title":{"type":"string","minLength":1},"value":{"type":"string"},"imageIdentifier":{"$ref":"imageIdentifier"},
"nextPageIdentifier":{"type":"string"}}},"minItems":1}},"required":["items"]}},{"if":{"required":["type"],
"properties":{"type":{"const":"picker"}}},"then":{"properties":{"pickerTitle":{"type":"string"},
"selectedItemIndex":{"type":"integer"},"items":{"type":"array","items":{"type":"object","required":["identifier",
"title","value"],"properties":{"identifier":{"type":"string","minLength":1},"title":{"type":"string","minLength":1},
"value":{"type":"string"}}},"minItems":1}},"required":["items"]}},{"if":{"required":["type"],
"properties":{"type":{"const":"datePicker"}}},"then":{"properties":{"hintText":{"type":"string"},
"options":{"type":["object","null"],"properties":{"dateFormat":{"type":"string"},"startDate":{"type":"string"},
"minimumDate":{"type":"string"},"maximumDate":{"type":"string"},"labelText":{"type":"string"}}}}}},
{"if":{"required":["type"],"properties":{"type":{"const":"input"}}},
"then":{"properties":{"hintText":{"type":"string"},"options":{"type":["object","null"],
"properties":{"regex":{"type":"string"},"placeholder":{"type":"string"},"required":{"type":"boolean"},
"inputType":{"rule":"inputType","enum":["singleline","multiline"]},"labelText":{"type":"string"},
"prefixText":{"type":"string"},"maximumCharacterCount":{"rule":"characterCount","type":"integer","minimum":1},
"keyboardType":{"rule":"keyboardType","enum":["default","asciiCapable","numbersAndPunctuation","URL","numberPad",
"phonePad","namePhonePad","emailAddress","decimalPad","UIKeyboardTypeTwitter","webSearch","UIKeyboardTypeDefault",
"UIKeyboardTypeASCIICapable","UIKeyboardTypeNumbersAndPunctuation","UIKeyboardTypeURL","UIKeyboardTypeNumberPad",
"UIKeyboardTypePhonePad","UIKeyboardTypeNamePhonePad","UIKeyboardTypeEmailAddress","UIKeyboardTypeDecimalPad",
"UIKeyboardTypeWebSearch"]},"textContentType":{"rule":"textContentType","enum":["name","namePrefix","givenName",
"middleName","familyName","nameSuffix","nickname","jobTitle","organizationName","location","fullStreetAddress",
"streetAddressLine1","streetAddressLine2","addressCity","addressState","addressCityAndState","sublocality",
"countryName","postalCode","telephoneNumber","emailAddress","URL","creditCardNumber","username","password",
"newPassword","oneTimeCode"]}}}}}}]},"money":{"rule":"money","type":"string","pattern":"^-?[0-9]+(\\.[0-9]+)?$"},
"lineItem":{"type":"object","required":["amount","label"],"properties":{"label":{"type":"string","minLength":1},
"amount":{"$ref":"money"},"type":{"rule":"lineItemType","enum":["final","pending","Final","Pending"]}}},
"contactFields":{"type":"array","items":{"rule":"contactField","enum":["email","name","phone","phoneticName",
"post"]}},"timestamp":{"type":["integer","string"],"pattern":"^[+-]?[0-9]+$"},"payment":{"type":"object",
"required":["endpoints","merchantSession","paymentRequest"],"properties":{"endpoints":{"type":"object",
"required":["paymentGatewayUrl"],"properties":{"paymentGatewayUrl":{"type":"string"},
"fallbackUrl":{"type":"string"},"orderTrackingUrl":{"type":"string"},"paymentMethodUpdateUrl":{"type":"string"},
"shippingContactUpdateUrl":{"type":"string"},"shippingMethodUpdateUrl":{"type":"string"}}},
"merchantSession":{"type":"object","required":["displayName","epochTimestamp","expiresAt","initiative",
"initiativeContext","merchantIdentifier","merchantSessionIdentifier"],"properties":{"displayName":{"type":"string",
"minLength":1},"epochTimestamp":{"$ref":"timestamp"},"expiresAt":{"$ref":"timestamp"},
"initiative":{"rule":"initiative","enum":["messaging"]},"initiativeContext":{"type":"string"},
"merchantIdentifier":{"type":"string","minLength":1},"merchantSessionIdentifier":{"type":"string","minLength":1},
"nonce":{"type":"string"},"signature":{"type":"string"},"signedFields":{"type":"array","items":{"type":"string"}},
"domainName":{"type":"string"}}},"paymentRequest":{"type":"object","required":["applePay","countryCode",
"currencyCode","total"],"properties":{"applePay":{"type":"object","required":["merchantIdentifier",
"merchantCapabilities","supportedNetworks"],"properties":{"merchantIdentifier":{"type":"string","minLength":1},
"merchantCapabilities":{"rule":"threeDSecure","type":"array","items":{"rule":"merchantCapability",
"enum":["supports3DS","supportsCredit","supportsDebit","supportsEMV"]},"minItems":1,
"contains":{"const":"supports3DS"}},"supportedNetworks":{"type":"array","items":{"type":"string","minLength":1},
"minItems":1}}},"countryCode":{"type":"string"},"currencyCode":{"type":"string"},"lineItems":{"type":"array",
"items":{"$ref":"lineItem"},"minItems":1},"requiredBillingContactFields":{"$ref":"contactFields"},
"requiredShippingContactFields":{"$ref":"contactFields"},"shippingMethods":{"type":"array","items":{"type":"object",
"required":["amount","detail","identifier","label"],"properties":{"amount":{"$ref":"money"},
"detail":{"type":"string","minLength":1},"identifier":{"type":"string","minLength":1},"label":{"type":"string",
"minLength":1},"type":{"type":"string"}}}},"supportedCountries":{"type":"array","items":{"type":"string"}},
"total":{"$ref":"lineItem"},"merchantName":{"type":"string"}}}}},"authenticate":{"type":"object",
"required":["oauth2"],"properties":{"oauth2":{"rule":"authenticationProcedure","type":"object",
"required":["responseType","scope","state"],"properties":{"responseType":{"rule":"responseType","enum":["code"]},
"scope":{"type":"array","items":{"type":"string"},"minItems":1},"state":{"type":"string","minLength":1},
"responseEncryptionKey":{"type":"string","minLength":1},"clientSecret":{"type":"string","minLength":1},
"redirectURI":{"type":"string","minLength":1},"additionalParameters":{"type":"string"},
"clientId":{"type":"string"}},"oneOf":[{"required":["responseEncryptionKey","clientSecret"]},
{"required":["redirectURI"]}]}}},"notification":{"type":"object","required":["templateId","referenceId",
"parameters"],"properties":{"templateId":{"rule":"invitationTemplate","type":"string","minLength":1,
"pattern":"^binaryChoice\\.[^.]+\\.(withImage|noImage)$"},"referenceId":{"rule":"invitationReference",
"type":"string","minLength":1,"maxLength":1000,"pattern":"^[^']*$"},"locale":{"rule":"locale","type":"string",
"pattern":"^[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8})*$"},"parameters":{"type":"object","required":["brandName"],
"properties":{"brandName":{"type":"string","minLength":1},"brandLogo":{"type":"string"}}}}}}""")
# generated: end
