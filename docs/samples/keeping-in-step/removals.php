<?php
$query = 'query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}';

/** While the service refuses requests, waits the seconds of Retry-After, and at least one second. */
function ask(string $query, array $variables): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Content-Type: application/json'],
        'content' => json_encode(['query' => $query, 'variables' => $variables]),
        'ignore_errors' => true,
    ]]);
    while (true) {
        $text = file_get_contents(getenv('VOUCHER_GATEWAY_URL') . '/graphql', false, $context);
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

// The first argument is the bound: the time since which removals are read.
$variables = ['since' => $argv[1]];
do {
    $answer = ask($query, $variables);
    if (isset($answer['errors'])) {
        throw new RuntimeException(json_encode($answer['errors']));
    }
    $page = $answer['data']['tenant']['removals'];
    foreach ($page['nodes'] as $removal) {
        echo $removal['resource'], ' ', $removal['recordId'], ' ', $removal['reason'], "\n";
    }
    $variables['after'] = $page['nextCursor'];
} while ($page['nextCursor'] !== null);
