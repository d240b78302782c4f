<?php
$context = stream_context_create(['http' => ['header' => [
    'Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'),
    'Accept: application/json',
]]]);
$text = file_get_contents(getenv('VOUCHER_GATEWAY_URL') . '/api/external/v1/tenants', false, $context);
$page = json_decode($text, true, flags: JSON_THROW_ON_ERROR);

foreach ($page['data'] as $tenant) {
    echo $tenant['tenant_id'], ' ', $tenant['name'], "\n";
}
