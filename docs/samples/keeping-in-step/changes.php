<?php
/** While the service refuses requests, waits the seconds of Retry-After, and at least one second. */
function get(array $query): array
{
    $list = getenv('VOUCHER_GATEWAY_URL') . '/api/external/v1/tenants/1/sales/purchased-vouchers';
    $context = stream_context_create(['http' => [
        'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Accept: application/json'],
        'ignore_errors' => true,
    ]]);
    while (true) {
        $text = file_get_contents($list . '?' . http_build_query($query), false, $context);
        $headers = implode("\n", $http_response_header);
        $status = (int) explode(' ', $headers)[1];
        if ($status === 200) {
            return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
        }
        if (!in_array($status, [429, 502, 503, 504])) {
            throw new RuntimeException($text);
        }
        preg_match('/^Retry-After: *(\d{1,4})$/im', $headers, $match);
        sleep(max(1, (int) ($match[1] ?? 1)));
    }
}

// The copy: the vouchers by id, the bound, and the cursor while a round has not ended.
$copy = file_exists('copy.json')
    ? json_decode(file_get_contents('copy.json'), true, flags: JSON_THROW_ON_ERROR)
    : ['bound' => '', 'cursor' => null, 'vouchers' => []];
do {
    $page = get($copy['cursor'] === null ? ['updated_since' => $copy['bound']] : ['cursor' => $copy['cursor']]);
    if ($copy['cursor'] === null) {
        $copy['bound'] = $page['server_time'];
    }
    $copy['cursor'] = $page['next_cursor'];
    foreach ($page['data'] as $voucher) {
        $copy['vouchers'][$voucher['id']] = $voucher;
    }
    // Replaces the file: the records, the cursor and the bound are stored in one step.
    file_put_contents('copy.json.new', json_encode($copy));
    rename('copy.json.new', 'copy.json');
    foreach ($page['data'] as $voucher) {
        echo $voucher['id'], ' ', $voucher['reference'], ' ', $voucher['current_balance'] ?? '-', "\n";
    }
} while ($copy['cursor'] !== null);
