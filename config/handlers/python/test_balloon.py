"""Tests of balloon.py: builders and limits, one conversation over standard input and output, and an HTTP service."""
import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER))
import balloon  # noqa: E402
from balloon import Bot, Image, MessageError  # noqa: E402

PICTURE = FOLDER.parent / "pizza.png"


def params(kind, **event):
    known = {"id": "m", "kind": kind, "business": "b", "customer": "c", "capabilities": ["LIST"], "summary": "",
             "message": {}}
    return {"deliveryId": "1", "attempt": 1, "deadlineMs": 30000, "event": {**known, **event}, "state": {}, "history": []}


def broken(build, *arguments, **options):
    with pytest.raises(MessageError) as caught:
        build(*arguments, **options)
    return caught.value.rule, caught.value.pointer


# Builders.

def choices(count):
    return [(f"i{number}", f"Choice {number}") for number in range(count)]


DATA = "/interactiveData/data"
PAGES = [balloon.input_page("a", "Your name?"), balloon.input_page("b", "Your street?")]
MESSAGES = {
    "text": balloon.text("Good morning"),
    "richLink": balloon.rich_link("https://example.com", "A page", image=Image(PICTURE), video="https://example.com/v.mp4"),
    "quickReply": balloon.quick_reply("Which?", choices(2)),
    "listPicker": balloon.list_picker("Which?", [balloon.section("Bread", choices(3))], reply="This one"),
    "timePicker": balloon.time_picker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0000", 60)]),
    "form": balloon.form("Who?", PAGES + [
        balloon.select_page("c", "Which?", choices(2)), balloon.picker_page("d", "How?", choices(2), selected=1),
        balloon.date_page("e", "When?", dateFormat="dd.MM.yyyy")]),
    "signIn": balloon.sign_in("Sign in", {"responseType": "code", "scope": ["profile"], "state": "s",
                                          "redirectURI": "https://example.com/auth"}),
    "serverSignIn": balloon.sign_in("Sign in", reply="Signed in", scope=["openid"], additional_parameters="prompt=login",
                                    fallback="Please call us."),
    "app": balloon.app("com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM:app", "?a=1", "An app", app_id=1),
    "invitation": balloon.invitation("binaryChoice.engage.noImage", "r", "en-us", "Sam's Fish"),
    "linkPreview": balloon.link_preview("https://music.apple.com/us/song/1", "A song", store_region="us"),
    "reusable": balloon.list_picker("Which?", [balloon.section("Bread", choices(3))], reusable=True, fallback="Write 1 or 2."),
    "typingStart": balloon.typing_start(),
    "typingEnd": balloon.typing_end(),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_builder_writes_a_message_that_keeps_the_rules(name):
    assert balloon.problems(MESSAGES[name]) == []


def payment(call, **members):
    return {"call": call, "business": "b", "customer": "c", "messageId": "m", "deadlineMs": 25000,
            "sheet": {"total": "63.99", "currency": "USD", "newTotal": {"label": "Fish", "amount": "63.99"}}, **members}


def cashier():
    bot = balloon.Bot("cashier")

    @bot.on.paymentGateway
    def charge(call):
        if call.token is None:
            return balloon.not_paid(balloon.payment_error("unknown", "No card"))
        return balloon.paid(call.total, "ch_" + call.attempt)

    @bot.on.reversal
    def give_back(call):
        assert (call.attempt, call.amount, call.currency) == ("a1", "63.99", "USD")

    @bot.on.shippingMethodUpdate
    def ship(call):
        if call.shipping_method["identifier"] == "cheap":
            return None
        return balloon.sheet(("Fish", "88.99"), [("Halibut", "59.00"), ("Air", "29.99")])
    return bot


def test_a_bot_answers_the_calls_of_a_payment():
    bot = cashier()
    assert bot.payments == ["paymentGateway", "shippingMethodUpdate"] and bot.events == []
    token = {"paymentToken": {"paymentData": {"data": "AAAA"}}}
    assert bot.pay(payment("paymentGateway", attempt="a1", payment=token)) == {
        "status": "STATUS_SUCCESS", "charged": "63.99", "reference": "ch_a1"}
    assert bot.pay(payment("paymentGateway", attempt="a1", payment={})) == {
        "status": "STATUS_FAILURE", "errors": [{"code": "unknown", "message": "No card"}]}
    assert bot.pay(payment("reversal", attempt="a1", amount="63.99", currency="USD")) == {}
    assert bot.pay(payment("shippingMethodUpdate", payment={"shippingMethod": {"identifier": "cheap"}})) == {}
    answer = bot.pay(payment("shippingMethodUpdate", payment={"shippingMethod": {"identifier": "air"}}))
    assert answer["newTotal"] == {"label": "Fish", "amount": "88.99", "type": "final"} and len(answer["newLineItems"]) == 2
    body = json.dumps(payment("reversal", attempt="a1", amount="63.99", currency="USD")).encode()
    assert bot.respond(signed(body), body, [SECRET]) == (200, b"{}")


def test_a_payment_gateway_needs_a_reversal():
    bot = balloon.Bot("b")
    bot.on.paymentGateway(lambda call: balloon.not_paid())
    with pytest.raises(ValueError):
        _ = bot.payments


def test_a_request_for_a_payment_leaves_the_rest_to_the_server():
    message = balloon.payment_request(
        "Halibut", ("Fish", "63.99"), [("Halibut", "59.00"), ("Ground", "4.99")], "USD", "US", ["visa"],
        image=Image(PICTURE), shipping_methods=[("cheap", "Ground", "5 days", "4.99")], shipping=["post"], fallback="Pay here")
    assert balloon.problems(message) == []
    request = message["payment"]["paymentRequest"]
    assert request["applePay"] == {"merchantCapabilities": ["supports3DS"], "supportedNetworks": ["visa"]}
    assert request["shippingMethods"][0]["identifier"] == "cheap" and len(message["payment"]["images"]) == 1


def test_a_payment_is_built_with_a_large_bubble():
    sample = FOLDER.parents[2] / "Tests/TestSupport/Fixtures/outbound/applePay.json"
    if not sample.exists():
        pytest.skip("needs the repository")
    payment = json.loads(sample.read_text())["interactiveData"]["data"]["payment"]
    message = balloon.apple_pay("Pay here", payment)
    assert message["interactiveData"]["receivedMessage"]["style"] == "large"
    del payment["endpoints"]
    assert broken(balloon.apple_pay, "Pay here", payment) == ("required", DATA + "/payment/endpoints")


LIMITS = [
    (1, ("quickReplyCount", DATA + "/quick-reply/items")), (2, None), (5, None),
    (6, ("quickReplyCount", DATA + "/quick-reply/items")),
]


def _nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = {
    "elements": ({"type": "text", "body": "x", "a": [1] * 1001}, "/a"),
    "members": ({"type": "text", "body": "x", **{f"n{number}": 1 for number in range(10_000)}}, ""),
    "attachments": ({"type": "text", "body": "x", "attachments": [{}] * 101}, "/attachments"),
    "values": ({"type": "text", "body": "x", "a": [[1] * 1000] * 100}, ""),
    "levels": ({"type": "text", "body": "x", "a": _nested(128)}, ""),
    "deep": ({"type": "text", "body": "x", "a": _nested(100_000)}, ""),
    "scope": ({"signIn": {"scope": ["a"] * 1001}}, "/signIn/scope"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_message_with_too_many_parts_is_not_checked(name):
    message, place = HOSTILE[name]
    [(rule, pointer, found, _)] = balloon.problems(message)
    assert (rule, pointer) == ("fullyChecked", place) and "not fully checked" in found


def test_at_most_a_hundred_problems_are_listed():
    items = [{} for _ in range(1000)]
    message = balloon_interactive({"listPicker": {"sections": [{"title": "t", "items": items}]}})
    assert len(balloon.problems(message)) == 100


def test_a_long_text_is_not_searched_for_a_form():
    [(rule, pointer, _, _)] = balloon.problems({"type": "text", "body": "x", "locale": "en" + "-a" * 4_000_000})
    assert (rule, pointer) == ("locale", "/locale")


def balloon_interactive(data):
    return {"type": "interactive", "interactiveData": {
        "bid": balloon.APPLE, "data": {"version": "1.0", "requestIdentifier": "r", **data}, "receivedMessage": {"title": "t"}}}


@pytest.mark.parametrize("count, problem", LIMITS)
def test_a_quick_reply_has_two_to_five_items(count, problem):
    if problem:
        assert broken(balloon.quick_reply, "Which?", choices(count)) == problem
    else:
        balloon.quick_reply("Which?", choices(count))


BROKEN = {
    "an empty text": (lambda: balloon.text(""), "empty", "/body"),
    "a quick reply with the same item twice": (
        lambda: balloon.quick_reply("Which?", [("a", "A"), ("a", "B")]), "quickReplyIdentifiers",
        DATA + "/quick-reply/items/1/identifier"),
    "a list without sections": (lambda: balloon.list_picker("Which?", []), "empty", DATA + "/listPicker/sections"),
    "a section without items": (
        lambda: balloon.list_picker("Which?", [balloon.section("Bread", [])]), "empty",
        DATA + "/listPicker/sections/0/items"),
    "a bubble of 513 characters": (
        lambda: balloon.list_picker("x" * 513, [balloon.section("Bread", choices(1))]), "bubbleText",
        "/interactiveData/receivedMessage/title"),
    "a start that is not in GMT": (
        lambda: balloon.time_picker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0200", 60)]), "startTime",
        DATA + "/event/timeslots/0/startTime"),
    "a slot of no time": (
        lambda: balloon.time_picker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0000", 0)]), "slotDuration",
        DATA + "/event/timeslots/0/duration"),
    "a page identifier of 20 characters": (
        lambda: balloon.form("Who?", [balloon.input_page("x" * 20, "Your name?")]), "pageIdentifier",
        DATA + "/dynamic/data/pages/0/pageIdentifier"),
    "a page that leads nowhere": (
        lambda: balloon.form("Who?", [balloon.input_page("a", "Your name?", next="z")]), "nextPage",
        DATA + "/dynamic/data/pages/0/nextPageIdentifier"),
    "an unknown keyboard": (
        lambda: balloon.form("Who?", [balloon.input_page("a", "Your name?", keyboardType="piano")]), "keyboardType",
        DATA + "/dynamic/data/pages/0/options/keyboardType"),
    "a link without a title": (lambda: balloon.rich_link("https://example.com", ""), "empty", "/richLinkData/title"),
    "a datetime without a zone": (
        lambda: balloon.slot("1", datetime.datetime(2030, 7, 10), 60), "startTime", ""),
    "an image that is no picture": (lambda: Image(b"GIF89a"), "imageFormat", ""),
    "an empty fallback": (lambda: balloon.quick_reply("Which?", choices(2), fallback=""), "empty", "/fallback"),
    "a sign-in that is said to be reusable": (
        lambda: balloon.check({**MESSAGES["signIn"], "reusable": True}), "reusableContent", "/reusable"),
    "an app with an empty URL": (
        lambda: balloon.app("com.apple.messages.MSMessageExtensionBalloonPlugin:T:app", "", "App", app_id=1), "empty",
        "/interactiveData/URL"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_its_place(name):
    build, rule, pointer = BROKEN[name]
    assert broken(build) == (rule, pointer)


# A builder with an argument of a wrong kind: the argument's place, and what is wanted.
ITSELF = []
ITSELF.append(ITSELF)
LINES, NETWORKS = [("Bread", "1.50")], ["visa"]
WRONG_KINDS = [
    (lambda: balloon.quick_reply("Which?", None), "/items", "found null, allowed a list, each an item or (identifier, title)"),
    (lambda: balloon.quick_reply("Which?", "Yes"), "/items", "a text of 3 characters"),
    (lambda: balloon.quick_reply("Which?", ["Yes", "No"]), "/items/0", "for items of quick_reply"),
    (lambda: balloon.quick_reply("Which?", [("a", "A"), ("b", "B", "C")]), "/items/1", "found 3 items"),
    (lambda: balloon.quick_reply("Which?", {"a": "A", "b": "B"}), "/items", "found an object"),
    (lambda: balloon.quick_reply("Which?"), "", "missing a required argument: 'items', allowed the arguments of quick_reply("),
    (lambda: balloon.quick_reply("Which?", choices(2), color="red"), "", "'color'"),
    (lambda: balloon.section("Bread", [7]), "/items/0", "found 7"),
    (lambda: balloon.list_picker("Which?", [("a", "b")]), "/sections/0", "found 2 items, allowed a section, for sections"),
    (lambda: balloon.list_picker("Which?", balloon.section("Bread", choices(2))), "/sections", "found an object"),
    (lambda: balloon.list_picker("Which?", [{"title": "Bread"}]), "/sections/0", "a section"),
    (lambda: balloon.list_picker("Which?", [{"title": "Bread", "items": "abc"}]), "/sections/0", "a section"),
    (lambda: balloon.slot("1", datetime.date(2030, 7, 10), 60), "/start", "found a value of the type date"),
    (lambda: balloon.slot("1", "2030-07-10T08:00+0000", "60"), "/minutes", "allowed a number, for minutes of slot"),
    (lambda: balloon.slot("1", "2030-07-10T08:00+0000", 1e300), "/duration", "a finite number"),
    (lambda: balloon.slot("1", datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2))), 60), "",
     "arguments with which slot raised OverflowError"),
    (lambda: balloon.time_picker("When?", "Repair", None), "/slots", "found null"),
    (lambda: balloon.time_picker("When?", "Repair", ["2030-07-10T08:00+0000"]), "/slots/0", "a slot"),
    (lambda: balloon.select_page("a", "Which?", ["Yes"]), "/items/0", "for items of select_page"),
    (lambda: balloon.picker_page("a", "Which?", 5), "/items", "found 5"),
    (lambda: balloon.form("Who?", balloon.input_page("a", "Name?")), "/pages", "found an object"),
    (lambda: balloon.form("Who?", ["a"]), "/pages/0", "a page"),
    (lambda: balloon.apple_pay("Pay", None), "/payment", "a dictionary"),
    (lambda: balloon.payment_request("Pay", 1.5, LINES, "EUR", "DE", NETWORKS), "/total", "found 1.5, allowed (label, amount)"),
    (lambda: balloon.payment_request("Pay", LINES[0], None, "EUR", "DE", NETWORKS), "/items", "found null"),
    (lambda: balloon.payment_request("Pay", LINES[0], [1.5], "EUR", "DE", NETWORKS), "/items/0", "found 1.5"),
    (lambda: balloon.payment_request("Pay", LINES[0], LINES, "EUR", "DE", "visa"), "/networks", "a list, each a text"),
    (lambda: balloon.payment_request("Pay", LINES[0], LINES, "EUR", "DE", NETWORKS, shipping_methods=["air"]),
     "/shipping_methods/0", "(identifier, label, detail, amount)"),
    (lambda: balloon.payment_request("Pay", LINES[0], LINES, "EUR", "DE", NETWORKS, image="a.png"), "/image", "an Image"),
    (lambda: balloon.sheet(5), "/total", "(label, amount)"),
    (lambda: balloon.sheet(errors=["no"]), "/errors/0", "a payment_error"),
    (lambda: balloon.sign_in("Sign in", "https://example.com"), "/oauth2", "a dictionary"),
    (lambda: balloon.sign_in("Sign in", scope="openid"), "/scope", "a list, each a text"),
    (lambda: balloon.app("b", "u", "App", icon="icon.png"), "/icon", "allowed bytes"),
    (lambda: balloon.rich_link("https://example.com", "A page", image="a.png"), "/image", "allowed an Image"),
    (lambda: balloon.text("Hello", files="x.png"), "/files", "a list, each the path of a file"),
    (lambda: balloon.text("Hello", files=[None]), "/files/0", "the path of a file"),
    (lambda: Image(5), "/source", "for source of Image"),
    (lambda: Image(b"\xff\xd8\xff", 5), "/description", "a text"),
    (lambda: balloon.retry("soon"), "/after", "a number"),
    (lambda: balloon.text(None), "/body", "required"),
    (lambda: balloon.quick_reply(5, choices(2)), DATA + "/quick-reply/summaryText", "found 5"),
    (lambda: balloon.quick_reply("Which?", [{"identifier": "a"}, ("b", "B")]), DATA + "/quick-reply/items/0/title", "required"),
    (lambda: balloon.list_picker("Which?", [balloon.section("Bread", choices(2))], reply=ITSELF), "", "RecursionError"),
]


@pytest.mark.parametrize("build, pointer, words", WRONG_KINDS)
def test_an_argument_of_a_wrong_kind_is_a_message_error_that_names_it(build, pointer, words):
    with pytest.raises(MessageError) as caught:
        build()
    assert caught.value.pointer == pointer and words in str(caught.value), str(caught.value)
    assert caught.value.problems[0]["pointer"] == pointer


def test_every_builder_takes_none_for_an_argument_with_a_default_and_any_iterable_for_a_list():
    assert balloon.text("Hello", files=None) == {"type": "text", "body": "Hello"}
    assert balloon.retry(None).members == {"outcome": "retry"}
    assert "shippingMethods" not in str(balloon.payment_request("Pay", LINES[0], LINES, "EUR", "DE", NETWORKS, shipping_methods=None))
    built = balloon.quick_reply("Which?", (each for each in choices(2)))
    assert len(built["interactiveData"]["data"]["quick-reply"]["items"]) == 2


def test_an_error_of_a_generator_is_the_bots_own():
    with pytest.raises(ZeroDivisionError):
        balloon.quick_reply("Which?", ((str(1 / each), "A") for each in (1, 0)))


def test_an_error_does_not_quote_the_message():
    with pytest.raises(MessageError) as caught:
        balloon.list_picker("secret" * 100, [balloon.section("Bread", choices(1))])
    assert str(caught.value) == (
        "bubbleText at /interactiveData/receivedMessage/title: found a text of 600 characters, "
        "allowed at most 512 characters")


def test_every_builder_of_an_interactive_message_takes_a_fallback_and_four_take_reusable():
    names = ("quick_reply", "list_picker", "time_picker", "form", "apple_pay", "sign_in", "app")
    parameters = {name: inspect.signature(getattr(balloon, name)).parameters for name in names}
    assert [name for name in names if "fallback" in parameters[name]] == list(names)
    assert [name for name in names if "reusable" in parameters[name]] == list(names[:4])
    message = balloon.quick_reply("Which?", choices(2), reusable=True, fallback="Write 1 or 2.")
    assert (message["reusable"], message["fallback"]) == (True, "Write 1 or 2.")
    plain = balloon.quick_reply("Which?", choices(2))
    assert "reusable" not in plain and "fallback" not in plain


def test_an_image_that_is_used_twice_is_sent_once():
    picture = Image(PICTURE, "A pizza")
    message = balloon.list_picker(balloon.bubble("Which?", image=picture), [
        balloon.section("Pizza", [balloon.item("a", "Margherita", image=picture)])])
    data = message["interactiveData"]["data"]
    assert [image["identifier"] for image in data["images"]] == [picture.identifier]
    assert data["listPicker"]["sections"][0]["items"][0]["imageIdentifier"] == picture.identifier
    assert message["interactiveData"]["receivedMessage"]["imageIdentifier"] == picture.identifier


def test_pages_follow_each_other_and_the_last_one_sends_the_form():
    pages = balloon.form("Who?", PAGES)["interactiveData"]["data"]["dynamic"]["data"]["pages"]
    assert [page.get("nextPageIdentifier") for page in pages] == ["b", None]
    assert [page.get("submitForm") for page in pages] == [None, True]


def test_a_datetime_becomes_a_start_in_gmt():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    assert balloon.slot("1", datetime.datetime(2030, 7, 10, 10, tzinfo=zone), 45) == {
        "identifier": "1", "startTime": "2030-07-10T08:00+0000", "duration": 2700}


def test_a_text_with_files_names_absolute_paths():
    assert balloon.text("Look", files=[str(PICTURE)])["attachments"] == [
        {"path": str(PICTURE), "name": "pizza.png", "mimeType": "image/png"}]


TYPES = {"a.caf": "audio/x-caf", "a.pkpass": "application/vnd.apple.pkpass", "a.USDZ": "model/vnd.usdz+zip",
         "a.doc": "application/msword", "a.xls": "application/vnd.ms-excel", "a.ics": "text/calendar",
         "a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "a.b.heic": "image/heic",
         "a.unheard": "application/octet-stream", "caf": "application/octet-stream"}


@pytest.mark.parametrize("name", TYPES)
def test_the_media_type_of_a_file_is_that_of_its_extension(name):
    assert balloon.text("Look", files=["/srv/" + name])["attachments"][0]["mimeType"] == TYPES[name]


# Events and answers.

def test_the_function_of_the_kind_answers_and_any_answers_the_rest():
    bot = Bot("b")
    bot.on.text(lambda event: event.text.upper())
    bot.on.any(lambda event: [event.kind, event.customer])
    assert bot.answer(params("text", text="hi")) == {"outcome": "handled", "replies": ["HI"]}
    assert bot.answer(params("close")) == {"outcome": "handled", "replies": ["close", "c"]}
    assert "replyFailed" not in bot.events and "close" in bot.events


def test_a_changed_state_is_in_the_answer_and_an_emptied_one_is_null():
    bot = Bot("b")

    @bot.on.text
    def text(event):
        if event.text == "forget":
            event.state.clear()
        elif event.text:
            event.state["said"] = event.text

    assert bot.answer(params("text", text="rye"))["state"] == {"said": "rye"}
    assert "state" not in bot.answer(params("text"))
    assert bot.answer({**params("text", text="forget"), "state": {"said": "rye"}})["state"] is None
    bot.on.close(lambda event: event.state.update(long="x" * 40000))
    assert broken(bot.answer, params("close")) == ("stateSize", "/state")


LIVE_PERSON = {"metadata": [{"type": "BusinessChatCustomMessage", "bid": "b", "URL": "?a=1"}]}

OUTCOMES = [
    (balloon.handoff("wants a person"), {"outcome": "handoff", "reason": "wants a person"}),
    (balloon.handoff("asked", queue="returns", priority=0, note="Order 4711"),
     {"outcome": "handoff", "reason": "asked", "queue": "returns", "priority": 0, "note": "Order 4711"}),
    (balloon.handoff("asked", "Sam answers soon."),
     {"outcome": "handoff", "reason": "asked", "replies": ["Sam answers soon."]}),
    (balloon.reject("spam"), {"outcome": "reject", "reason": "spam"}),
    (balloon.retry(), {"outcome": "retry"}), (balloon.retry(2.5), {"outcome": "retry", "retryAfterMs": 2500}),
    (LIVE_PERSON, {"outcome": "handled", "replies": [LIVE_PERSON]}),
    (None, {"outcome": "handled", "replies": []}), ("Yes.", {"outcome": "handled", "replies": ["Yes."]}),
]


@pytest.mark.parametrize("value, answer", OUTCOMES)
def test_an_outcome_is_written_as_the_protocol_says(value, answer):
    bot = Bot("b")
    bot.on.text(lambda event: value)
    assert bot.answer(params("text")) == answer


def test_a_wrong_reply_is_an_error_with_rule_and_place():
    bot = Bot("b")
    bot.on.text(lambda event: ["Hello", {"type": "close"}])
    with pytest.raises(MessageError) as caught:
        bot.answer(params("text"))
    assert str(caught.value) == (
        "messageType at /replies/1/type: found a text of 5 characters, allowed text interactive richLink typing_start typing_end")
    bot.on.close(lambda event: ["x"] * 33)
    assert broken(bot.answer, params("close")) == ("replyCount", "/replies")


def test_an_error_lists_every_broken_rule_of_its_message():
    with pytest.raises(MessageError) as caught:
        balloon.quick_reply("", [("a", "")])
    assert [problem["pointer"] for problem in caught.value.problems] == [
        DATA + "/quick-reply" + place for place in ("/summaryText", "/items", "/items/0/title")]


async def later(event):
    return "Hello"


def state(**values):
    def function(event):
        event.state.update(values)
    return function


class Bread:
    pass


UNSENDABLE = {
    "NaN in the state": (state(price=float("nan")), "type", "/state/price", "found NaN, allowed a finite number"),
    "infinity in a list": (state(prices=[1, {"a": float("-inf")}]), "type", "/state/prices/1/a", "found -Infinity"),
    "a date": (state(at=datetime.date(2030, 1, 1)), "type", "/state/at", "found a value of the type date"),
    "a datetime": (state(at=datetime.datetime(2030, 1, 1)), "type", "/state/at", "isoformat()"),
    "bytes": (state(data=b"a"), "type", "/state/data", "found a value of the type bytes"),
    "a set": (lambda event: {"a"}, "type", "/replies/0", "found a value of the type set"),
    "an object": (lambda event: [Bread()], "type", "/replies/0", "found a value of the type Bread"),
    "a coroutine": (later, "type", "/replies/0", "found a value of the type coroutine"),
    "a coroutine in a list": (lambda event: ["Hello", later(event)], "type", "/replies/1", "write def instead of async def"),
    "a generator": (lambda event: (word for word in "ab"), "type", "/replies/0", "found a value of the type generator"),
    "NaN in a message": (
        lambda event: {"type": "richLink", "richLinkData": {"url": float("nan")}}, "type", "/replies/0/richLinkData/url", "NaN"),
    "a member whose name is a tuple": (state(a={(1, 2): 3}), "type", "/state/a", "names that are texts"),
    "a list that contains itself": (state(a=ITSELF), "depth", None, "must not contain itself"),
    "a state that is a list": (lambda event: setattr(event, "state", ["a"]), "type", "/state", "found 1 item"),
    "a name of a customer": (state(**{"Ada's price": float("nan")}), "type", "/state/(a name)", "NaN"),
    "an outcome in a list": (lambda event: [balloon.retry()], "type", "/replies/0", "found a value of the type Outcome"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", UNSENDABLE)
def test_what_cannot_be_sent_is_an_error_with_its_place(name):
    function, rule, pointer, words = UNSENDABLE[name]
    bot = Bot("b")
    bot.on.text(function)
    with pytest.raises(MessageError) as caught:
        bot.answer(params("text"))
    assert caught.value.rule == rule and words in str(caught.value)
    assert pointer in (None, caught.value.pointer)


def test_half_an_emoji_is_replaced_and_two_halves_are_one():
    bot = Bot("b")

    @bot.on.text
    def text(event):
        event.state["half\ud83d"] = "\ud83e"
        return ["Hello \ud83d", "\ud83d\ude00", balloon.text("\ude00", subject="\ud83d!")]

    answer = bot.answer(params("text"))
    assert answer["state"] == {"half\ufffd": "\ufffd"}
    assert answer["replies"] == ["Hello \ufffd", "\U0001f600", {"type": "text", "body": "\ufffd", "subject": "\ufffd!"}]
    bot.on.close(lambda event: balloon.handoff("\ud83d"))
    assert bot.answer(params("close"))["reason"] == "\ufffd"


def test_numbers_as_names_and_tuples_are_written_as_json_has_them():
    bot = Bot("b")
    bot.on.text(state(a={1: (True, None, 2.5)}))
    assert bot.answer(params("text"))["state"] == {"a": {"1": [True, None, 2.5]}}


def test_a_wrong_answer_of_a_payment_or_a_retention_function_is_an_error():
    bot = cashier()
    bot._functions["paymentGateway"] = lambda call: balloon.paid(float("nan"), "r")
    assert broken(bot.pay, payment("paymentGateway", attempt="a1", payment={})) == ("type", "/charged")
    bot.retention(later)
    assert broken(bot.answer, question()) == ("type", "")


def test_a_long_message_and_files_are_read(tmp_path):
    (tmp_path / "message").write_text(json.dumps({"body": "long\ufffc", "attachments": [{"name": "a.txt"}]}))
    (tmp_path / "file").write_bytes(b"content")
    call = params("text")
    del call["event"]["message"]
    call["event"]["messagePath"] = str(tmp_path / "message")
    call["files"] = [{"path": str(tmp_path / "file"), "size": 7, "sha256": "0"}, {"failure": "too late"}]
    event = balloon.Event(call)
    assert event.text == "long"
    assert balloon.Event(params("close")).text is None
    assert [(file.name, file.failure) for file in event.files] == [("a.txt", None), (None, "too late")]
    assert event.files[0].read() == b"content"


def test_the_first_event_after_a_person_says_so():
    assert balloon.Event({**params("text"), "afterPerson": 7}).after_person == 7
    assert balloon.Event(params("text")).after_person is None


def test_the_first_event_of_a_conversation_says_so_and_whether_the_customer_wrote_before():
    new = {"isNew": True, "isReturning": True, "lastContact": "2026-07-10T17:00:00.000Z"}
    event = balloon.Event({**params("text"), "conversation": new})
    assert (event.is_new, event.is_returning, event.last_contact) == tuple(new.values())
    later = balloon.Event(params("text"))
    assert (later.is_new, later.is_returning, later.last_contact) == (False, False, None)


# A child process.

BOT = """
import balloon
bot = balloon.Bot("echo", concurrency=4)
@bot.on.text
def text(event):
    print("to the log")
    if event.text == "crash":
        raise KeyError("customer's words")
    if event.text == "send":
        return bot.send(event.customer, "k", "Ready.")
    if event.text == "withdraw":
        return str(bot.withdraw_payment("r-1"))
    event.state["count"] = event.state.get("count", 0) + 1
    return f"{bot.config['greeting']} {event.text} {event.state['count']}"
bot.run()
"""


class Child:
    """A bot in a child process, called as the server calls it: lines are bytes that end at a line feed only."""

    def __init__(self, code):
        self.process = subprocess.Popen([sys.executable, "-c", code], cwd=FOLDER, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def write(self, **line):
        self.send(json.dumps({"jsonrpc": "2.0", **line}, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def read(self):
        return json.loads(self.process.stdout.readline())

    def start(self):
        self.call(1, "initialize", {"config": {"greeting": "Hello"}, "limits": {"maxInFlight": 16}})
        return self

    def end(self):
        """The rest of standard output, and standard error, after the end of standard input."""
        output, errors = self.process.communicate(timeout=20)
        assert self.process.returncode == 0
        return output.decode(), errors.decode()

    def call(self, number, method, params):
        self.write(id=number, method=method, params=params)
        return self.read()


def test_a_conversation_over_standard_input_and_output():
    child = Child(BOT)
    introduction = child.call(1, "initialize", {"config": {"greeting": "Hello"}, "limits": {"maxInFlight": 16}})
    assert introduction["result"] == {"protocolVersion": "1", "handler": {"name": "echo"}, "events": ["text"],
                                      "maxInFlight": 4}
    answer = child.call(2, "event", params("text", text="Ada"))
    assert answer["result"] == {"outcome": "handled", "replies": ["Hello Ada 1"], "state": {"count": 1}}
    again = child.call(3, "event", {**params("text", text="Ada"), "state": {"count": 1}})
    assert again["result"]["replies"] == ["Hello Ada 2"]
    assert child.call(4, "event", params("text", text="crash"))["error"] == {
        "code": -32603, "message": "the function for text raised KeyError"}
    assert child.call(5, "ping", None)["result"] == {}
    assert child.call(6, "unheardOf", {})["error"]["code"] == -32601
    child.write(method="cancel", params={"deliveryId": "1"})
    sent = child.call(7, "event", params("text", text="send"))
    assert sent["method"] == "reply" and sent["params"] == {"customer": "c", "key": "k", "message": "Ready."}
    child.write(id=sent["id"], result={"messageId": "m-1"})
    assert child.read()["result"]["replies"] == ["m-1"]
    child.write(id=8, method="shutdown")
    assert child.read()["result"] == {}
    output, errors = child.end()
    assert output == ""
    assert errors.count("to the log") == 4


@pytest.mark.parametrize("text", ["one\u2028two", "\u2029", "a\u0085b\u000cc\u000bd\u001ce", "\r", "\ufeff", "\x00"])
def test_a_line_ends_at_a_line_feed_only(text):
    child = Child(BOT).start()
    for number in (2, 3):
        assert child.call(number, "event", params("text", text=text))["result"]["replies"] == [f"Hello {text} 1"]
    assert child.end()[0] == ""


NO_CALLS = [b"no JSON, secret", b"[1]", b"7", b"null", b'"secret"', b"{", b"\xff\xfe", b"", b"{} {}", b"[" * 100000]


@pytest.mark.parametrize("line", NO_CALLS)
def test_a_line_that_is_no_call_is_logged_without_its_content_and_skipped(line):
    child = Child(BOT).start()
    child.send(line)
    assert child.call(2, "ping", None)["result"] == {}
    output, errors = child.end()
    assert output == "" and f"skipped a line of {len(line) + 1} bytes" in errors and "secret" not in errors


@pytest.mark.parametrize("method", ["initialize", "event", "payment", "retention"])
def test_a_call_with_wrong_parameters_is_refused_and_the_program_continues(method):
    child = Child(BOT).start()
    for wrong in ([], "a", {"limits": 5}):
        assert child.call(2, method, wrong)["error"]["code"] == -32602
    child.send(b"\xef\xbb\xbf" + json.dumps({"id": 3, "method": "ping"}).encode())
    assert child.read() == {"jsonrpc": "2.0", "id": 3, "result": {}}
    child.end()


UNSENT = """
import asyncio, datetime, subprocess, sys
import balloon
bot = balloon.Bot("unsent")
@bot.on.text
def text(event):
    if event.text == "quick":
        return balloon.quick_reply("", [("a", "A")])
    if event.text == "child":
        # As ffmpeg and ssh do, the child reads its standard input; what it prints is for the log.
        return subprocess.run(["cat"], stdout=subprocess.PIPE, timeout=20).stdout.decode() + "converted"
    if event.text == "print":
        subprocess.run(["echo", "from the child"])
        print("half \\ud83d")
        print("no line", end="")
        return sys.stdin.read() + "printed"
    event.state["price"] = float("nan")
    return "ok"
@bot.on.close
async def close(event):
    return "Goodbye"
bot.run()
"""


def test_a_builders_error_is_a_refusal_that_lists_the_problems():
    child = Child(UNSENT).start()
    error = child.call(2, "event", params("text", text="quick"))["error"]
    assert error["code"] == -32002
    assert [problem["rule"] for problem in error["data"]["problems"]] == ["empty", "quickReplyCount"]
    assert set(error["data"]["problems"][0]) == {"rule", "pointer", "found", "allowed"}
    error = child.call(3, "event", params("text", text="nan"))["error"]
    assert error["data"]["problems"] == [
        {"rule": "type", "pointer": "/state/price", "found": "NaN", "allowed": "a finite number"}]
    error = child.call(4, "event", params("close"))["error"]
    assert error["data"]["problems"][0]["pointer"] == "/replies/0" and "coroutine" in error["message"]
    assert "never awaited" not in child.end()[1]


UNUSUAL = """
import asyncio, balloon, sys
bot = balloon.Bot("unusual")
@bot.on.text
def text(event):
    if event.text == "exit":
        sys.exit(3)
    if event.text == "cancelled":
        raise asyncio.CancelledError()
    if event.text == "digits":
        event.state["n"] = 10 ** 5000
        return "ok"
    if event.text == "slot":
        return balloon.slot("a", "2026-07-10T17:00+0000", float("nan"))
    if event.text == "later":
        return balloon.retry(float("inf"))
    if event.text == "kind":
        return balloon.quick_reply("Which?", None)
    if event.text == "own":
        return None + 1
    raise balloon.MessageError("r", "/p\\ud83d", b"x", float("nan"))
bot.run()
"""


def test_a_function_that_ends_unusually_is_answered():
    child = Child(UNUSUAL).start()
    answers = {text: child.call(number, "event", params("text", text=text))["error"]
               for number, text in enumerate(("exit", "cancelled", "digits", "slot", "later", "kind", "own", "refusal"), 2)}
    assert {text: error["code"] for text, error in answers.items()} == {
        "exit": -32603, "cancelled": -32603, "digits": -32002, "slot": -32002, "later": -32002, "kind": -32002,
        "own": -32603, "refusal": -32002}
    assert answers["kind"]["data"]["problems"][0]["pointer"] == "/items"
    assert answers["digits"]["data"]["problems"][0]["pointer"] == "/state/n"
    assert answers["refusal"]["data"]["problems"] == [{"rule": "r", "pointer": "/p\ufffd", "found": "b'x'", "allowed": "nan"}]
    child.end()


def test_a_service_answers_an_exit_with_500():
    bot = Bot("b")
    bot.on.text(lambda event: sys.exit(3))
    body = json.dumps(params("text", text="hi")).encode()
    assert bot.respond(signed(body), body, [SECRET]) == (500, b"")


def test_a_child_of_the_bot_gets_no_call():
    child = Child(UNSENT).start()
    child.write(id=2, method="event", params=params("text", text="child"))
    for number in range(3, 9):
        child.write(id=number, method="ping")
    answers = {answer["id"]: answer["result"] for answer in (child.read() for _ in range(7))}
    assert answers.pop(2)["replies"] == ["converted"] and answers == {number: {} for number in range(3, 9)}
    assert child.call(9, "event", params("text", text="print"))["result"]["replies"] == ["printed"]
    output, errors = child.end()
    assert output == "" and "from the child" in errors


def test_print_is_in_the_log_before_the_answer():
    child = Child(UNSENT).start()
    child.call(2, "event", params("text", text="print"))
    lines = [child.process.stderr.readline() for _ in range(2)]
    assert lines == [b"from the child\n", b"half \\ud83d\n"]
    assert child.process.stderr.read(7) == b"no line"
    child.end()


def test_a_call_without_its_parameters_says_which_is_missing():
    child = Child(BOT).start()
    assert child.call(2, "event", None)["error"]["message"] == "params of event has no event"
    assert child.call(3, "payment", {"call": 5})["error"]["message"] == "params of payment has no call"
    child.end()


def test_a_bot_withdraws_a_payment_request():
    child = Child(BOT)
    child.call(1, "initialize", {"config": {}, "limits": {"maxInFlight": 16}})
    asked = child.call(2, "event", params("text", text="withdraw"))
    assert (asked["method"], asked["params"]) == ("withdrawPayment", {"requestIdentifier": "r-1"})
    child.write(id=asked["id"], result={"withdrawn": True})
    assert child.read()["result"]["replies"] == ["True"]
    child.end()


def test_a_call_that_the_ended_server_never_answers_fails():
    child = Child(BOT)
    child.call(1, "initialize", {"config": {}, "limits": {"maxInFlight": 16}})
    assert child.call(2, "event", params("text", text="send"))["method"] == "reply"
    assert json.loads(child.end()[0])["error"]["message"] == "the function for text raised SendError"


SLOW_TILL = """
import balloon, threading
bot, end = balloon.Bot("till"), threading.Event()
@bot.on.paymentGateway
def charge(call):
    end.wait(20)
    return balloon.paid(call.total, "r")
@bot.on.reversal
def give_back(call):
    end.set()
bot.run()
"""


def test_a_reversal_waits_for_no_charge_of_a_program():
    child = Child(SLOW_TILL)
    child.call(1, "initialize", {"config": {}, "limits": {"maxInFlight": 16}})
    for number in range(2, 52):
        child.write(id=number, method="payment", params=payment("paymentGateway", attempt=f"a{number}", payment={}))
    reversal = payment("reversal", attempt="a1", amount="63.99", currencyCode="USD")
    assert child.call(52, "payment", reversal)["id"] == 52
    assert {child.read()["id"] for _ in range(50)} == set(range(2, 52))
    child.end()


# An HTTP service.

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()


def signed(body, number="5", at=None, secret=SECRET):
    stamp = str(int(time.time() if at is None else at))
    tag = hmac.new(base64.b64decode(secret[6:]), f"{number}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": number, "webhook-timestamp": stamp,
            "webhook-signature": "v1,AAAA v1," + base64.b64encode(tag).decode()}


def test_a_service_answers_signed_requests_only():
    bot = Bot("b")
    bot.on.text(lambda event: event.text)
    body = json.dumps(params("text", text="hi")).encode()
    assert bot.respond(signed(body), body, [SECRET])[0] == 200
    other = "whsec_" + base64.b64encode(b"o" * 32).decode()
    assert bot.respond(signed(body), body, [other, SECRET])[0] == 200
    assert bot.respond(signed(body), body, [other]) == (401, b"")
    assert bot.respond(signed(body), body + b" ", [SECRET]) == (401, b"")
    assert bot.respond(signed(body, at=time.time() - 301), body, [SECRET]) == (401, b"")
    assert bot.respond({}, body, [SECRET]) == (401, b"")


@contextlib.contextmanager
def served(bot):
    """Serves the bot in a thread, and yields the server; its end must not take longer than the requests in progress."""
    servers, listening = [], threading.Event()

    def ready(server):
        servers.append(server)
        listening.set()

    thread = threading.Thread(target=bot.serve, args=(0, [SECRET]), kwargs={"ready": ready})
    thread.start()
    assert listening.wait(20)
    try:
        yield servers[0]
    finally:
        servers[0].shutdown()
        thread.join(20)
        assert not thread.is_alive()


def post(connection, value):
    body = json.dumps(value).encode()
    connection.request("POST", "/", body, signed(body))
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_the_same_functions_run_as_a_service():
    bot = Bot("b")
    bot.on.text(lambda event: "Hello " + event.text)
    bot.on.close(lambda event: 1 / 0)
    with served(bot) as server:
        for kind, status in (("text", 200), ("close", 500), ("typingStart", 200)):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            answered, content = post(connection, params(kind, text="Ada"))
            assert answered == status
            if kind == "text":
                assert json.loads(content)["replies"] == ["Hello Ada"]
            connection.close()


def test_a_service_answers_a_builders_error_with_422_and_the_problems():
    bot = cashier()
    bot.on.text(lambda event: balloon.quick_reply("", [("a", "A")]))
    body = json.dumps(params("text", text="hi")).encode()
    status, answer = bot.respond(signed(body), body, [SECRET])
    assert status == 422
    assert [problem["rule"] for problem in json.loads(answer)["problems"]] == ["empty", "quickReplyCount"]
    # Whether a payment function charged is not known, so its wrong answer is no refusal.
    bot._functions["paymentGateway"] = lambda call: balloon.paid(float("nan"), "r")
    body = json.dumps(payment("paymentGateway", attempt="a1", payment={})).encode()
    assert bot.respond(signed(body), body, [SECRET]) == (500, b"")


def test_an_update_of_a_payment_and_a_retention_question_wait_for_no_event():
    bot, begun, end = cashier(), threading.Event(), threading.Event()
    bot.retention(lambda asked: "stay")

    @bot.on.text
    def text(event):
        begun.set()
        assert end.wait(20)

    with served(bot) as server:
        slow, quick = (http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20) for _ in range(2))
        thread = threading.Thread(target=post, args=(slow, params("text", text="hi")))
        thread.start()
        assert begun.wait(20)
        assert post(quick, payment("shippingMethodUpdate", payment={"shippingMethod": {"identifier": "cheap"}})) == (200, b"{}")
        assert post(quick, question()) == (200, b'{"message": "stay"}')
        end.set()
        thread.join(20)
        slow.close()
        quick.close()


def test_a_reversal_waits_for_no_charge_of_a_service():
    bot, end = balloon.Bot("till"), threading.Event()
    bot.on.paymentGateway(lambda call: end.wait(20) and balloon.paid(call.total, "r"))
    bot.on.reversal(lambda call: None)
    with served(bot) as server:
        connections = [http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30) for _ in range(51)]
        for number, connection in enumerate(connections[:50]):
            body = json.dumps(payment("paymentGateway", attempt=f"a{number}", payment={})).encode()
            connection.request("POST", "/", body, signed(body))
        assert post(connections[50], payment("reversal", attempt="a1", amount="63.99", currencyCode="USD"))[0] == 200
        end.set()
        assert [connection.getresponse().status for connection in connections[:50]] == [200] * 50
        for connection in connections:
            connection.close()


SERVICE = """
import balloon, sys, threading
bot = balloon.Bot("slow")
@bot.on.text
def text(event):
    print("begun")
    end.wait(20)
    return "done"
end = threading.Event()
bot.run(["--http", "127.0.0.1:0"])
"""


def test_a_service_ends_at_a_signal_with_open_connections_and_answers_what_it_began():
    code = SERVICE.replace("bot.run", "threading.Timer(1, end.set).start()\nbot.run")
    service = subprocess.Popen([sys.executable, "-c", code], cwd=FOLDER, env={**os.environ, "HANDLER_SECRET": SECRET},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    port = int(service.stderr.readline().rsplit(b":", 1)[1])
    idle, used, busy = (http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(3))
    idle.connect()
    assert post(used, params("close"))[0] == 200
    body = json.dumps(params("text", text="hi")).encode()
    busy.request("POST", "/", body, signed(body))
    assert service.stdout.readline() == b"begun\n"
    service.send_signal(signal.SIGTERM)
    answer = busy.getresponse()
    assert (answer.status, json.loads(answer.read())["replies"]) == (200, ["done"])
    assert answer.getheader("Connection") == "close"
    assert service.wait(20) == 0
    for connection in (idle, used, busy):
        connection.close()


# Retention questions.

def question(**members):
    return {"app": "shop", "deadlineMs": 450, "retention": {
        "originalTransactionId": "1", "productId": "p.monthly", "userLocale": "de-DE", "requestIdentifier": "r",
        "environment": "Sandbox", "signedDate": 1, **members}}


def test_a_retention_function_returns_a_name_a_choice_or_nothing():
    for returned, expected in [("stay", {"message": "stay"}), ({"message": "a"}, {"message": "a"}), (None, {})]:
        bot = Bot("b")
        bot.retention(lambda asked, returned=returned: returned)
        assert bot.events == ["retention"]
        assert bot.answer(question()) == expected
    assert Bot("b").answer(question()) == {}


def test_a_question_has_the_product_the_locale_and_the_time_left():
    asked = balloon.Question(question(), {"a": 1})
    assert (asked.product, asked.locale, asked.transaction, asked.app) == ("p.monthly", "de-DE", "1", "shop")
    assert asked.config == {"a": 1} and 0 <= asked.seconds_left <= 0.45


def test_the_sample_offers_one_product_and_leaves_others_to_the_rules():
    import retention
    retention.bot.config = {"product": "p.monthly", "message": "offer"}
    assert retention.bot.answer(question()) == {"promotionalOffer": {"message": "offer", "offer": "half-price"}}
    assert retention.bot.answer(question(productId="p.yearly")) == {}
