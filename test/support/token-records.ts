import { listRequestCounts, listRequestErrors } from '../../src/domain/token/request-count.ts'
import { type Client, createApp } from './app.ts'
import type { TestDatabase } from './database.ts'

/** The number of days: today and yesterday, because a day may end between a request and the read of its count. */
const days = 2

/** An audit entry about an export of personal data. */
interface ExportEntry {
  tenantId: number
  actor: string
  address: string
  detail: { operation: string; records: number; requestId: string }
}

/** Returns functions that read the recorded counts, errors and exports of a token. */
export const tokenRecordsOf = ({ pool, platform }: Pick<TestDatabase, 'pool' | 'platform'>) => ({
  /** Runs work on a new service, and closes it afterwards, so that all counts are saved. */
  async served<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await createApp({ pool })
    const result = await work(client)
    await client.app.close()
    return result
  },

  /** Returns the number of answers by operation and status. */
  async countsOf(tokenId: number): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { operation, status, requests } of await listRequestCounts(pool, tokenId, days)) {
      const key = `${operation} ${status}`
      counts[key] = (counts[key] ?? 0) + requests
    }
    return counts
  },

  /** Returns the number of errors by operation, code and reason. */
  async errorsOf(tokenId: number): Promise<Record<string, number>> {
    const rows = await listRequestErrors(pool, tokenId, days)
    return Object.fromEntries(
      rows.map(({ operation, code, reason, requests }) => [`${operation} ${code} ${reason}`, requests]),
    )
  },

  /** Returns the audit entries about exports of personal data, in the order in which they were written. */
  exportsOf: async (tokenId: number): Promise<ExportEntry[]> => [
    ...(await platform<ExportEntry[]>`
      select tenant_id as "tenantId", actor, address, detail from gateway.audit_entry
      where token_id = ${tokenId} and action = 'customer.export' order by id`),
  ],
})
