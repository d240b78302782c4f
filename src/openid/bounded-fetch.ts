/**
 * Fetches like `fetch`, but limits the size of the body, because a server may send a body without end. The returned
 * body is complete.
 *
 * @param maxBytes the maximum number of bytes of the body, decompressed
 * @throws Error when the body is longer; the errors of `fetch`
 */
export async function fetchBounded(maxBytes: number, ...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new Error(`The answer of ${response.url} has more than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return new Response(response.body && Buffer.concat(chunks), response)
}
