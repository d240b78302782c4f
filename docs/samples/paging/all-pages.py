import json
import os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

LIST = os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants/1/sales/purchased-vouchers"
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/json",
}

query = {}
while True:
    with urlopen(Request(LIST + "?" + urlencode(query), headers=HEADERS)) as response:
        page = json.load(response)
    for voucher in page["data"]:
        print(voucher["id"], voucher["reference"])
    if page["next_cursor"] is None:
        break
    query = {"cursor": page["next_cursor"]}
