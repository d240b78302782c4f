import { createHash } from 'node:crypto'

/** Returns the `ETag` of a content. It is weak, because all content codings have the same `ETag` (RFC 9110 §8.8.3). */
export const etagOf = (content: Buffer): string => `W/"${createHash('sha256').update(content).digest('base64url')}"`

/** Returns whether `If-None-Match` names the tag; tags are compared weakly (RFC 9110 §13.1.2). */
export const namesEtag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some(part => part.trim() === '*' || part.trim().replace('W/', '') === etag.replace('W/', '')) ??
  false
