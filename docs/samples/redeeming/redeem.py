import json
import os
import re
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import psycopg2

# ISSUER is the address of the gateway. A platform with several tills takes the tenant from the sign-in of the till.
ISSUER = os.environ["ISSUER"]
TENANT_ID = int(os.environ["TENANT_ID"])
KEYS = jwt.PyJWKClient(ISSUER + "/.well-known/jwks.json")


class Refusal(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def check_token(token):
    try:
        key = KEYS.get_signing_key_from_jwt(token).key
        options = {"require": ["exp", "jti", "sub"]}
        # The clocks of the gateway and of this machine may differ by some seconds.
        claims = jwt.decode(token, key, ["ES256"], options, issuer=ISSUER, audience="redemption", leeway=10)
    except jwt.ExpiredSignatureError:
        raise Refusal(401, "The resolution is too old. Resolve the voucher again.")
    except (jwt.InvalidTokenError, jwt.PyJWKClientError) as error:
        # The key set cannot be read. This is not a fault of the token.
        if isinstance(error.__context__, OSError):
            raise
        raise Refusal(401, "The token is not valid. Resolve the voucher again.")
    if claims["tenant_id"] != TENANT_ID:
        raise Refusal(401, "The token is for another tenant.")
    return claims


def redeem(token, amount):
    """Redeems an amount; None: all that is left. Everything is in one transaction, so a refusal leaves the token unused."""
    if amount is not None and not re.fullmatch(r"(?!0*\.?0*$)\d{1,9}(\.\d{1,2})?", amount):
        raise Refusal(422, "The amount is not valid.")
    claims = check_token(token)
    values = {"jti": claims["jti"], "voucher": claims["sub"], "owner": claims["owner_id"], "amount": amount}
    # Connects with PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does. The block commits, or rolls back.
    with psycopg2.connect("") as connection, connection.cursor() as cursor:
        cursor.execute(
            """insert into redemption (jti, voucher_id, amount) values (%(jti)s, %(voucher)s, %(amount)s)
               on conflict do nothing""",
            values,
        )
        if cursor.rowcount == 0:
            raise Refusal(409, "The token was used before.")
        cursor.execute(
            """select case
                 when void then 'The voucher was made void.'
                 when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'Nothing is left on the voucher.'
                 when today < date_valid_start or today > date_valid_end then 'The voucher is not valid today.'
                 when %(amount)s::numeric > coalesce(current_balance, 0) then 'Less than that is left on the voucher.'
                 when %(amount)s::numeric < current_balance and not allow_part_redeem
                 then 'The voucher is redeemed as a whole only.' end
               from purchased_voucher voucher join tenant on tenant.id = tenant_id
               cross join lateral (select (now() at time zone time_zone)::date as today) clock
               where voucher.id = %(voucher)s and tenant_id = %(owner)s for update of voucher""",
            values,
        )
        (problem,) = cursor.fetchone() or ("The voucher is gone.",)
        if problem:
            raise Refusal(409, problem)
        cursor.execute(
            """update purchased_voucher set current_balance = current_balance - coalesce(%(amount)s::numeric, current_balance),
                 redemption_status = case when %(amount)s::numeric < current_balance then 'partially_redeemed' else 'redeemed' end
               where id = %(voucher)s returning reference, current_balance::float8, currency""",
            values,
        )
        return dict(zip(("reference", "current_balance", "currency"), cursor.fetchone()))


class Platform(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            if self.path != "/redeem":
                raise Refusal(404, "Send POST /redeem.")
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            amount = body.get("amount")
            status, answer = 200, redeem(str(body.get("redemption_token")), None if amount is None else str(amount))
        except Refusal as refusal:
            status, answer = refusal.status, {"message": refusal.message}
        except Exception:
            traceback.print_exc()
            status, answer = 500, {"message": "Try again."}
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


with psycopg2.connect("") as connection, connection.cursor() as cursor:
    cursor.execute(
        """create table if not exists redemption (
             jti text primary key, voucher_id bigint not null, amount numeric, redeemed_at timestamptz not null default now())"""
    )
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8090"))), Platform).serve_forever()
