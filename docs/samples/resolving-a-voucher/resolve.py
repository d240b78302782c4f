import json
import os
from urllib.request import Request, urlopen

request = Request(
    os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants/1/redemptions/resolve",
    data=json.dumps({"voucher_reference": "GIFT-LMAD-KFNK"}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
        "Accept": "application/json",
        "Content-Type": "application/json",
    },
)
with urlopen(request) as response:
    resolution = json.load(response)["data"]

voucher = resolution["voucher"]
if resolution["status"] == "redeemable":
    print(voucher["reference"], voucher.get("current_balance", "-"), voucher.get("currency", "-"))
else:
    print(voucher["reference"], resolution["reason_code"])
