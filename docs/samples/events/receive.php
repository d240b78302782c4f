<?php
// The receiver stores events:   php -S 127.0.0.1:8091 receive.php
// The worker reads their lists: php receive.php

// The waiting events, one file per event, and the bounds of lists, by the address of the list.
[$folder, $file] = [getcwd() . '/events', getcwd() . '/positions.json'];
is_dir($folder) || @mkdir($folder);

/** Checks the signature, over the bytes that arrived, and its time, which differs from the clock by five minutes at most. */
function isValid(string $id, string $time, string $signatures, string $body): bool
{
    // While a secret is rotated, WEBHOOK_SECRET has both, separated by a space.
    foreach (explode(' ', getenv('WEBHOOK_SECRET')) as $secret) {
        $key = base64_decode(substr($secret, strlen('whsec_')));
        $right = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
        foreach (explode(' ', $signatures) as $given) {
            if (hash_equals($right, $given)) {
                return abs(time() - (int) $time) <= 300;
            }
        }
    }
    return false;
}

/** Reads a list since its bound. Read its removals before, as the guide "Keeping a copy in step" shows. */
function read(string $address, ?string $since): string
{
    $header = ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Accept: application/json'];
    $context = stream_context_create(['http' => ['header' => $header]]);
    for ($query = ['updated_since' => $since]; $query !== null; ) {
        $text = file_get_contents($address . '?' . http_build_query($query), false, $context);
        $page = json_decode((string) $text, true, flags: JSON_THROW_ON_ERROR);
        $bound ??= $page['server_time'];
        foreach ($page['data'] as $record) {
            echo $address, ' ', $record['id'] ?? $record['tenant_id'], "\n";
        }
        $query = $page['next_cursor'] === null ? null : ['cursor' => $page['next_cursor']];
    }
    return $bound;
}

if (PHP_SAPI !== 'cli') {
    $body = file_get_contents('php://input');
    [$id, $time, $signatures] = array_map(fn($name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '', ['ID', 'TIMESTAMP', 'SIGNATURE']);
    $valid = isValid($id, $time, $signatures, $body);
    // A test has no url. The token is sent only to the service, at VOUCHER_GATEWAY_URL.
    if ($valid && str_starts_with(json_decode($body, true)['url'] ?? '', getenv('VOUCHER_GATEWAY_URL') . '/')) {
        // A repeated event has the same id, and so the same file.
        $new = tempnam($folder, 'new');
        file_put_contents($new, $body);
        rename($new, "$folder/" . sha1($id) . '.json');
    }
    http_response_code($valid ? 204 : 400);
    exit;
}

for (; ; usleep(200_000)) {
    foreach (glob("$folder/*.json") as $waiting) {
        $event = json_decode(file_get_contents($waiting), true);
        $positions = file_exists($file) ? json_decode(file_get_contents($file), true) : [];
        $address = explode('?', $event['url'])[0];
        $bound = $event['updated_since'] === null ? null : $positions[$address] ?? null;
        // Otherwise the changes were already read.
        if ($bound === null || $bound < $event['server_time']) {
            try {
                file_put_contents("$file.new", json_encode([$address => read($address, $bound)] + $positions));
            } catch (JsonException) {
                // The list could not be read. A minute is also the window of the rate limit.
                sleep(60);
                continue;
            }
            rename("$file.new", $file);
        }
        unlink($waiting);
    }
}
