#!/usr/bin/env python3
"""Chooses the message that a subscriber sees before a cancellation: half the price for one product, else the rule file."""
from balloon import Bot

bot = Bot("retention", concurrency=8)


@bot.retention
def retention(question):
    # An app's file names the product and the message: "config": {"product": "com.example.monthly", "message": "offer"}.
    if question.product == question.config.get("product"):
        return {"promotionalOffer": {"message": question.config["message"], "offer": "half-price"}}
    return None


if __name__ == "__main__":
    bot.run()
