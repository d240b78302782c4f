import json
import os
import re
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

QUERY = """query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}"""
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Content-Type": "application/json",
}


def ask(variables):
    """While the service refuses requests, waits the seconds of Retry-After, and at least one second."""
    body = json.dumps({"query": QUERY, "variables": variables}).encode()
    request = Request(os.environ["VOUCHER_GATEWAY_URL"] + "/graphql", data=body, headers=HEADERS)
    while True:
        try:
            with urlopen(request) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise
            seconds = re.fullmatch(r"\d{1,4}", error.headers.get("Retry-After", ""))
            time.sleep(max(1, int(seconds[0]) if seconds else 1))


# The first argument is the bound: the time since which removals are read.
variables = {"since": sys.argv[1]}
while True:
    answer = ask(variables)
    if "errors" in answer:
        sys.exit(json.dumps(answer["errors"]))
    page = answer["data"]["tenant"]["removals"]
    for removal in page["nodes"]:
        print(removal["resource"], removal["recordId"], removal["reason"])
    if page["nextCursor"] is None:
        break
    variables["after"] = page["nextCursor"]
