<?php
$context = stream_context_create(['http' => [
    'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Accept: application/json'],
    'ignore_errors' => true, // returns the body of an error too
]]);
$address = getenv('VOUCHER_GATEWAY_URL') . '/api/external/v1/tenants?updated_since=yesterday';
$body = json_decode(file_get_contents($address, false, $context), true, flags: JSON_THROW_ON_ERROR);
$status = (int) explode(' ', $http_response_header[0])[1];

if ($status === 200) {
    print_r($body['data']);
} else {
    echo $status, ' ', $body['message'], "\n";
    foreach ($body['errors'] ?? [] as $field => $messages) {
        echo $field, ' ', implode(' ', $messages), "\n";
    }
    foreach ($http_response_header as $line) {
        if (stripos($line, 'X-Request-Id: ') === 0) {
            echo 'request ', substr($line, 14), "\n";
        }
    }
}
