<?php
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
        if ($status === 429 || $status === 503) {
            preg_match('/^Retry-After: (\d+)/im', $headers, $match);
            sleep((int) $match[1]);
            continue;
        }
        if ($status !== 200) {
            throw new RuntimeException($text);
        }
        return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    }
}

$page = get('/api/external/v1/tenants/1/sales/purchased-vouchers');
foreach ($page['data'] as $voucher) {
    echo $voucher['reference'], "\n";
}
