import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import type { Instant } from '../value/instant.ts'

/** A place in a list ordered by `updated_at`, then `id` (R15). */
export interface Position {
  /** The record's stamp; `-infinity` in a list with another order. */
  updatedAt: Instant
  id: number
}

/** The content of a cursor: the position of a record, and the lower bound of the list. */
export interface Cursor extends Position {
  updatedSince: Instant | null
  /** For a list in another order, the text of the value that orders it; null for a record without a value. */
  key?: string | null
  /** For a bulk export, the stamp up to which it has records. */
  until?: Instant | null
}

/** A list that cursors belong to: its name and its tenant. The list of tenants has no tenant. */
export interface ListIdentity {
  name: string
  tenantId?: number
}

export type CursorCipher = ReturnType<typeof createCursorCipher>

const algorithm = 'aes-256-gcm'
const version = 1
const nonceLength = 12
const tagLength = 16

/** The longest text that is decrypted, in characters. A field below a list decrypts its argument for each record. */
const maxCursorLength = 1_000

/** Random bytes for many nonces: a call for random bytes costs more than the encryption of a cursor. */
const random = Buffer.alloc(256 * nonceLength)
let used = random.length

function createNonce(): Buffer {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  used += nonceLength
  return random.subarray(used - nonceLength, used)
}

/**
 * Creates the cipher that encrypts positions into cursors and decrypts them (R10). Cursors are AES-256-GCM: version (1
 * byte), nonce (12), encrypted text, tag (16), in base64url. Their list is authenticated data, so a cursor of another
 * list or tenant is rejected like an altered one.
 *
 * @param key 32 bytes, the same in every instance
 */
export function createCursorCipher(key: Buffer) {
  const boundTo = ({ name, tenantId = 0 }: ListIdentity) => Buffer.from(`${version}:${name}:${tenantId}`)
  return {
    /** Returns the cursor as text that a URL need not escape. */
    encrypt(list: ListIdentity, cursor: Cursor): string {
      const nonce = createNonce()
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(boundTo(list))
      const parts = [cursor.updatedAt, cursor.id, cursor.updatedSince, cursor.until]
      // The key comes last, because it may contain the separator. `=` marks a key, which may be empty.
      if (cursor.key != null) parts.push(`=${Buffer.from(cursor.key).toString('latin1')}`)
      const text = parts.join('|')
      const encrypted = [cipher.update(text, 'latin1'), cipher.final()]
      return Buffer.concat([Buffer.of(version), nonce, ...encrypted, cipher.getAuthTag()]).toString('base64url')
    },
    /** Returns the content of a cursor; null for a text that is altered, or a cursor of another list or tenant. */
    decrypt(list: ListIdentity, text: string): Cursor | null {
      if (text.length > maxCursorLength) return null
      const bytes = Buffer.from(text, 'base64url')
      // Decoding is lenient (other alphabets, unused bits): only the canonical text is a cursor.
      if (bytes.toString('base64url') !== text) return null
      if (bytes.length <= 1 + nonceLength + tagLength || bytes[0] !== version) return null
      const nonce = bytes.subarray(1, 1 + nonceLength)
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagLength })
        .setAAD(boundTo(list))
        .setAuthTag(bytes.subarray(-tagLength))
      try {
        const decrypted = Buffer.concat([
          decipher.update(bytes.subarray(1 + nonceLength, -tagLength)),
          decipher.final(),
        ])
        const [updatedAt = '', id = '', updatedSince, until, ...rest] = decrypted.toString('latin1').split('|')
        const cursor = { updatedAt, id: Number(id), updatedSince: updatedSince || null, until: until || null }
        const key = rest.length > 0 ? Buffer.from(rest.join('|').slice(1), 'latin1').toString() : null
        return { ...cursor, key }
      } catch {
        return null
      }
    },
  }
}
