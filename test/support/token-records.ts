import { listRequestCounts, listRequestErrors } from '../../src/domain/token/request-count.ts'
import { type Client, createApp } from './app.ts'
import type { TestDatabase } from './database.ts'

/** Today and yesterday: a day may end between a request and the look at its count. */
const days = 2

/** An entry of the audit about an export of personal data. */
interface ExportEntry {
  tenantId: number
  actor: string
  address: string
  detail: { operation: string; records: number; requestId: string }
}

/** Returns functions that read what the service has recorded about the requests of a token. */
export const tokenRecordsOf = ({ pool, platform }: Pick<TestDatabase, 'pool' | 'platform'>) => ({
  /** Runs work on a service that is closed afterwards: then all counts are saved. */
  async served<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await createApp({ pool })
    const result = await work(client)
    await client.app.close()
    return result
  },

  /** Returns the number of answers of each operation with each status. */
  async countsOf(tokenId: number): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { operation, status, requests } of await listRequestCounts(pool, tokenId, days)) {
      const key = `${operation} ${status}`
      counts[key] = (counts[key] ?? 0) + requests
    }
    return counts
  },

  /** Returns the number of errors of each operation, by code and reason. */
  async errorsOf(tokenId: number): Promise<Record<string, number>> {
    const rows = await listRequestErrors(pool, tokenId, days)
    return Object.fromEntries(
      rows.map(({ operation, code, reason, requests }) => [`${operation} ${code} ${reason}`, requests]),
    )
  },

  /** Returns the exports of personal data, from the audit, in their order. */
  exportsOf: async (tokenId: number): Promise<ExportEntry[]> => [
    ...(await platform<ExportEntry[]>`
      select tenant_id as "tenantId", actor, address, detail from gateway.audit_entry
      where token_id = ${tokenId} and action = 'customer.export' order by id`),
  ],
})
