<?php
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'),
        'Accept: application/json',
        'Content-Type: application/json',
    ],
    'content' => json_encode(['voucher_reference' => 'GIFT-LMAD-KFNK']),
]]);
$address = getenv('VOUCHER_GATEWAY_URL') . '/api/external/v1/tenants/1/redemptions/resolve';
$text = file_get_contents($address, false, $context);
['data' => $resolution] = json_decode($text, true, flags: JSON_THROW_ON_ERROR);

$voucher = $resolution['voucher'];
if ($resolution['status'] === 'redeemable') {
    echo $voucher['reference'], ' ', $voucher['current_balance'] ?? '-', ' ', $voucher['currency'] ?? '-', "\n";
} else {
    echo "$voucher[reference] $resolution[reason_code]\n";
}
