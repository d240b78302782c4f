/**
 * Returns the request target (RFC 9112 §3.2) in a form that the router can always parse, so that the token is checked
 * before the path (R1, R8). In a path with invalid percent-encoding each `%` is taken literally.
 *
 * @param url the target in the request line: a path, an absolute URL, or any other text
 */
export function toRoutableTarget(url: string): string {
  if (url.startsWith('/') && !url.includes('%')) return url
  const target = url.replace(/^(https?:\/\/[^/?#]*)?\/?/i, '/')
  const [path = ''] = target.split(/[?#]/, 1)
  try {
    decodeURI(path)
    return target
  } catch {
    return path.replaceAll('%', '%25') + target.slice(path.length)
  }
}
