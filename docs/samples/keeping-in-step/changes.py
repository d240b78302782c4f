import json
import os
import re
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

LIST = os.environ["VOUCHER_GATEWAY_URL"] + "/api/external/v1/tenants/1/sales/purchased-vouchers"
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHER_GATEWAY_TOKEN"],
    "Accept": "application/json",
}


def get(query):
    """While the service refuses requests, waits the seconds of Retry-After, and at least one second."""
    request = Request(LIST + "?" + urlencode(query), headers=HEADERS)
    while True:
        try:
            with urlopen(request) as response:
                return json.load(response)
        except HTTPError as error:
            if error.code not in (429, 502, 503, 504):
                raise
            seconds = re.fullmatch(r"\d{1,4}", error.headers.get("Retry-After", ""))
            time.sleep(max(1, int(seconds[0]) if seconds else 1))


# The copy: the vouchers by id, the bound, and the cursor while a round has not ended.
copy_file = Path("copy.json")
copy = json.loads(copy_file.read_text()) if copy_file.exists() else {"bound": "", "cursor": None, "vouchers": {}}
while True:
    page = get({"cursor": copy["cursor"]} if copy["cursor"] else {"updated_since": copy["bound"]})
    if copy["cursor"] is None:
        copy["bound"] = page["server_time"]
    copy["cursor"] = page["next_cursor"]
    for voucher in page["data"]:
        copy["vouchers"][str(voucher["id"])] = voucher
    # Replaces the file: the records, the cursor and the bound are stored in one step.
    new_file = Path("copy.json.new")
    new_file.write_text(json.dumps(copy))
    new_file.replace(copy_file)
    for voucher in page["data"]:
        print(voucher["id"], voucher["reference"], voucher.get("current_balance", "-"))
    if copy["cursor"] is None:
        break
