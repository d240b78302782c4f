<?php
$query = 'query Sales($tenant: ID!, $period: PeriodInput!) {
  tenant(id: $tenant) {
    figures(period: $period, by: MONTH, withDescendants: true) {
      periods { from sales { currency vouchers paid } }
    }
  }
}';
$variables = ['tenant' => 1, 'period' => ['from' => '2026-09-01', 'to' => '2026-10-31']];

$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'),
        'Content-Type: application/json',
    ],
    'content' => json_encode(['query' => $query, 'variables' => $variables]),
]]);
$text = file_get_contents(getenv('VOUCHER_GATEWAY_URL') . '/graphql', false, $context);
$answer = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
if (isset($answer['errors'])) {
    throw new RuntimeException($text);
}

foreach ($answer['data']['tenant']['figures']['periods'] as $period) {
    foreach ($period['sales'] as $sales) {
        echo $period['from'], ' ', $sales['currency'], ' ', $sales['vouchers'], ' ', $sales['paid'], "\n";
    }
}
