/** A record's place in a list. A contender's cursor holds the place of a page's last record, encoded but not encrypted. */
export interface Place {
  updatedAt: string
  id: number
}

export const writeCursor = ({ updatedAt, id }: Place): string =>
  Buffer.from(`${updatedAt}|${id}`, 'latin1').toString('base64url')

/**
 * @returns the place after which a page begins: the place in the cursor; without a cursor, the place before all records
 * with that `updated_at`
 */
export function readStart(cursor: string | null | undefined, updatedSince: string | null | undefined): Place {
  if (!cursor) return { updatedAt: updatedSince || '-infinity', id: 0 }
  const [updatedAt = '', id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('|')
  return { updatedAt, id: Number(id) }
}
