import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import type { Instant } from '../value/instant.ts'

/** A position in a list that is ordered by `updated_at`, then `id` (R15). */
export interface Position {
  /** The stamp of the record at the position; `-infinity` in a list with another order. */
  updatedAt: Instant
  id: number
}

/** The content of a cursor: the position of a record, and the bounds of the list. */
export interface Cursor extends Position {
  updatedSince: Instant | null
  /**
   * Only in a list with another order: the record's value in that order, as text; null for a record without a value.
   */
  key?: string | null
  /** Only in a bulk export: the latest stamp of the records that the export has. */
  until?: Instant | null
}

/** Identifies the list of a cursor: the name of the list, and the tenant. The list of tenants has no `tenantId`. */
export interface ListIdentity {
  name: string
  tenantId?: number
}

export type CursorCipher = ReturnType<typeof createCursorCipher>

const algorithm = 'aes-256-gcm'
const version = 1
const nonceLength = 12
const tagLength = 16

/**
 * The maximum length of a text that is decrypted, in characters. The limit is low, because a field below a list
 * decrypts its argument for each record.
 */
const maxCursorLength = 1_000

/** Random bytes for 256 nonces, because a call for random bytes takes longer than the encryption of a cursor. */
const nonceBytes = Buffer.alloc(256 * nonceLength)
let usedNonceBytes = nonceBytes.length

function createNonce(): Buffer {
  if (usedNonceBytes === nonceBytes.length) {
    randomFillSync(nonceBytes)
    usedNonceBytes = 0
  }
  usedNonceBytes += nonceLength
  return nonceBytes.subarray(usedNonceBytes - nonceLength, usedNonceBytes)
}

/**
 * Creates the cipher that encrypts positions into cursors and decrypts them (R10). A cursor is encrypted with
 * AES-256-GCM: version (1 byte), nonce (12), encrypted text, tag (16), in base64url. The identity of the list is
 * additional authenticated data, so a cursor of another list or tenant is rejected like an altered cursor.
 *
 * @param key 32 bytes, the same in every instance
 */
export function createCursorCipher(key: Buffer) {
  const boundTo = ({ name, tenantId = 0 }: ListIdentity) => Buffer.from(`${version}:${name}:${tenantId}`)
  return {
    /** Returns the cursor as a text that needs no escapes in a URL. */
    encrypt(list: ListIdentity, cursor: Cursor): string {
      const nonce = createNonce()
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(boundTo(list))
      const parts = [cursor.updatedAt, cursor.id, cursor.updatedSince, cursor.until]
      // The key is the last part of the text, because the key may contain the separator. `=` marks a key, which may be
      // empty.
      if (cursor.key != null) parts.push(`=${Buffer.from(cursor.key).toString('latin1')}`)
      const text = parts.join('|')
      const encrypted = [cipher.update(text, 'latin1'), cipher.final()]
      return Buffer.concat([Buffer.of(version), nonce, ...encrypted, cipher.getAuthTag()]).toString('base64url')
    },
    /** Returns the content of a cursor; null for an altered text, and for a cursor of another list or tenant. */
    decrypt(list: ListIdentity, text: string): Cursor | null {
      if (text.length > maxCursorLength) return null
      const bytes = Buffer.from(text, 'base64url')
      // `Buffer.from` also accepts other alphabets and unused bits. Only the canonical text is a cursor.
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
