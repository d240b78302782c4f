<?php
$list = getenv('VOUCHER_GATEWAY_URL') . '/api/external/v1/tenants/1/sales/purchased-vouchers';
$context = stream_context_create(['http' => ['header' => [
    'Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'),
    'Accept: application/json',
]]]);

$query = file_exists('bound') ? ['updated_since' => trim(file_get_contents('bound'))] : [];
$nextBound = null;
do {
    $text = file_get_contents($list . '?' . http_build_query($query), false, $context);
    $page = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    foreach ($page['data'] as $voucher) {
        echo $voucher['id'], ' ', $voucher['reference'], ' ', $voucher['current_balance'] ?? '-', "\n";
    }
    $nextBound ??= $page['server_time'];
    $query = ['cursor' => $page['next_cursor']];
} while ($page['next_cursor'] !== null);
file_put_contents('bound', $nextBound);
