import json
import os
import sys
from urllib.request import Request, urlopen

QUERY = """query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}"""
# The first argument is the bound: the time since which removals are read.
variables = {"since": sys.argv[1]}
while True:
    request = Request(
        os.environ["VOUCHER_GATEWAY_URL"] + "/graphql",
        data=json.dumps({"query": QUERY, "variables": variables}).encode(),
        headers={
            "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
            "Content-Type": "application/json",
        },
    )
    with urlopen(request) as response:
        answer = json.load(response)
    if "errors" in answer:
        sys.exit(json.dumps(answer["errors"]))
    page = answer["data"]["tenant"]["removals"]
    for removal in page["nodes"]:
        print(removal["resource"], removal["recordId"], removal["reason"])
    if page["nextCursor"] is None:
        break
    variables["after"] = page["nextCursor"]
