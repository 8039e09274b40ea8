#!/usr/bin/env python3
"""A bot for `balloon review`, good in three languages. Each word of the variable FAULTS is a fault that it has instead."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "config/handlers/python"))
from balloon import Bot, handoff, list_picker, paid as charged, payment_request, quick_reply, rich_link, section, sign_in  # noqa: E402

FAULTS = set(os.environ.get("FAULTS", "").split())
WORDS = {
    "en": {
        "hello": "Hello, I'm an automated agent. How can I help you?", "again": "Welcome back. This is the automated agent again.",
        "choose": "Please choose", "order": "Order bread", "signIn": "Sign in", "pay": "Pay", "person": "Talk to a person",
        "which": "Which bread?", "rye": "Rye", "wheat": "Wheat", "thanks": "Thank you. Your order 4711 arrives tomorrow.",
        "lost": "Sorry, I do not understand that. A person can help you.", "notices": "You get no notices from us.",
        "file": "Thank you for the file. A person looks at it."},
    "de": {
        "hello": "Guten Tag, ich bin ein automatischer Assistent. Wie kann ich Ihnen helfen?", "again": "Willkommen zurück beim automatischen Assistenten.",
        "choose": "Bitte wählen Sie", "order": "Brot bestellen", "signIn": "Anmelden", "pay": "Bezahlen", "person": "Mit einem Menschen sprechen",
        "which": "Welches Brot?", "rye": "Roggen", "wheat": "Weizen", "thanks": "Danke. Ihre Bestellung 4711 kommt morgen.",
        "lost": "Das verstehe ich leider nicht. Ein Mensch hilft Ihnen.", "notices": "Sie bekommen keine Benachrichtigungen von uns.",
        "file": "Danke für die Datei. Ein Mensch sieht sie sich an."},
    "fr": {
        "hello": "Bonjour, je suis un agent automatique. Que puis-je faire pour vous ?", "again": "Vous revoilà chez l'agent automatique.",
        "choose": "Choisissez", "order": "Commander du pain", "signIn": "Se connecter", "pay": "Payer", "person": "Parler à une personne",
        "which": "Quel pain ?", "rye": "Seigle", "wheat": "Blé", "thanks": "Merci. Votre commande 4711 arrive demain.",
        "lost": "Je ne comprends pas. Une personne peut vous aider.", "notices": "Vous ne recevez pas de notifications.",
        "file": "Merci pour le fichier. Une personne le regarde."},
}
CONSENT = ("unsubscribe", "stop", "end", "spam", "subscribe")

bot = Bot("reviewed", concurrency=8)
on = bot.on


def words(event):
    language = (event.locale or "en")[:2]
    return WORDS["en" if "english" in FAULTS else language if language in WORDS else "en"]


def menu(event, *texts):
    say = words(event)
    items = [(name, say[name]) for name in ("order", "signIn", "pay", "person")]
    return [*texts, quick_reply(say["choose"], items, fallback=", ".join(title for _, title in items))]


@on.text
def text(event):
    say, said = words(event), (event.text or "").strip()
    if "slow" in FAULTS:
        time.sleep(5.5)
    if event.tapback and "tapback" not in FAULTS:
        return []
    if event.files or not said:
        return [] if "files" in FAULTS else say["file"]
    titles = {title: name for name, title in say.items()}
    if said in titles:
        return chosen(event, titles[said])
    if said.lower() in CONSENT and "consent" not in FAULTS:
        return say["notices"]
    if said.endswith("?") and "order" in said:
        return say["thanks"]
    if not event.state.get("greeted") or said in ("Hi", "Hallo", "Bonjour"):
        return greet(event)
    if "loop" in FAULTS:
        return "I did not understand."
    return menu(event, say["lost"])


def greet(event):
    say, again = words(event), event.state.get("greeted")
    event.state["greeted"] = True
    hello = say["again"] if again and "again" not in FAULTS else say["hello"]
    if "label" in FAULTS:
        hello = "I'm a real person, welcome to sam's BREAD on iMessage. Please write your email."
    if "link" in FAULTS:
        hello += " See www.shop.example. " + "Terms apply. " * 50
    return menu(event, hello)


@on.quickReply
def button(event):
    return chosen(event, event.selected_identifier)


def chosen(event, name):
    say = words(event)
    if name == "person":
        return handoff("the customer asked for a person")
    if name == "signIn":
        return sign_in(say["signIn"], reply=say["thanks"], fallback=say["person"])
    if name == "pay":
        return [] if "dead" in FAULTS else payment_request(
            say["pay"], ("Bread", "6.00"), [("Bread", "6.00")], "EUR", "DE", ["visa"], fallback=say["person"])
    if name == "order":
        return list_picker(say["which"], [section(say["order"], [("rye", say["rye"]), ("wheat", say["wheat"])])],
                           fallback=", ".join((say["which"], say["rye"], say["wheat"])) if "devices" not in FAULTS else None)
    return [say["thanks"], rich_link("https://shop.example/orders/4711", say["order"])]


@on.listPicker
def bread(event):
    return chosen(event, "rye")


@on.authentication
def signed_in(event):
    return [] if "ends" in FAULTS else words(event)["thanks"]


@on.applePay
def paid(event):
    return [] if "ends" in FAULTS else words(event)["thanks"]


@on.paymentGateway
def charge(payment):
    return charged(payment.total, "test")


@on.reversal
def reverse(payment):
    """Nothing was charged."""


if __name__ == "__main__":
    bot.run()
