#!/usr/bin/env python3
"""A handler that takes payments: it charges the sheet's total, and fails, hangs or crashes by the shipping method."""
import json
import os
import sys


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(params):
    call = params["call"]
    method = params.get("payment", {}).get("shippingMethod", {}).get("identifier")
    if method == "crash":
        os._exit(3)
    if call == "paymentGateway":
        return {"status": "STATUS_SUCCESS", "charged": params["sheet"]["total"], "reference": "ch_" + params["attempt"]}
    if method == "typo":
        return {"newtotal": {}}
    if method == "air":
        return {"newTotal": {"label": "Fish", "amount": "88.99"},
                "newLineItems": [{"label": "Halibut", "amount": "59.00"}, {"label": "Air", "amount": "29.99"}]}
    return {}


for line in sys.stdin.buffer:
    call = json.loads(line)
    method = call.get("params", {}).get("payment", {}).get("shippingMethod", {}).get("identifier") or ""
    if call.get("id") == "w":
        text = "withdrawn " + json.dumps(call["result"]["withdrawn"]) if "result" in call else f"error {call['error']['code']}"
        print(text, file=sys.stderr, flush=True)
        write({"id": withdrawing, "result": {}})
        continue
    if method.startswith("withdraw"):
        withdrawing, identifiers = call["id"], method.split()[1:]
        write({"id": "w", "method": "withdrawPayment", "params": dict(zip(["requestIdentifier"], identifiers))})
        continue
    if call.get("method") == "initialize":
        write({"id": call["id"], "result": {
            "protocolVersion": "1", "handler": {"name": "cashier"}, "events": ["text"],
            "payments": ["paymentGateway", "shippingMethodUpdate"]}})
    elif call.get("method") == "payment":
        params = call["params"]
        if params["call"] == "reversal" and params["attempt"] == "lost":
            write({"id": call["id"], "error": {"code": -32001, "message": "the bank is closed"}})
        elif params.get("payment", {}).get("shippingMethod", {}).get("identifier") == "hang":
            hanging = call["id"]
        else:
            write({"id": call["id"], "result": answer(params)})
    elif call.get("method") == "cancel":
        print("cancelled", call["params"]["callId"] == hanging, file=sys.stderr, flush=True)
    elif "id" in call and "method" in call:
        write({"id": call["id"], "result": {}})
