<?php
// Run it with: php -S 127.0.0.1:8090 redeem.php
// ISSUER is the address of the gateway. A platform with several tills takes the tenant from the sign-in of the till.

// An answer is JSON: warnings and errors go to the log.
ini_set('display_errors', '0');

class Refusal extends Exception
{
}

$decode = fn(string $text): string => base64_decode(strtr($text, '-_', '+/'));

/** Returns the PEM of a key of the key set. Before the point, the 26 bytes say: a public key of the curve P-256. */
$toPem = fn(array $key): string => "-----BEGIN PUBLIC KEY-----\n" . chunk_split(base64_encode(
    hex2bin('3059301306072a8648ce3d020106082a8648ce3d030107034200') . "\x04" . $decode($key['x']) . $decode($key['y'])
), 64, "\n") . "-----END PUBLIC KEY-----\n";

/** Returns the half of a signature as an integer of ASN.1, which OpenSSL reads. */
$toInteger = function (string $half): string {
    $bytes = ltrim($half, "\0");
    $bytes = ($bytes === '' || ord($bytes[0]) > 127 ? "\0" : '') . $bytes;
    return "\x02" . chr(strlen($bytes)) . $bytes;
};

$checkToken = function (string $token) use ($decode, $toPem, $toInteger): array {
    $invalid = new Refusal('The token is not valid. Resolve the voucher again.', 401);
    [$header, $payload, $signature] = explode('.', "$token..");
    ['alg' => $algorithm, 'kid' => $kid] = (json_decode($decode($header), true) ?: []) + ['alg' => '', 'kid' => ''];
    // Keep the keys for the seconds of max-age, and read them again when a token names a key that you do not have.
    $keys = json_decode(file_get_contents(getenv('ISSUER') . '/.well-known/jwks.json'), true)['keys'];
    $key = array_column($keys, null, 'kid')[$kid] ?? throw $invalid;
    $pair = $decode($signature);
    if ($algorithm !== 'ES256' || strlen($pair) !== 64) {
        throw $invalid;
    }
    $integers = $toInteger(substr($pair, 0, 32)) . $toInteger(substr($pair, 32));
    $asn1 = "\x30" . chr(strlen($integers)) . $integers;
    if (openssl_verify("$header.$payload", $asn1, $toPem($key), OPENSSL_ALGO_SHA256) !== 1) {
        throw $invalid;
    }
    $claims = json_decode($decode($payload), true);
    if ($claims['iss'] !== getenv('ISSUER') || $claims['aud'] !== 'redemption') {
        throw $invalid;
    }
    if ($claims['exp'] <= time()) {
        throw new Refusal('The resolution is too old. Resolve the voucher again.', 401);
    }
    if ($claims['tenant_id'] !== (int) getenv('TENANT_ID')) {
        throw new Refusal('The token is for another tenant.', 401);
    }
    return $claims;
};

/** Redeems an amount. Null redeems the whole balance. A refusal rolls the transaction back: the token stays unused. */
$redeem = function (string $token, ?string $amount) use ($checkToken): array {
    if ($amount !== null && !preg_match('/^(?!0*\.?0*$)\d{1,9}(\.\d{1,2})?$/D', $amount)) {
        throw new Refusal('The amount is not valid.', 422);
    }
    $claims = $checkToken($token);
    // Connects with PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does.
    $database = new PDO('pgsql:');
    $run = function (string $text, array $values) use ($database): PDOStatement {
        $statement = $database->prepare($text);
        $statement->execute($values);
        return $statement;
    };
    $database->exec('create table if not exists redemption (
        jti text primary key, voucher_id bigint not null, amount numeric, redeemed_at timestamptz not null default now())');
    $database->beginTransaction();
    $used = $run('insert into redemption (jti, voucher_id, amount) values (?, ?, ?) on conflict do nothing',
        [$claims['jti'], $claims['sub'], $amount]);
    if ($used->rowCount() === 0) {
        throw new Refusal('The token was used before.', 409);
    }
    $voucher = $run("select case
            when void then 'The voucher was made void.'
            when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'Nothing is left on the voucher.'
            when today < date_valid_start or today > date_valid_end then 'The voucher is not valid today.'
            when amount > coalesce(current_balance, 0) then 'Less than that is left on the voucher.'
            when amount < current_balance and not allow_part_redeem then 'The voucher is redeemed as a whole only.'
        end as problem
        from purchased_voucher voucher join tenant on tenant.id = tenant_id
        cross join lateral (select (now() at time zone time_zone)::date as today, ?::numeric as amount) given
        where voucher.id = ? and tenant_id = ? for update of voucher",
        [$amount, $claims['sub'], $claims['owner_id']])->fetch(PDO::FETCH_ASSOC);
    if (!$voucher || $voucher['problem'] !== null) {
        throw new Refusal($voucher['problem'] ?? 'The voucher is gone.', 409);
    }
    $redeemed = $run("update purchased_voucher set current_balance = current_balance - coalesce(given.amount, current_balance),
            redemption_status = case when given.amount < current_balance then 'partially_redeemed' else 'redeemed' end
        from (select ?::numeric as amount) given
        where id = ? returning reference, current_balance::float8, currency",
        [$amount, $claims['sub']])->fetch(PDO::FETCH_ASSOC);
    $database->commit();
    $balance = $redeemed['current_balance'];
    return ['current_balance' => $balance === null ? null : (float) $balance] + $redeemed;
};

try {
    if ($_SERVER['REQUEST_METHOD'] !== 'POST' || $_SERVER['REQUEST_URI'] !== '/redeem') {
        throw new Refusal('Send POST /redeem.', 404);
    }
    $body = json_decode(file_get_contents('php://input'), true);
    $amount = $body['amount'] ?? null;
    $answer = $redeem((string) ($body['redemption_token'] ?? ''), $amount === null ? null : (string) $amount);
} catch (Refusal $refusal) {
    http_response_code($refusal->getCode());
    $answer = ['message' => $refusal->getMessage()];
} catch (Throwable $error) {
    error_log((string) $error);
    http_response_code(500);
    $answer = ['message' => 'Try again.'];
}
header('Content-Type: application/json');
echo json_encode($answer);
