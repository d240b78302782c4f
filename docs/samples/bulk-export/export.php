<?php
$export = getenv('VOUCHER_GATEWAY_URL') . '/api/external/export/v1/tenants/1/purchased-vouchers';
$context = stream_context_create(['http' => [
    'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Accept: application/x-ndjson'],
    'ignore_errors' => true,
]]);

$copy = fopen('vouchers.ndjson', 'w');
$bound = $cursor = null;
$isWhole = false;
while (!$isWhole) {
    $query = $cursor === null ? '' : '?' . http_build_query(['cursor' => $cursor]);
    $stream = @fopen($export . $query, 'r', false, $context);
    if ($stream === false) {
        // There was no connection.
        sleep(1);
        continue;
    }
    $headers = implode("\n", $http_response_header);
    $status = (int) explode(' ', $headers)[1];
    if (in_array($status, [429, 502, 503, 504])) {
        preg_match('/^Retry-After: *(\d{1,4})$/im', $headers, $match);
        sleep(max(1, (int) ($match[1] ?? 1)));
        continue;
    }
    if ($status !== 200) {
        throw new RuntimeException(stream_get_contents($stream));
    }
    // An incomplete line ends the loop. The next request continues after the last cursor.
    while (($text = fgets($stream)) !== false && ($line = json_decode($text, true)) !== null) {
        if (isset($line['id'])) {
            fwrite($copy, $text);
        } elseif (isset($line['cursor'])) {
            $cursor = $line['cursor'];
        } elseif (isset($line['end'])) {
            $isWhole = true;
        } else {
            $bound ??= $line['server_time'];
        }
    }
    fclose($stream);
    if (!$isWhole) {
        sleep(1);
    }
}
echo "next bound $bound\n";
