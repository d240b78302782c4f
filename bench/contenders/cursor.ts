/** A place in a list, and how a contender writes it: readable for whoever decodes it. */
export interface Place {
  updatedAt: string
  id: number
}

export const writeCursor = ({ updatedAt, id }: Place): string =>
  Buffer.from(`${updatedAt}|${id}`, 'latin1').toString('base64url')

/** @returns after which place a page begins, of a cursor or of a lower bound for the stamps; a cursor is the farther */
export function readStart(cursor: string | null | undefined, updatedSince: string | null | undefined): Place {
  if (!cursor) return { updatedAt: updatedSince || '-infinity', id: 0 }
  const [updatedAt = '', id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('|')
  return { updatedAt, id: Number(id) }
}
