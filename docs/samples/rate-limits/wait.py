import json
import os
import re
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/json",
}


def get(path):
    """While the service refuses requests, waits the seconds of Retry-After, and at least one second."""
    request = Request(os.environ["VOUCHER_GATEWAY_URL"] + path, headers=HEADERS)
    while True:
        try:
            with urlopen(request) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise
            seconds = re.fullmatch(r"\d{1,4}", error.headers.get("Retry-After", ""))
            time.sleep(max(1, int(seconds[0]) if seconds else 1))


page = get("/api/external/v1/tenants/1/sales/purchased-vouchers")
for voucher in page["data"]:
    print(voucher["reference"])
