import json
import os
from urllib.request import Request, urlopen

QUERY = """query Sales($tenant: ID!, $period: PeriodInput!) {
  tenant(id: $tenant) {
    figures(period: $period, by: MONTH, withDescendants: true) {
      periods { from sales { currency vouchers paid } }
    }
  }
}"""
VARIABLES = {"tenant": 1, "period": {"from": "2026-09-01", "to": "2026-10-31"}}

request = Request(
    os.environ["VOUCHER_GATEWAY_URL"] + "/graphql",
    data=json.dumps({"query": QUERY, "variables": VARIABLES}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
        "Content-Type": "application/json",
    },
)
with urlopen(request) as response:
    answer = json.load(response)
if "errors" in answer:
    raise RuntimeError(answer["errors"])

for period in answer["data"]["tenant"]["figures"]["periods"]:
    for sales in period["sales"]:
        print(period["from"], sales["currency"], sales["vouchers"], sales["paid"])
