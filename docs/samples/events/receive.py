import base64
import hmac
import json
import os
import queue
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

# While a secret is rotated, WEBHOOK_SECRET has both, separated by a space.
SECRETS = [base64.b64decode(secret.removeprefix("whsec_")) for secret in os.environ["WEBHOOK_SECRET"].split()]
HEADERS = {"Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"], "Accept": "application/json"}
FILE = Path("positions.json")
# The bounds of lists, by the address of the list.
positions = json.loads(FILE.read_text()) if FILE.exists() else {}
events = queue.Queue()


def is_valid(headers, body):
    """Checks the signature, over the bytes that arrived, and its time, which differs from the clock by five minutes at most."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    given = [each.encode() for each in headers.get("webhook-signature", "").split(" ")]
    right = [b"v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")) for secret in SECRETS]
    is_signed = any(hmac.compare_digest(one, other) for one in given for other in right)
    return is_signed and abs(time.time() - int(headers["webhook-timestamp"])) <= 300


def read(address, since):
    """Reads a list since its bound. Read its removals before, as the guide "Keeping a copy in step" shows."""
    query, bound = {"updated_since": since or ""}, None
    while query:
        with urlopen(Request(address + "?" + urlencode(query), headers=HEADERS)) as response:
            page = json.load(response)
        bound = bound or page["server_time"]
        for record in page["data"]:
            print(address, record.get("id", record.get("tenant_id")), flush=True)
        query = page["next_cursor"] and {"cursor": page["next_cursor"]}
    positions[address] = bound
    new_file = Path("positions.json.new")
    new_file.write_text(json.dumps(positions))
    new_file.replace(FILE)


def work():
    while True:
        event = events.get()
        address = event["url"].split("?")[0]
        bound = positions.get(address)
        try:
            if event["updated_since"] is None:
                read(address, None)
            # Otherwise the event is repeated, or its changes were already read.
            elif bound is None or bound < event["server_time"]:
                read(address, bound)
        except Exception:
            traceback.print_exc()
            # A minute is also the window of the rate limit.
            threading.Timer(60, events.put, [event]).start()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        valid = is_valid(self.headers, body)
        # A test has no url. The token is sent only to the service, at VOUCHER_GATEWAY_URL.
        if valid and json.loads(body).get("url", "").startswith(os.environ["VOUCHER_GATEWAY_URL"] + "/"):
            events.put(json.loads(body))
        self.send_response(204 if valid else 400)
        self.end_headers()


# First reads the lists that an earlier process left unread.
for address, bound in positions.items():
    events.put({"url": address, "updated_since": bound, "server_time": "9999"})
threading.Thread(target=work, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8091"))), Receiver).serve_forever()
