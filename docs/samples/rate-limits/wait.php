<?php
/** While the service refuses requests, waits the seconds of Retry-After, and at least one second. */
function get(string $path): array
{
    $context = stream_context_create(['http' => [
        'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Accept: application/json'],
        'ignore_errors' => true,
    ]]);
    while (true) {
        $text = file_get_contents(getenv('VOUCHER_GATEWAY_URL') . $path, false, $context);
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

$page = get('/api/external/v1/tenants/1/sales/purchased-vouchers');
foreach ($page['data'] as $voucher) {
    echo $voucher['reference'], "\n";
}
