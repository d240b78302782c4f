import json
import os
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def get(path):
    request = Request(
        os.environ["VOUCHER_GATEWAY_URL"] + path,
        headers={
            "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
            "Accept": "application/json",
        },
    )
    while True:
        try:
            with urlopen(request) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (429, 503):
                raise
            time.sleep(int(error.headers["Retry-After"]))


page = get("/api/external/v1/tenants/1/sales/purchased-vouchers")
for voucher in page["data"]:
    print(voucher["reference"])
