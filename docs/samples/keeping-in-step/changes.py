import json
import os
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

LIST = os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants/1/sales/purchased-vouchers"
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/json",
}
bound_file = Path("bound")

query = {"updated_since": bound_file.read_text().strip()} if bound_file.exists() else {}
next_bound = None
while True:
    with urlopen(Request(LIST + "?" + urlencode(query), headers=HEADERS)) as response:
        page = json.load(response)
    for voucher in page["data"]:
        print(voucher["id"], voucher["reference"], voucher.get("current_balance", "-"))
    next_bound = next_bound or page["server_time"]
    if page["next_cursor"] is None:
        break
    query = {"cursor": page["next_cursor"]}
bound_file.write_text(next_bound)
