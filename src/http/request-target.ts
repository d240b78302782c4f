/**
 * The target of a request, in a form that the router can always read, so that no request is refused before its
 * token is looked at (R1, R8). In a path whose escapes cannot be decoded, each `%` stands for itself.
 *
 * @param url the target as it stands in the request line: a path, an absolute URL, or anything else
 */
export function routableTarget(url: string): string {
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
