<?php
$query = 'query Removed($since: DateTime!, $after: String) {
  tenant(id: 1) {
    removals(updatedSince: $since, after: $after) {
      nodes { resource recordId reason } nextCursor serverTime epoch
    }
  }
}';
// The first argument is the bound: the time since which removals are read.
$variables = ['since' => $argv[1]];
do {
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['Authorization: Bearer ' . getenv('VOUCHER_GATEWAY_TOKEN'), 'Content-Type: application/json'],
        'content' => json_encode(['query' => $query, 'variables' => $variables]),
    ]]);
    $text = file_get_contents(getenv('VOUCHER_GATEWAY_URL') . '/graphql', false, $context);
    $answer = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    if (isset($answer['errors'])) {
        throw new RuntimeException(json_encode($answer['errors']));
    }
    $page = $answer['data']['tenant']['removals'];
    foreach ($page['nodes'] as $removal) {
        echo $removal['resource'], ' ', $removal['recordId'], ' ', $removal['reason'], "\n";
    }
    $variables['after'] = $page['nextCursor'];
} while ($page['nextCursor'] !== null);
